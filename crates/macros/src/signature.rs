//! The signature of a kernel function, as far as a macro sees it: its arguments by name and role.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{Error, FnArg, GenericArgument, GenericParam, Ident, ItemFn, Pat, PathArguments, Type};

/// The role of an argument, by the name of its type.
pub enum Role {
    /// The site itself.
    Site,
    /// A field that is read at this site, read at neighbours, written, or both.
    Field {
        written: bool,
        at: Place,
        object: Box<Type>,
    },
    /// A field that is read at this site, in any precision.
    Converted,
    Links,
    Scalar,
    Complex,
    Sums,
    SliceSums,
    Greatest,
    Least,
    Coordinates,
}

impl Role {
    /// Whether it is one number of all sites, or of each slice.
    pub fn is_reduced(&self) -> bool {
        matches!(self, Self::Sums | Self::SliceSums | Self::Greatest | Self::Least)
    }
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
    /// The generic parameter for the site.
    pub site: Ident,
    pub arguments: Vec<Argument>,
}

const ROLES: &str = "Read<S, K>, Converted<S>, Neighbours<S, K>, OddDistance<S, K>, EvenDistance<S, K>, Write<S, K>, Update<S, K>, Links<S>, Scalar<S>, ComplexScalar<S>, ExactSum<S>, ComplexSum<S>, Greatest<S>, Least<S>, \
                     SliceSum<S>, ComplexSliceSum<S>, Coordinates<S>, or the site S";

impl Signature {
    pub fn of(function: &ItemFn) -> Result<Self, Error> {
        let site = parameter_of(function, "a body is generic in one type, the site: fn name<S: Site>(…)")?;
        let arguments =
            function.sig.inputs.iter().map(|input| argument(input, &site)).collect::<Result<Vec<_>, _>>()?;
        let signature = Self { site, arguments };
        signature.check(function.sig.ident.span())?;
        require_no_branch(function.block.to_token_stream())?;
        Ok(signature)
    }

    fn check(&self, span: Span) -> Result<(), Error> {
        const MOST: usize = 16;
        let own = self.arguments.iter().filter(|argument| !matches!(argument.role, Role::Site)).count();
        let writes = |role: &Role| matches!(role, Role::Field { written: true, .. }) || role.is_reduced();
        let lies_on_sites = |role: &Role| matches!(role, Role::Field { at: Place::Here | Place::EvenDistance, .. });
        let converted = self.arguments.iter().filter(|argument| matches!(argument.role, Role::Converted)).count();
        let is_named = |role: &Role| matches!(role, Role::Field { object, .. } if !is_any(object));
        let has_coordinates = self.has(|role| matches!(role, Role::Coordinates));
        let too_many = format!("a body has at most {MOST} arguments, not {own}");
        let refusals = [
            (own > MOST, too_many.as_str()),
            (
                !self.has(writes),
                "a body writes a field, adds to a sum or takes an extreme: it has a Write, an Update, an ExactSum, a ComplexSum, sums over slices, a Greatest or a Least",
            ),
            (
                self.takes_extreme()
                    && self.has(|role| role.is_reduced() && !matches!(role, Role::Greatest))
                    && self.has(|role| role.is_reduced() && !matches!(role, Role::Least)),
                "a body computes sums, a greatest or a least number, but only one of these: write a body for each",
            ),
            (
                self.has(|role| matches!(role, Role::Sums)) && self.sums_over_slices(),
                "a body sums over all sites or over slices: the sum over all sites is that of its slices, merged",
            ),
            (
                !self.has(lies_on_sites),
                "a body has a field that is written, or read at the site: it says on which sites the body runs",
            ),
            (converted > 1, "a body has at most one Converted: all other fields have the working precision"),
            (
                self.is_of_words() && self.is_stencil(),
                "a body that loops over the words of Any cannot read neighbours: name the object of its fields",
            ),
            (
                self.is_of_words() && has_coordinates,
                "a body that loops over the words of Any cannot use coordinates: name the object of its fields",
            ),
            (
                self.is_of_words() && self.has(is_named),
                "if a field is of Any, all must be: name the object of all fields, or of none",
            ),
        ];
        match refusals.iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, message)) => Err(Error::new(span, message)),
            None => Ok(()),
        }
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
        self.has(Role::is_reduced)
    }

    /// Whether it is the greatest or the least number of all sites.
    pub fn takes_extreme(&self) -> bool {
        self.has(|role| matches!(role, Role::Greatest | Role::Least))
    }

    pub fn sums_over_slices(&self) -> bool {
        self.has(|role| matches!(role, Role::SliceSums))
    }
}

/// Whether a type is `Any`.
pub fn is_any(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|segment| segment.ident == "Any"))
}

/// An argument: its name, its type, the name of the type, and the generic arguments of the type.
pub struct Declared<'a> {
    pub name: Ident,
    pub ty: &'a Type,
    pub kind: &'a Ident,
    pub generics: Vec<&'a GenericArgument>,
    unknown: String,
}

impl<'a> Declared<'a> {
    /// `of`: what the argument belongs to; `roles`: the roles that it may have.
    pub fn of(input: &'a FnArg, of: &str, roles: &str) -> Result<Self, Error> {
        let FnArg::Typed(typed) = input else {
            return Err(Error::new_spanned(input, "a body is a function by itself, not a method"));
        };
        let Pat::Ident(pattern) = &*typed.pat else {
            return Err(Error::new_spanned(&typed.pat, "an argument of a body has a name"));
        };
        let unknown = match &*typed.ty {
            Type::Reference(reference) => {
                let by_value = reference.elem.to_token_stream().to_string().replace(' ', "").replace(',', ", ");
                format!("an argument of a {of} is passed by value, as {by_value}, without & or &mut")
            }
            ty => {
                let ty = ty.to_token_stream().to_string();
                let scalar =
                    matches!(ty.as_str(), "f32" | "f64" | "S :: Real").then_some("; a number of the call is a Scalar");
                format!("an argument of a {of} is one of {roles}, not {ty}{}", scalar.unwrap_or_default())
            }
        };
        let last = if let Type::Path(path) = &*typed.ty { path.path.segments.last() } else { None };
        let Some(last) = last else { return Err(Error::new_spanned(&typed.ty, unknown)) };
        let generics = match &last.arguments {
            PathArguments::AngleBracketed(list) => list.args.iter().collect(),
            _ => Vec::new(),
        };
        Ok(Self { name: pattern.ident.clone(), ty: &typed.ty, kind: &last.ident, generics, unknown })
    }

    /// The error for a type that no argument can have.
    pub fn unknown(&self) -> Error {
        Error::new_spanned(self.ty, &self.unknown)
    }

    /// The error for a type with the wrong generic arguments.
    pub fn takes(&self, what: &str, such_as: &str) -> Error {
        Error::new_spanned(self.ty, format!("{0} takes {what}: {0}{such_as}", self.kind))
    }
}

/// The object of a field with values of this type; `None` if the type is not a value.
fn object_of(value: &Type) -> Option<&'static str> {
    const OBJECTS: [(&str, &str); 7] = [
        ("Spinor", "Spinors"),
        ("ColourVector", "ColourVectors"),
        ("Matrix", "ColourMatrix"),
        ("One", "ComplexNumber"),
        ("Links4", "Gauge"),
        ("SpinColourMatrix", "Propagator"),
        ("List", "WordList<N>"),
    ];
    let Type::Path(path) = value else { return None };
    let name = path.path.segments.last()?.ident.to_string();
    OBJECTS.iter().find(|(value, _)| *value == name).map(|(_, object)| *object)
}

/// Refuses an `if` or a `while` that compares numbers of a field, which differ between lanes.
fn require_no_branch(tokens: TokenStream) -> Result<(), Error> {
    let mut condition: Option<(Span, bool, bool)> = None;
    let mut is_method = false;
    for token in tokens {
        match &token {
            TokenTree::Ident(word) if *word == "if" || *word == "while" => {
                condition = Some((word.span(), false, false))
            }
            // Methods that numbers of bodies alone have.
            TokenTree::Ident(word) => {
                let is_number = is_method && ["re", "im", "norm2", "promoted", "get"].iter().any(|name| *word == name);
                condition = condition.map(|(span, numbers, compares)| (span, numbers || is_number, compares));
            }
            TokenTree::Punct(sign) => {
                let is_comparison = matches!(sign.as_char(), '<' | '>');
                condition = condition.map(|(span, numbers, compares)| (span, numbers, compares || is_comparison));
            }
            TokenTree::Group(group) => {
                if let (Delimiter::Brace, Some((span, true, true))) = (group.delimiter(), condition) {
                    return Err(Error::new(
                        span,
                        "numbers of the lattice differ from lane to lane, so that no `if` can depend on them: take both values and choose one, \
                         S::Real::select(a.less(b), yes, no)",
                    ));
                }
                if group.delimiter() == Delimiter::Brace {
                    condition = None;
                }
                require_no_branch(group.stream())?;
            }
            TokenTree::Literal(_) => {}
        }
        is_method = matches!(&token, TokenTree::Punct(sign) if sign.as_char() == '.');
    }
    Ok(())
}

fn argument(input: &FnArg, site: &Ident) -> Result<Argument, Error> {
    let declared = Declared::of(input, "body", ROLES)?;
    let field = |written, at| match declared.generics[..] {
        [_, GenericArgument::Type(value)] if object_of(value).is_some() => {
            let object = object_of(value).unwrap_or_default();
            let (kind, value_text) = (declared.kind, value.to_token_stream());
            let message = format!("{value_text} is the value of a field of {object}: write {kind}<{site}, {object}>");
            Err(Error::new_spanned(value, message))
        }
        [GenericArgument::Type(_), GenericArgument::Type(object)] => {
            Ok(Role::Field { written, at, object: Box::new(object.clone()) })
        }
        _ => Err(declared.takes("the site and the object of the field", "<S, ColourVectors>")),
    };
    let role = match declared.kind.to_string().as_str() {
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
        "Greatest" => Role::Greatest,
        "Least" => Role::Least,
        "SliceSum" | "ComplexSliceSum" => Role::SliceSums,
        "Coordinates" => Role::Coordinates,
        _ if declared.kind == site => Role::Site,
        _ => return Err(declared.unknown()),
    };
    Ok(Argument { name: declared.name, ty: declared.ty.clone(), role })
}

/// The type of a body, and the code that goes with it.
pub struct BodyType<'a> {
    pub function: &'a ItemFn,
    /// The module of the library: `body` or `map`.
    pub module: TokenStream,
    /// The traits of the site or point and of the body, and the type of the roles of its arguments.
    pub names: [&'static str; 3],
    pub recorder: TokenStream,
    /// The expression that creates a number argument.
    pub made: TokenStream,
    /// The generic parameter for the site or point.
    pub parameter: &'a Ident,
    /// The types of its arguments; `None` for the site or point itself.
    pub arguments: Vec<Option<&'a Type>>,
}

impl BodyType<'_> {
    /// The generated code, with `more` in its scope.
    pub fn written(&self, more: Option<TokenStream>) -> TokenStream {
        let Self { function, module, recorder, made, parameter, .. } = self;
        let (name, visibility, body) = (&function.sig.ident, &function.vis, body_of(&function.sig.ident));
        let [of_point, of_body, role] = self.names.map(|name| format_ident!("{name}"));
        let mut numbers = 0usize..;
        let passed = self.arguments.iter().map(|ty| match ty {
            None => quote! { point },
            Some(_) => {
                let number = numbers.next().unwrap_or_default();
                quote! { #module::Argument::#made(point, #number) }
            }
        });
        let roles = self.arguments.iter().flatten().map(|ty| quote! { <#ty as #module::Argument<#parameter>>::ROLE });
        quote! {
            #[doc(hidden)]
            #visibility struct #body;

            const _: () = {
                struct RolesOf<P>(::core::marker::PhantomData<P>);

                impl<#parameter: #module::#of_point> RolesOf<#parameter> {
                    const ROLES: &'static [#module::#role] = &[#(#roles),*];
                }

                impl #module::#of_body for #body {
                    const ROLES: &'static [#module::#role] = RolesOf::<#module::#recorder>::ROLES;
                    #[inline(always)]
                    fn run<P: #module::#of_point>(point: P) {
                        #name(#(#passed),*);
                    }
                }

                #more
            };
        }
    }
}

/// The one type over which a body is generic; `expected` is the error message if there is not exactly one. A body must not return anything.
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
