//! Tests of the C interface.
