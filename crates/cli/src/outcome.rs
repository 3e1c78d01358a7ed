//! How commands run and end.

/// How a command ended without an error.
pub enum Outcome {
    /// It succeeded.
    Done,
    /// It ran, but a check failed or a solver did not converge.
    CheckFailed,
}

/// Defines an enum of commands with their arguments, and a function that runs the one that was given. Further arguments of that function follow
/// `with`.
macro_rules! commands {
    ($commands:ident $(($list:ident: $List:ty))? { $($(#[$attribute:meta])* $command:ident($arguments:ty) $(with $given:expr)?,)+ }) => {
        #[derive(clap::Subcommand)]
        enum $commands {
            $($(#[$attribute])* $command($arguments),)+
        }

        impl $commands {
            fn run(self $(, $list: $List)?) -> anyhow::Result<$crate::outcome::Outcome> {
                match self {
                    $(Self::$command(arguments) => arguments.run($($given)?),)+
                }
            }
        }
    };
}
