//! Tests of the tools for ports.

#[path = "../../../tests/common/device.rs"]
mod common;

mod golden;
