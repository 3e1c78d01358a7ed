//! Lattice fields.
