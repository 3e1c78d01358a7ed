//! Figures that can go into a paper: data with error bars, bands of fits, reference lines and legends, as SVG, PDF and PNG.
//!
//! A [`Figure`] says what is shown. [`Figure::draw`] lays it out as a [`Drawing`] of lines, rectangles, circles and texts, which is written in each
//! [`Format`]. Lengths are in points (1/72 inch). The same figure gives the same bytes: no file has a date, and text is measured with a
//! font that is part of the program (Arimo, which has the widths of Helvetica and Arial).
//!
//! | file | subject |
//! |---|---|
//! | `figure.rs`, `style.rs` | what a figure is: panels, axes, series, bands, lines; colours and markers |
//! | `ticks.rs`, `clip.rs`, `frame.rs`, `layout.rs`, `labels.rs` | where all of it goes |
//! | `physics/` | correlators, potentials, flows and histories, from plain numbers |
//! | `drawing.rs`, `text.rs`, `font.rs` | lines and texts; raised and lowered digits; widths and outlines of letters |
//! | `svg.rs`, `pdf.rs`, `png.rs`, `format.rs` | the files |

mod clip;
mod drawing;
mod figure;
mod font;
mod format;
mod frame;
mod labels;
mod layout;
mod pdf;
pub mod physics;
mod png;
mod style;
mod svg;
mod text;
mod ticks;

pub use drawing::{Anchor, Drawing, Shape, Stroke, Text};
pub use figure::{Axis, Band, Curve, Figure, LabelAt, Line, List, Number, Panel, Point, Range, Scale, Series};
pub use format::{Format, UnknownFormat};
pub use style::{Colour, Marker};
pub use svg::Colours;
pub use text::{shortened, width, wrapped};
pub use ticks::{exponent_of, in_brackets, power_of_ten, short, with_error};
