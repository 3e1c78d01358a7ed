//! Golden data: inputs, intermediates and results of every kernel as files, with a manifest; and their comparison with those of a port.
