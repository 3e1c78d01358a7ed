//! Instruction sets as types, and how a kernel is compiled for one of them: the body of a task is inlined into a function that has the set's
//! instructions. Everything that a body calls must be inlined with it, since a separate function is compiled for the architecture's baseline. So
//! bodies are [`Task`]s with `#[inline(always)]` methods, not closures.

use crate::instructions::Instructions;

/// The body of a task. [`Self::run`] must be `#[inline(always)]`, and so must all expensive functions that it calls.
pub trait Task<Argument>: Sync {
    /// The type of its result.
    type Output;
    /// Runs the task.
    fn run(&self, argument: Argument) -> Self::Output;
}

/// An instruction set for which kernels are compiled.
pub trait InstructionSet: Copy + Send + Sync + 'static {
    /// Runs a task with these instructions. The processor must have them: kernels are chosen by [`crate::instructions::Instructions::in_use`].
    fn run<A, T: Task<A>>(task: &T, argument: A) -> T::Output;
    /// As [`Self::run`], but never inlined, so that code that many kernels use is compiled once.
    fn call<A, T: Task<A>>(task: &T, argument: A) -> T::Output;
}

/// The instructions of every processor of the architecture.
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

/// Runs a task with the instructions that kernels use on this processor. It is for code without intrinsics, which the compiler vectorises.
pub fn run<A, T: Task<A>>(task: &T, argument: A) -> T::Output {
    match Instructions::in_use() {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => Avx512::run(task, argument),
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => Avx2::run(task, argument),
        _ => Baseline::run(task, argument),
    }
}
