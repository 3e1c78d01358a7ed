//! The right-hand sides of a propagator's batch, and the positions of their words in its spin-colour matrices.

use lanefield_reference::field::Spinors;

/// The number of right-hand sides of a propagator: number 3·spin + colour of the source.
pub const COLUMNS: usize = Spinors::WORDS;

/// The position of word `word` of the spinor in column `column` within a spin-colour matrix (sink spin, source spin, sink colour, source colour).
pub const fn word_of_column(column: usize, word: usize) -> usize {
    const SPINS: usize = 4;
    const COLOURS: usize = Spinors::WORDS / SPINS;
    let (sink_spin, sink_colour) = (word / COLOURS, word % COLOURS);
    let (spin, colour) = (column / COLOURS, column % COLOURS);
    ((sink_spin * SPINS + spin) * COLOURS + sink_colour) * COLOURS + colour
}
