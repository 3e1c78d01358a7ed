//! Records a kernel function on sites: it runs once with numbers that note every operation ([`super::recording`]). The result is a [`Program`].

use std::cell::RefCell;
use std::thread::LocalKey;

use lanefield_reference::body::number::{Carried, ComplexNumber, RealNumber as _};
use lanefield_reference::body::value::{HalfSpinor, Matrix, Spinor, Value};
use lanefield_reference::body::{Body, Site};
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Direction, Displacement, LEGS, Leg, LegOrder};

use super::BodyError;
use super::program::{Id, Kind, Operation, Program, Statement};
use super::recording::{self, Numeric, Reals, Recorded, Records, Tape};
use super::sites::{Index, SiteAccess, SiteLanguage, Where};

/// Records a kernel function with this leg order, for a kernel or its Hermitian conjugate.
///
/// # Errors
/// [`BodyError`], with `name` as the name of the kernel.
pub fn record<B: Body>(name: &'static str, legs: LegOrder, dagger: Dagger) -> Result<Program<SiteLanguage>, BodyError> {
    let recorder = Recorder { legs, dagger };
    let (statements, ()) = recording::recorded::<SiteLanguage>(name, &|| B::run(recorder))?;
    Ok(Program { statements, needs: () }.with_first_terms().without_unused())
}

thread_local! {
    static TAPE: RefCell<Tape<SiteLanguage>> = RefCell::default();
}

impl Records for SiteLanguage {
    type Noted = ();

    fn tape() -> &'static LocalKey<RefCell<Tape<Self>>> {
        &TAPE
    }
}

/// A real number in the working precision.
#[derive(Clone, Copy, Debug)]
pub struct Working;

impl Numeric for Working {
    const KIND: Kind = Kind::Real;
}
impl Reals for Working {}

/// A complex number in the working precision.
#[derive(Clone, Copy, Debug)]
pub struct WorkingComplex;

impl Numeric for WorkingComplex {
    const KIND: Kind = Kind::Complex;
}

type Real = Recorded<SiteLanguage, Working>;
type Complex = Recorded<SiteLanguage, WorkingComplex>;
type Double = Recorded<SiteLanguage, f64>;
type Choice = Recorded<SiteLanguage, bool>;

impl std::ops::Mul<f64> for Complex {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        self.scaled(factor)
    }
}

impl ComplexNumber for Complex {
    type Real = Real;
    type Choice = Choice;
    type Double = Double;

    fn new(re: Real, im: Real) -> Self {
        Self::of(Operation::New(re.0, im.0))
    }
    fn re(self) -> Real {
        Real::of(Operation::Re(self.0))
    }
    fn im(self) -> Real {
        Real::of(Operation::Im(self.0))
    }
    fn times_i(self) -> Self {
        Self::of(Operation::TimesI(self.0))
    }
    fn conj(self) -> Self {
        Self::of(Operation::Conj(self.0))
    }
    fn scaled(self, s: impl Into<Real>) -> Self {
        Self::of(Operation::Scaled(s.into().0, self.0))
    }
    fn scaled_add(self, s: impl Into<Real>, c: Self) -> Self {
        Self::of(Operation::ScaledAdd(s.into().0, self.0, c.0))
    }
    fn madd(self, b: Self, c: Self) -> Self {
        Self::of(Operation::MulAdd(self.0, b.0, c.0))
    }
    fn select(choice: Choice, yes: Self, no: Self) -> Self {
        Self::of(Operation::Select(choice.0, yes.0, no.0))
    }
    fn promoted(self) -> [Double; 2] {
        [self.re().promoted(), self.im().promoted()]
    }
}

/// The site with which a kernel function is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Recorder {
    legs: LegOrder,
    dagger: Dagger,
}

impl Recorder {
    fn words<T: Value<Complex>>(load: Id) -> T {
        let mut words = T::filled(Complex::named(load));
        for (k, word) in words.as_mut().iter_mut().enumerate() {
            *word = Complex::of(Operation::Word(load, k));
        }
        T::from_words(words)
    }

    fn load<T: Value<Complex>>(argument: usize, place: Where) -> T {
        let words = T::filled(Complex::named(Id(0))).as_ref().len();
        Self::words(loaded(|id| SiteAccess::Load { id, argument, words, place }))
    }
}

/// Records a read, and returns the number of its result.
fn loaded(access: impl FnOnce(Id) -> SiteAccess) -> Id {
    recording::numbered::<SiteLanguage>(Kind::Complex, |id| Statement::Access(access(id)))
}

fn push(access: SiteAccess) {
    recording::push::<SiteLanguage>(Statement::Access(access));
}

impl Site for Recorder {
    type Real = Real;
    type Complex = Complex;
    type Double = Double;
    type Choice = Choice;
    type Index = Index;

    fn legs(self) -> [Leg; LEGS] {
        self.legs.legs()
    }
    fn dagger(self) -> Dagger {
        self.dagger
    }
    fn read<T: Value<Complex>>(self, argument: usize) -> T {
        Self::load(argument, Where::Here)
    }
    fn read_at<T: Value<Complex>>(self, argument: usize, leg: Leg) -> T {
        Self::load(argument, Where::At(leg))
    }
    fn read_displaced<T: Value<Complex>>(self, argument: usize, displacement: Displacement) -> T {
        Self::load(argument, Where::Displaced(displacement))
    }
    fn read_projected(self, argument: usize, leg: Leg, dagger: Dagger) -> HalfSpinor<Complex> {
        self.read_at::<Spinor<_>>(argument, leg).projected(leg, dagger)
    }
    fn link(self, argument: usize, leg: Leg) -> Matrix<Complex> {
        Self::words(loaded(|id| SiteAccess::Link { id, argument, leg }))
    }
    fn write<T: Value<Complex>>(self, argument: usize, value: T) {
        let words = value.to_words().as_ref().iter().map(|word| word.0).collect();
        push(SiteAccess::Write { argument, words });
    }
    fn read_word(self, argument: usize, word: Index) -> Complex {
        Complex::of(Operation::Word(loaded(|id| SiteAccess::LoadWord { id, argument, word }), 0))
    }
    fn read_converted(self, argument: usize, word: Index) -> Complex {
        self.read_word(argument, word)
    }
    fn write_word(self, argument: usize, word: Index, value: Complex) {
        push(SiteAccess::WriteWord { argument, word, value: value.0 });
    }
    fn words(self, argument: usize) -> Index {
        Index::WordsOf(argument)
    }
    fn count(self, number: usize) -> Index {
        Index::Number(number)
    }
    fn repeat<T: Carried>(self, turns: Index, initial: T, mut turn: impl FnMut(Index, T) -> T) -> T {
        recording::repeat::<SiteLanguage, T>(turns, initial, |number, carried| turn(Index::Turn(number), carried))
    }
    fn scalar(self, argument: usize) -> Real {
        Real::of(Operation::Scalar(argument))
    }
    fn complex_scalar(self, argument: usize) -> Complex {
        Complex::of(Operation::ComplexScalar(argument))
    }
    fn add_to_sum(self, argument: usize, part: usize, term: Double) {
        push(SiteAccess::Sum { argument, part, term: term.0 });
    }
    fn coordinate(self, argument: usize, direction: Direction) -> Real {
        Real::of(Operation::Coordinate(argument, direction))
    }
    fn uniform(self, _: usize, key: [Real; 3], event: Real, draw: Real) -> [Real; 4] {
        let numbers = [key[0].0, key[1].0, key[2].0, event.0, draw.0];
        let drawn = loaded(|id| SiteAccess::Draw { id, numbers });
        std::array::from_fn(|word| Real::of(Operation::Word(drawn, word)))
    }
    fn is_odd(self, argument: usize, directions: &[Direction]) -> Choice {
        let set = directions.iter().fold(0, |set, direction| set ^ 1 << direction.index());
        Choice::of(Operation::Odd(argument, set))
    }
}
