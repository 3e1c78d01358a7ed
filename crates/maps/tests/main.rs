//! The tests of maps.

mod maps;
