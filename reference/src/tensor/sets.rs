//! Sets of instructions as types, and how a kernel is compiled for one of them: the body of a task is inlined into a function that has the set's
//! instructions. All that a body calls has to be inlined with it, since a function by itself is compiled for the architecture's baseline: so bodies
//! are [`Task`]s with methods `#[inline(always)]`, not closures.

use crate::instructions::Instructions;

/// The body of a task. [`Self::run`] has to be `#[inline(always)]`, and so has all of weight that it calls.
pub trait Task<Argument>: Sync {
    /// What it results in.
    type Output;
    /// Does the task.
    fn run(&self, argument: Argument) -> Self::Output;
}

/// A set of instructions that kernels are compiled for.
pub trait InstructionSet: Copy + Send + Sync + 'static {
    /// Does a task with these instructions. Called only where the processor has them: kernels are chosen by
    /// [`crate::instructions::Instructions::in_use`].
    fn run<A, T: Task<A>>(task: &T, argument: A) -> T::Output;
    /// The same, and never inlined: what many kernels do is compiled once.
    fn call<A, T: Task<A>>(task: &T, argument: A) -> T::Output;
}

/// What every processor of the architecture has.
#[derive(Clone, Copy)]
pub struct Baseline;

impl InstructionSet for Baseline {
    #[inline(always)]
    fn run<A, T: Task<A>>(task: &T, argument: A) -> T::Output {
        task.run(argument)
    }
    #[inline(never)]
    fn call<A, T: Task<A>>(task: &T, argument: A) -> T::Output {
        task.run(argument)
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! instruction_set {
    ($(#[$meta:meta])* $Set:ident, $features:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        pub(crate) struct $Set;

        impl InstructionSet for $Set {
            #[inline(always)]
            fn run<A, T: Task<A>>(task: &T, argument: A) -> T::Output {
                #[target_feature(enable = $features)]
                fn with_features<A, T: Task<A>>(task: &T, argument: A) -> T::Output {
                    task.run(argument)
                }
                // SAFETY: kernels of this set are chosen only where the processor has its instructions.
                unsafe { with_features(task, argument) }
            }
            #[inline(always)]
            fn call<A, T: Task<A>>(task: &T, argument: A) -> T::Output {
                #[target_feature(enable = $features)]
                #[inline(never)]
                fn with_features<A, T: Task<A>>(task: &T, argument: A) -> T::Output {
                    task.run(argument)
                }
                // SAFETY: as above.
                unsafe { with_features(task, argument) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
instruction_set! {
    /// AVX2 and FMA.
    Avx2, "avx2,fma,bmi1,bmi2,lzcnt,popcnt"
}
#[cfg(target_arch = "x86_64")]
instruction_set! {
    /// AVX-512.
    Avx512, "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi1,bmi2,lzcnt,popcnt"
}

/// Does a task with the instructions that kernels use on this processor: code without intrinsics, which the compiler makes vectors of.
pub fn run<A, T: Task<A>>(task: &T, argument: A) -> T::Output {
    match Instructions::in_use() {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => Avx512::run(task, argument),
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => Avx2::run(task, argument),
        _ => Baseline::run(task, argument),
    }
}
