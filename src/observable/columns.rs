//! The columns of a propagator's batch, and where their words lie in its matrices.

use lanefield_reference::field::Spinors;

/// Columns of a propagator's batch: column 3·spin + colour of the source.
pub const COLUMNS: usize = Spinors::WORDS;

/// The word of a spin-colour matrix (sink spin, source spin, sink colour, source colour) that is word `word` of the spinor in column `column`.
pub const fn word_of_column(column: usize, word: usize) -> usize {
    const SPINS: usize = 4;
    const COLOURS: usize = Spinors::WORDS / SPINS;
    let (sink_spin, sink_colour) = (word / COLOURS, word % COLOURS);
    let (spin, colour) = (column / COLOURS, column % COLOURS);
    ((sink_spin * SPINS + spin) * COLOURS + sink_colour) * COLOURS + colour
}
