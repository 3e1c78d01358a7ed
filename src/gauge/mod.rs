//! Gauge fields on a backend: their evolution, and what is measured on them. `links.rs` holds them.

mod links;

pub use links::LinkFields;
