//! The program `lanefield`: all of it is the library of this package, which programs with kernels of their own use, too.

fn main() -> std::process::ExitCode {
    lanefield_cli::main()
}
