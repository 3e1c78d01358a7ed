//! How commands run and end.

/// How a command ended that did not fail.
pub enum Outcome {
    /// It did what it was asked.
    Done,
    /// It did, and found something wrong: a check failed, or a solver did not converge.
    CheckFailed,
}

/// Makes an enum of commands with their arguments, which runs the one that was given. After `with` stands what else it needs.
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
