//! Tests of the tools for ports.
