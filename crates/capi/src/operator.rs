//! Operators by name, with parameters by name, applied to arrays in site order. All operators of the library are available; this file has
//! no list of them.

use std::ffi::{CString, c_char};
use std::fmt::Display;
use std::sync::Arc;

use lanefield::backend::Memory as _;
use lanefield::dynamic::{Applicable, Applied, HopKernel, KeptOperator, Piece, apply_to_array, beyond, field_shape};
use lanefield::operator::{HopParameters, definition, definitions};
use lanefield::reference::field::{FieldShape, Object};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::{LaneChoice, Parity, Sites};
use lanefield::reference::links::BoundaryPhases;
use lanefield::reference::real::Precision;
use num_complex::Complex;

use crate::configuration::lf_configuration;
use crate::context::{Context, lf_context};
use crate::pointer::{array, complex, free, give, handle, put, room, text, text_or_none, write};
use crate::status::{Failure, Outcome, c_text, guarded, lf_status, quietly};

/// A parameter of an operator, by name. Its value is `text`, or `number` if `text` is null.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lf_parameter {
    /// Its name, for example "mass".
    pub name: *const c_char,
    /// Its value as a number.
    pub number: f64,
    /// Its value as text, for example "1,1,1,-1"; null if the value is a number.
    pub text: *const c_char,
}

/// The part of an operator that is applied.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum lf_piece {
    /// The operator itself, on all sites; a hop also onto one parity.
    LF_FULL = 0,
    /// Meooe, the part that connects the parities: the result is on one parity, the source on the other.
    LF_MEOOE = 1,
    /// Mooee, the part that stays on a parity.
    LF_MOOEE = 2,
    /// The inverse of Mooee.
    LF_MOOEE_INVERSE = 3,
    /// The Schur complement Mpc = Moo - Moe Mee^-1 Meo, on the odd sites.
    LF_MPC = 4,
}

/// The sites of a result.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum lf_sites {
    /// All sites.
    LF_ALL_SITES = 0,
    /// Those with x + y + z + t even.
    LF_EVEN = 1,
    /// Those with x + y + z + t odd.
    LF_ODD = 2,
}

/// An operator on a configuration. It may be used by several threads at once; they then wait for each other.
pub struct lf_operator {
    pub(crate) context: Arc<Context>,
    pub(crate) configuration: Arc<Configuration>,
    pub(crate) what: Applicable,
    description: CString,
    /// The operator on the context's device.
    kept: KeptOperator,
    /// The operator on the CPU reference, if the context has a device.
    reference: Option<KeptOperator>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// The CPU reference, whatever the context.
    Reference,
    /// The context's device, or else the CPU reference.
    Context,
}

impl lf_operator {
    pub(crate) fn new(
        context: &Arc<Context>,
        configuration: &Arc<Configuration>,
        name: &str,
        parameters: &[(&str, String)],
    ) -> Outcome<Self> {
        let what = parse(name, parameters)?;
        let description = c_text(&match what {
            Applicable::Model(model) => model.describe(),
            Applicable::Hop(hop, _) => hop.kernel().name.to_owned(),
        });
        let on = |backend| KeptOperator::new(backend, what, configuration);
        let (kept, reference) = (on(context.backend()), context.device.as_ref().map(|_| on(&context.host)));
        let (context, configuration) = (Arc::clone(context), Arc::clone(configuration));
        Ok(Self { context, configuration, what, description, kept, reference })
    }

    pub(crate) fn object(&self) -> Object {
        self.what.object()
    }

    pub(crate) fn reals(&self) -> usize {
        2 * self.configuration.extents().volume() * self.object().words()
    }

    pub(crate) fn check_reals(&self, reals: usize) -> Outcome<()> {
        let (expected, words) = (self.reals(), self.object().words());
        match reals == expected {
            true => Ok(()),
            false => Err(Failure::argument(format!(
                "arrays of {reals} real numbers: {} acts on {expected}, {words} complex words a site on {}",
                self.description.to_string_lossy(),
                self.configuration.extents()
            ))),
        }
    }

    /// The piece that `piece` and `sites` denote.
    pub(crate) fn piece(&self, piece: i32, sites: Sites) -> Outcome<Piece> {
        let onto = match sites {
            Sites::Full => None,
            Sites::Parity(parity) => Some(parity),
        };
        let name = self.description.to_string_lossy();
        match (piece, onto, self.what) {
            (0, None, _) => Ok(Piece::Full),
            // A hop onto a parity is the part that connects it with the other one.
            (0, Some(onto), Applicable::Hop(..)) => Ok(Piece::Meooe(onto)),
            (0, Some(_), Applicable::Model(_)) => Err(Failure::argument(format!(
                "{name} acts on all sites: give LF_ALL_SITES, or a piece other than LF_FULL"
            ))),
            (1..=4, _, Applicable::Hop(..)) => {
                Err(Failure::argument(format!("{name} has no pieces: give LF_FULL, and the sites of the result")))
            }
            (4, Some(Parity::Even), _) => Err(Failure::argument("LF_MPC acts on the odd sites: give LF_ODD")),
            (4, _, _) => Ok(Piece::Mpc),
            (1, Some(onto), _) => Ok(Piece::Meooe(onto)),
            (2, Some(onto), _) => Ok(Piece::Mooee(onto)),
            (3, Some(onto), _) => Ok(Piece::MooeeInverse(onto)),
            (1..=3, None, _) => Err(Failure::argument("a piece needs LF_EVEN or LF_ODD: the sites of the result")),
            _ => Err(Failure::argument(format!("invalid piece {piece}: expected LF_FULL to LF_MPC, 0 to 4"))),
        }
    }

    /// The operator that is kept for a place.
    pub(crate) fn kept(&self, place: Place) -> &KeptOperator {
        match place {
            Place::Reference => self.reference.as_ref().unwrap_or(&self.kept),
            Place::Context => &self.kept,
        }
    }

    /// The shape of fields on `sites` in the layout of a place's backend.
    pub(crate) fn shape(&self, place: Place, precision: Precision, sites: Sites) -> Outcome<FieldShape> {
        let (lanes, extents) = (self.kept(place).backend().lanes(LaneChoice::Auto), self.configuration.extents());
        Ok(field_shape(self.object(), precision, (extents, sites), lanes)?)
    }

    pub(crate) fn apply<R: Vectors>(
        &self,
        place: Place,
        (piece, dagger): (Piece, Dagger),
        source: &[Complex<R>],
    ) -> Outcome<Vec<Complex<R>>> {
        self.check_precision::<R>()?;
        self.check_dagger(dagger)?;
        let (kept, shape) = (self.kept(place), self.shape(place, R::PRECISION, piece.onto())?);
        let apply = |operator: &mut (dyn Applied + Send + '_)| {
            self.context.install(|| apply_to_array(kept.backend(), operator, (piece, dagger), shape, source))
        };
        Ok(kept.with(R::PRECISION, apply)?)
    }

    /// Refuses the Hermitian conjugate of a hop that has no kernel for it.
    pub(crate) fn check_dagger(&self, dagger: Dagger) -> Outcome<()> {
        match self.what {
            Applicable::Hop(hop, _) if dagger == Dagger::Yes && hop.dagger().is_none() => {
                Err(Failure::argument(format!("{} has no kernel of its Hermitian conjugate", hop.kernel().name)))
            }
            _ => Ok(()),
        }
    }

    /// Refuses parameters that a precision cannot represent.
    pub(crate) fn check_precision<R: Vectors>(&self) -> Outcome<()> {
        let Applicable::Model(model) = self.what else { return Ok(()) };
        let diagonal = || Some(("mass", model.mass())).filter(|_| !R::from_f64(model.diagonal()).to_f64().is_finite());
        match beyond::<R>(&model).map(|(parameter, value)| (parameter.name, value)).or_else(diagonal) {
            None => Ok(()),
            Some((name, value)) => {
                Err(Failure::argument(format!("{name} {value:e} is beyond {}: give a smaller {name}", R::NAME)))
            }
        }
    }
}

/// The operator or hop with this name and these parameters.
fn parse(name: &str, parameters: &[(&str, String)]) -> Outcome<Applicable> {
    let invalid = |error: &dyn Display| Failure::argument(error.to_string());
    let mut hop = HopParameters { boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME, ..HopParameters::default() };
    let mut of_operator = Vec::new();
    let one_name = |name| if name == "links" { "reconstruct" } else { name };
    for (k, (parameter, value)) in parameters.iter().enumerate() {
        if parameters[..k].iter().any(|(known, _)| one_name(known) == one_name(parameter)) {
            return Err(Failure::argument(format!("operator {name} is given {parameter} twice: give it once")));
        }
        match *parameter {
            "boundary" => hop.boundary = value.parse().map_err(|error| invalid(&error))?,
            "reconstruct" | "links" => hop.links = value.parse().map_err(|error| invalid(&error))?,
            "legs" => hop.legs = value.parse().map_err(|error| invalid(&error))?,
            _ => of_operator.push((*parameter, value.as_str())),
        }
    }
    hop.boundary.require_links(hop.links).map_err(|error| invalid(&error))?;
    if let Some(kernel) = HopKernel::all().find(|hop| hop.kernel().name == name) {
        return match of_operator.first() {
            None => Ok(Applicable::Hop(kernel, hop)),
            Some((parameter, _)) => Err(Failure::argument(format!(
                "{name} has no parameter {parameter}: it has boundary, reconstruct, legs"
            ))),
        };
    }
    let definition = definition(name).map_err(|_| {
        let hops = HopKernel::all().map(|hop| hop.kernel().name);
        let known: Vec<&str> = hops.chain(definitions().map(|definition| definition.name)).collect();
        Failure::argument(format!("unknown operator '{name}': expected {}", known.join(", ")))
    })?;
    Ok(Applicable::Model(definition.model(of_operator, hop).map_err(|error| invalid(&error))?))
}

/// Parameters of C, with their names and texts as strings.
///
/// # Safety
/// `parameters` is null, or has `count` elements, whose texts end in zero bytes.
pub(crate) unsafe fn parameters<'a>(given: *const lf_parameter, count: usize) -> Outcome<Vec<(&'a str, String)>> {
    if count > 0 && (given.is_null() || !given.is_aligned() || count > 1 << 16) {
        return Err(Failure::argument(format!("there cannot be {count} parameters at this address")));
    }
    let one = |index: usize| {
        // SAFETY: the caller's promise.
        let (name, given_text, number) = unsafe {
            let lf_parameter { name, number, text: given_text } = *given.add(index);
            let name = text(name, &format!("the name of parameter {index}"))?;
            (name, text_or_none(given_text, &format!("the text of parameter {name}"))?, number)
        };
        Ok((name, given_text.map_or_else(|| number.to_string(), str::to_owned)))
    };
    (0..count).map(one).collect()
}

/// The sites that an lf_sites denotes.
pub(crate) fn sites_of(sites: i32) -> Outcome<Sites> {
    match sites {
        0 => Ok(Sites::Full),
        1 => Ok(Sites::Parity(Parity::Even)),
        2 => Ok(Sites::Parity(Parity::Odd)),
        _ => Err(Failure::argument(format!("invalid sites {sites}: expected LF_ALL_SITES, LF_EVEN or LF_ODD"))),
    }
}

/// The precision that an lf_precision denotes.
pub(crate) fn precision_of(precision: i32) -> Outcome<Precision> {
    match precision {
        0 => Ok(Precision::F64),
        1 => Ok(Precision::F32),
        _ => Err(Failure::argument(format!("invalid precision {precision}: expected LF_F64 or LF_F32"))),
    }
}

/// Whether the Hermitian conjugate is requested.
pub(crate) fn dagger(dagger: i32) -> Outcome<Dagger> {
    match dagger {
        0 => Ok(Dagger::No),
        1 => Ok(Dagger::Yes),
        _ => Err(Failure::argument(format!("invalid dagger {dagger}: expected 0, or 1 for the Hermitian conjugate"))),
    }
}

/// Creates an operator on a configuration.
///
/// `name`: a name that lf_operator_name() lists. It is an operator ("wilson") or the kernel of a hop ("hop"). The parameters of an operator
/// (mass, csw, mu, ls, m5, …) are those in `lanefield solve --help`; those without a default are required. A hop has none of these.
///
/// All accept three more parameters:
/// - "boundary", a text with the phases in x,y,z,t; the default is "1,1,1,-1". A phase is 1, -1, 0 for fixed, or an angle: "0.25pi" for
///   psi(x + L) = exp(i pi/4) psi(x). Angles need reconstruct 18.
/// - "reconstruct", 18, 12 or 8: the number of reals that are stored for a link. It changes the last bits, and is part of the definition.
/// - "legs", a text: the order in which the hop adds its legs.
///
/// `parameters`: an array of `count` parameters; null if `count` is 0. `op` receives the operator; free it with lf_operator_free(). Its
/// parts are created when they are first applied, and kept. Configuration and context may be freed before it.
///
/// Errors: LF_INVALID_ARGUMENT for an unknown name, parameter or value; the message lists the known ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_operator_create(
    context: *const lf_context,
    configuration: *const lf_configuration,
    name: *const c_char,
    parameters: *const lf_parameter,
    count: usize,
    op: *mut *mut lf_operator,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        room(op, "operator")?;
        let context = &handle(context, "context")?.0;
        let configuration = &handle(configuration, "configuration")?.configuration;
        let parameters = self::parameters(parameters, count)?;
        let made = lf_operator::new(context, configuration, text(name, "name")?, &parameters)?;
        give(op, made, "operator")
    })
}

/// Frees an operator; null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_operator_free(op: *mut lf_operator) {
    // SAFETY: the caller's promise.
    quietly((), || unsafe { free(op) });
}

/// Returns the name of operator number `index` of those that lf_operator_create() knows, counted from 0; null if there are no more. Do not
/// free the text.
#[unsafe(no_mangle)]
pub extern "C" fn lf_operator_name(index: usize) -> *const c_char {
    // Created once, since names in Rust do not end in a zero byte.
    static NAMES: std::sync::LazyLock<Vec<CString>> = std::sync::LazyLock::new(|| {
        let hops = HopKernel::all().map(|hop| hop.kernel().name);
        hops.chain(definitions().map(|definition| definition.name)).map(c_text).collect()
    });
    quietly(std::ptr::null(), || NAMES.get(index).map_or(std::ptr::null(), |name| name.as_ptr()))
}

/// Returns an operator with its parameters as text, for example "clover, mass 0.1, csw 1.3". The text belongs to the operator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_operator_describe(op: *const lf_operator, text: *mut *const c_char) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe { put(text, handle(op, "operator")?.description.as_ptr(), "text") })
}

/// Returns the number of real numbers in the arrays that an operator acts on: 2 · words for each site · sites. A site has 12 complex words
/// for a spinor (spin, then colour), 12·Ls in five dimensions (s, spin, colour), and 3·n for n colour vectors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_operator_reals(op: *const lf_operator, reals: *mut usize) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe { put(reals, handle(op, "operator")?.reals(), "reals") })
}

unsafe fn apply_to<R: Vectors>(
    operator: *const lf_operator,
    (piece, sites, conjugate): (i32, i32, i32),
    (source, result, reals): (*const R, *mut R, usize),
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let operator = handle(operator, "operator")?;
        let piece = (operator.piece(piece, sites_of(sites)?)?, dagger(conjugate)?);
        operator.check_reals(reals)?;
        room(result, "result")?;
        let applied = operator.apply(Place::Context, piece, complex(array(source, reals, "source")?))?;
        // The source is no longer needed, so the result may overwrite it.
        write(result, bytemuck::cast_slice::<Complex<R>, R>(&applied), "result")
    })
}

/// result = operator · source, in f64, with the bits that docs/arithmetic.md defines.
///
/// `piece`: an lf_piece. `sites`: an lf_sites. For LF_FULL it is LF_ALL_SITES (for a hop any), for a piece the sites of the result; LF_MPC
/// needs LF_ODD. `dagger`: 1 for the Hermitian conjugate, else 0.
///
/// `source`, `result`: arrays of `reals` numbers each, the number that lf_operator_reals() returns. They contain the whole lattice in site
/// order (x fastest, then y, z, t), for each site its words, for each word re and im. A piece reads only some sites of the source, and the
/// result is +0 on sites that it does not have. The two arrays may be the same.
///
/// Errors: LF_INVALID_ARGUMENT; LF_NO_RESULT for a clover term or a diagonal without inverse; LF_OUT_OF_MEMORY; LF_DEVICE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_operator_apply_f64(
    op: *const lf_operator,
    piece: i32,
    sites: i32,
    dagger: i32,
    source: *const f64,
    result: *mut f64,
    reals: usize,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { apply_to(op, (piece, sites, dagger), (source, result, reals)) }
}

/// As lf_operator_apply_f64(), in f32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_operator_apply_f32(
    op: *const lf_operator,
    piece: i32,
    sites: i32,
    dagger: i32,
    source: *const f32,
    result: *mut f32,
    reals: usize,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { apply_to(op, (piece, sites, dagger), (source, result, reals)) }
}
