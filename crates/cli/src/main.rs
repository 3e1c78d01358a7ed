//! The program `lanefield`. All of it is in the library of this package, so that programs with their own kernels can use it.

fn main() -> std::process::ExitCode {
    lanefield_cli::main()
}
