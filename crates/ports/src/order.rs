//! Orders of sites and bases of spins of other programs, and the way from them to ours.
