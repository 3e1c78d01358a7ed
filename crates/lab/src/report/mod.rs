//! One HTML file of the JSON results of the program's commands: a summary, the roofline, shares of bandwidth, optimisations, occupancy, counters,
//! hotspots, solves, the bits, and, if there is a baseline, what changed. It loads nothing from elsewhere. Documents are identified by their `kind`
//! and `schema`; kinds without charts are shown as facts and tables.
//!
//! | file | subject |
//! |---|---|
//! | `document.rs`, `render.rs` | the input; the page |
//! | `summary.rs` | the top of the page: machine, ceilings, verdicts, best and worst kernels, findings |
//! | `section.rs`, `sections.rs` | the contents for each kind of document |
//! | `compare.rs` | before and after |
//! | `physics.rs` | figures and tables of correlators, potentials, flows, histories |
//! | `roofline.rs`, `bars.rs`, `curves.rs`, `timeline.rs` | charts, as numbers for the template; `frame.rs`: the plane of two of them |
//! | `table.rs`, `words.rs` | tables of any rows; numbers, units and names for people |
//! | `report.html`, `report.css`, `report.js` | the template, which escapes all text |

mod bars;
mod compare;
mod curves;
mod document;
mod frame;
mod physics;
mod render;
mod roofline;
mod section;
mod sections;
mod summary;
mod table;
#[cfg(test)]
mod tests;
mod timeline;
mod words;

pub use document::Document;
pub use render::render;
