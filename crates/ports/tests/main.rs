//! Tests of the tools for ports.

mod compare;
mod order;
