//! The signature of a body, as far as a macro sees it: its arguments by name and role.

use proc_macro2::Span;
use quote::{ToTokens, format_ident};
use syn::{Error, FnArg, GenericArgument, GenericParam, Ident, ItemFn, Pat, PathArguments, Type};

/// What an argument is, by the name of its type.
pub enum Role {
    /// The site itself.
    Site,
    /// A field that is read here, at neighbours, written, or both.
    Field {
        written: bool,
        at: Place,
        object: Box<Type>,
    },
    /// A field that is read here, in whatever precision it is.
    Converted,
    Links,
    Scalar,
    Complex,
    Sums,
    SliceSums,
    Coordinates,
}

/// Where a field is read or written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Here,
    Neighbours,
    OddDistance,
    EvenDistance,
}

pub struct Argument {
    pub name: Ident,
    pub ty: Type,
    pub role: Role,
}

pub struct Signature {
    /// The generic parameter that stands for the site.
    pub site: Ident,
    pub arguments: Vec<Argument>,
}

const ROLES: &str = "Read<S, K>, Converted<S>, Neighbours<S, K>, OddDistance<S, K>, EvenDistance<S, K>, Write<S, K>, Update<S, K>, Links<S>, Scalar<S>, ComplexScalar<S>, ExactSum<S>, ComplexSum<S>, \
                     SliceSum<S>, ComplexSliceSum<S>, Coordinates<S>, or the site S";

impl Signature {
    pub fn of(function: &ItemFn) -> Result<Self, Error> {
        let site = parameter_of(function, "a body is generic in one type, the site: fn name<S: Site>(…)")?;
        let arguments =
            function.sig.inputs.iter().map(|input| argument(input, &site)).collect::<Result<Vec<_>, _>>()?;
        let signature = Self { site, arguments };
        signature.check(function.sig.ident.span())?;
        Ok(signature)
    }

    fn check(&self, span: Span) -> Result<(), Error> {
        const MOST: usize = 16;
        let own = self.arguments.iter().filter(|argument| !matches!(argument.role, Role::Site)).count();
        if own > MOST {
            return Err(Error::new(span, format!("a body of {own} arguments: at most {MOST} are taken")));
        }
        if !self.has(|role| matches!(role, Role::Field { written: true, .. } | Role::Sums | Role::SliceSums)) {
            return Err(Error::new(
                span,
                "a body writes a field or adds to a sum: it has a Write, an Update, an ExactSum or a ComplexSum, or sums over slices",
            ));
        }
        if self.has(|role| matches!(role, Role::Sums)) && self.sums_over_slices() {
            return Err(Error::new(
                span,
                "a body sums over all sites or over slices: the sum over all sites is that of its slices, merged",
            ));
        }
        let lies_on_sites = |role: &Role| matches!(role, Role::Field { at: Place::Here | Place::EvenDistance, .. });
        if !self.has(lies_on_sites) {
            let expected =
                "a body has a field that is written, or read at the site: it says on which sites the body runs";
            return Err(Error::new(span, expected));
        }
        if self.arguments.iter().filter(|argument| matches!(argument.role, Role::Converted)).count() > 1 {
            return Err(Error::new(
                span,
                "a body has at most one Converted: all others are in the precision in which it computes",
            ));
        }
        if self.is_of_words() && self.is_stencil() {
            return Err(Error::new(
                span,
                "a body that goes through the words of Any reads nothing at neighbours: name what its fields hold",
            ));
        }
        if self.is_of_words() && self.has(|role| matches!(role, Role::Coordinates)) {
            return Err(Error::new(
                span,
                "a body that goes through the words of Any has no coordinates: name what its fields hold",
            ));
        }
        if self.is_of_words() && self.has(|role| matches!(role, Role::Field { object, .. } if !is_any(object))) {
            return Err(Error::new(
                span,
                "fields of Any stand with fields of Any: name what all of them hold, or nothing",
            ));
        }
        Ok(())
    }

    pub fn has(&self, wanted: impl Fn(&Role) -> bool) -> bool {
        self.arguments.iter().any(|argument| wanted(&argument.role))
    }

    pub fn is_stencil(&self) -> bool {
        self.has(|role| match role {
            Role::Links => true,
            Role::Field { at, .. } => *at != Place::Here,
            _ => false,
        })
    }

    pub fn uses_displacements(&self) -> bool {
        self.has(|role| matches!(role, Role::Field { at: Place::OddDistance | Place::EvenDistance, .. }))
    }

    pub fn has_links(&self) -> bool {
        self.has(|role| matches!(role, Role::Links))
    }

    pub fn is_of_words(&self) -> bool {
        self.has(|role| matches!(role, Role::Converted) || matches!(role, Role::Field { object, .. } if is_any(object)))
    }

    pub fn sums(&self) -> bool {
        self.has(|role| matches!(role, Role::Sums | Role::SliceSums))
    }

    pub fn sums_over_slices(&self) -> bool {
        self.has(|role| matches!(role, Role::SliceSums))
    }
}

/// Whether a type is `Any`.
pub fn is_any(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|segment| segment.ident == "Any"))
}

fn argument(input: &FnArg, site: &Ident) -> Result<Argument, Error> {
    let FnArg::Typed(typed) = input else {
        return Err(Error::new_spanned(input, "a body is a function by itself, not a method"));
    };
    let Pat::Ident(pattern) = &*typed.pat else {
        return Err(Error::new_spanned(&typed.pat, "an argument of a body has a name"));
    };
    let unknown = || {
        Error::new_spanned(
            &typed.ty,
            format!("an argument of a body is one of {ROLES}, not {}", typed.ty.to_token_stream()),
        )
    };
    let Type::Path(path) = &*typed.ty else { return Err(unknown()) };
    let last = path.path.segments.last().ok_or_else(unknown)?;
    let objects: Vec<&Type> = match &last.arguments {
        PathArguments::AngleBracketed(list) => list
            .args
            .iter()
            .filter_map(|argument| if let GenericArgument::Type(ty) = argument { Some(ty) } else { None })
            .collect(),
        _ => Vec::new(),
    };
    let field = |written, at| match objects[..] {
        [_, object] => Ok(Role::Field { written, at, object: Box::new(object.clone()) }),
        _ => Err(Error::new_spanned(
            &typed.ty,
            format!("{} takes the site and what the field holds: {}<S, ColourVectors>", last.ident, last.ident),
        )),
    };
    let role = match last.ident.to_string().as_str() {
        "Read" => field(false, Place::Here)?,
        "Neighbours" => field(false, Place::Neighbours)?,
        "OddDistance" => field(false, Place::OddDistance)?,
        "EvenDistance" => field(false, Place::EvenDistance)?,
        "Write" | "Update" => field(true, Place::Here)?,
        "Converted" => Role::Converted,
        "Links" => Role::Links,
        "Scalar" => Role::Scalar,
        "ComplexScalar" => Role::Complex,
        "ExactSum" | "ComplexSum" => Role::Sums,
        "SliceSum" | "ComplexSliceSum" => Role::SliceSums,
        "Coordinates" => Role::Coordinates,
        _ if last.ident == *site => Role::Site,
        _ => return Err(unknown()),
    };
    Ok(Argument { name: pattern.ident.clone(), ty: (*typed.ty).clone(), role })
}

/// The one type that a body is generic in; `expected` is what is said where it is not. A body returns nothing.
pub fn parameter_of(function: &ItemFn, expected: &str) -> Result<Ident, Error> {
    let signature = &function.sig;
    let generics: Vec<_> = signature.generics.params.iter().collect();
    let [GenericParam::Type(parameter)] = generics[..] else {
        return Err(Error::new_spanned(&signature.ident, expected));
    };
    if let Some(token) = &signature.asyncness {
        return Err(Error::new_spanned(token, "a body is an ordinary function"));
    }
    if !matches!(signature.output, syn::ReturnType::Default) {
        return Err(Error::new_spanned(
            &signature.output,
            "a body returns nothing: it writes its results into arguments",
        ));
    }
    Ok(parameter.ident.clone())
}

/// `covariant_sum` as `CovariantSum`.
pub fn in_camel_case(name: &Ident) -> Ident {
    let mut camel = String::new();
    for word in name.to_string().split('_').filter(|word| !word.is_empty()) {
        let (first, rest) = word.split_at(word.char_indices().nth(1).map_or(word.len(), |(at, _)| at));
        camel += &first.to_uppercase();
        camel += rest;
    }
    Ident::new(&camel, name.span())
}

/// The type of the body `covariant_sum`: `CovariantSumBody`.
pub fn body_of(name: &Ident) -> Ident {
    format_ident!("{}Body", in_camel_case(name))
}

/// `covariant_sum` as `COVARIANT_SUM`.
pub fn in_capitals(name: &Ident) -> Ident {
    Ident::new(&name.to_string().to_uppercase(), name.span())
}
