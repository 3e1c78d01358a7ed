//! One HTML file of what the program's commands gave as JSON: a summary, the roofline, shares of bandwidth, optimisations one after the other,
//! occupancy, counters, hotspots, solves, the bits; and, beside a baseline, what changed. It loads nothing from anywhere. A document is known by its
//! `kind` and `schema`; of a kind without charts it shows what is there, as facts and tables.
//!
//! | file | subject |
//! |---|---|
//! | `document.rs`, `render.rs` | what is read; the page |
//! | `summary.rs` | what stands at the top: machine, ceilings, verdicts, best and worst kernels, findings |
//! | `section.rs`, `sections.rs` | what is shown of each kind of document |
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
