//! Memory for blocks of lanes, and the machine that computes with them. A thread has one machine at a time. The numbers of a kernel function find it
//! through the thread, because operators such as `+` cannot have it as an argument.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

use super::operations::{Block, Computer, LANES, MOST_OPERANDS, Operation, Step, computer};
use crate::real::Precision;

/// The alignment of blocks, in bytes.
const LINE: usize = 64;
/// The number of bytes that are allocated at a time. The blocks of a short kernel function fit into the first chunk, and stay in a cache.
const CHUNK: usize = 1 << 18;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "memory for blocks")] [u8; LINE]);

/// Computes with blocks, and allocates them one after the other, until all of them are freed at once.
pub struct Machine {
    in_doubles: bool,
    reals: Computer,
    doubles: Computer,
    chunks: RefCell<Vec<Box<[Line]>>>,
    at: Cell<Position>,
}

/// The end of the memory in use.
#[derive(Clone, Copy)]
pub struct Position {
    chunk: usize,
    free: *mut u8,
    left: usize,
}

thread_local! {
    static CURRENT: Cell<Option<NonNull<Machine>>> = const { Cell::new(None) };
    /// Memory of earlier machines of the thread.
    static SPARE: Cell<Vec<Box<[Line]>>> = const { Cell::new(Vec::new()) };
}

/// Restores the previous machine of the thread when it is dropped.
struct Restored(Option<NonNull<Machine>>);

impl Drop for Restored {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        SPARE.set(self.chunks.take());
    }
}

impl Machine {
    pub fn new(precision: Precision) -> Self {
        let in_doubles = precision == Precision::F64;
        let reals = if in_doubles { computer::<f64>() } else { computer::<f32>() };
        let at = Cell::new(Position { chunk: 0, free: std::ptr::null_mut(), left: 0 });
        let machine = Self { in_doubles, reals, doubles: computer::<f64>(), chunks: RefCell::new(SPARE.take()), at };
        machine.at.set(machine.start_of(0));
        machine
    }

    /// Runs `work` with this machine as that of the thread.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _restored = Restored(CURRENT.replace(Some(NonNull::from(self))));
        work()
    }

    /// The machine of the thread.
    #[inline]
    pub fn with<T>(use_it: impl FnOnce(&Self) -> T) -> T {
        let Some(machine) = CURRENT.get() else { unreachable!("numbers of blocks exist while a machine runs") };
        // SAFETY: `run` borrows it as long as it is the machine of the thread.
        use_it(unsafe { machine.as_ref() })
    }

    fn start_of(&self, chunk: usize) -> Position {
        let mut chunks = self.chunks.borrow_mut();
        if chunk == chunks.len() {
            chunks.push(vec![Line([0; LINE]); CHUNK / LINE].into_boxed_slice());
        }
        Position { chunk, free: chunks[chunk].as_mut_ptr().cast(), left: CHUNK }
    }

    /// The end of the memory in use.
    pub fn position(&self) -> Position {
        self.at.get()
    }

    /// Frees the blocks that were allocated since `position`. They must not be used afterwards.
    pub fn release(&self, position: Position) {
        self.at.set(position);
    }

    /// Allocates a block of `bytes` bytes, a multiple of [`LINE`].
    #[inline]
    fn allocate(&self, bytes: usize) -> Block {
        let mut at = self.at.get();
        if at.left < bytes {
            at = self.start_of(at.chunk + 1);
        }
        // SAFETY: there is room left in the chunk, which is not null.
        let (block, free) = unsafe { (NonNull::new_unchecked(at.free), at.free.add(bytes)) };
        self.at.set(Position { free, left: at.left - bytes, ..at });
        block
    }

    /// The size of one real in every lane, in bytes.
    #[inline]
    fn bytes_of_reals(&self) -> usize {
        LANES * if self.in_doubles { size_of::<f64>() } else { size_of::<f32>() }
    }

    #[inline]
    fn compute<const N: usize>(computer: Computer, bytes: Block, operation: Operation, from: [Block; N]) -> Block {
        let mut operands = [std::ptr::null(); MOST_OPERANDS];
        for (operand, from) in operands.iter_mut().zip(from) {
            *operand = from.as_ptr().cast_const();
        }
        computer(Step { operation, to: bytes.as_ptr(), from: operands });
        bytes
    }

    /// Computes a complex number from blocks.
    #[inline]
    pub fn compute_complex<const N: usize>(&self, operation: Operation, from: [Block; N]) -> Block {
        Self::compute(self.reals, self.complexes(), operation, from)
    }
    /// Computes a real number, or a choice, from blocks.
    #[inline]
    pub fn compute_real<const N: usize>(&self, operation: Operation, from: [Block; N]) -> Block {
        Self::compute(self.reals, self.reals(), operation, from)
    }
    #[inline]
    pub fn compute_double<const N: usize>(&self, operation: Operation, from: [Block; N]) -> Block {
        Self::compute(self.doubles, self.allocate(LANES * size_of::<f64>()), operation, from)
    }

    /// Allocates complex numbers.
    pub fn complexes(&self) -> Block {
        self.allocate(2 * self.bytes_of_reals())
    }
    /// Allocates real numbers, or choices.
    pub fn reals(&self) -> Block {
        self.allocate(self.bytes_of_reals())
    }

    /// The imaginary parts of complex numbers.
    pub fn imaginary_part(&self, complex: Block) -> Block {
        // SAFETY: they stand behind the real parts.
        unsafe { complex.add(self.bytes_of_reals()) }
    }

    /// The same numbers as doubles.
    pub fn promoted(&self, real: Block) -> Block {
        match self.in_doubles {
            true => real,
            false => Self::compute(self.reals, self.allocate(LANES * size_of::<f64>()), Operation::Promote, [real]),
        }
    }

    pub fn real_constant(&self, value: f64) -> Block {
        if self.in_doubles { self.double_constant(value) } else { filled(self.reals(), value as f32) }
    }
    pub fn double_constant(&self, value: f64) -> Block {
        filled(self.allocate(LANES * size_of::<f64>()), value)
    }
}

/// A block with the same value in every lane.
fn filled<T: Copy>(block: Block, value: T) -> Block {
    // SAFETY: the block was made for so many of them.
    unsafe { block.cast::<[T; LANES]>().write([value; LANES]) };
    block
}
