mod common;
mod heat_bath;
mod kernels;
