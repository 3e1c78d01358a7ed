//! Tests of the tools for ports.

#[path = "../../../tests/common/device.rs"]
mod common;

mod compare;
mod golden;
mod order;
mod programs;
