//! `#[lane_kernel]`: keeps the function, and adds the kernel's specification and a structure with its arguments by name.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::Parser as _;
use syn::{Error, Expr, ExprLit, Ident, ItemFn, Lit, LitInt, LitStr, Meta, Path, Token, punctuated::Punctuated};

use super::signature::{BodyType, Role, Signature, body_of, in_camel_case, in_capitals, is_any};

/// The options in the brackets of the attribute.
#[derive(Default)]
struct Options {
    twin: Option<Path>,
    parts: Option<LitInt>,
    family: Option<LitStr>,
    dagger: bool,
    hot: bool,
}

/// Keywords and built-in functions of OpenCL C, which cannot be names of kernels.
const OPENCL_WORDS: &str = " abs acos all any asin atan auto barrier bool case cbrt ceil char clamp constant cos cross default degrees distance do dot \
                            double exp fabs fdim float floor fma fmax fmin fmod fract global goto half hypot inline int isnan kernel length local log \
                            long mad main max min mix modf normalize popcount pow prefetch private quad radians register remainder restrict rotate \
                            round rsqrt select short shuffle sign signed sin sizeof sqrt step switch tan trunc typedef uchar uint ulong union \
                            unsigned upsample ushort void volatile ";

pub fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    function_and(item, |function| kernel(options, function))
}

/// The function as it is, followed by the code that `make` generates from it.
pub fn function_and(item: TokenStream, make: impl FnOnce(&ItemFn) -> Result<TokenStream, Error>) -> TokenStream {
    // The function stands first and whole, so that errors of the compiler are those of the user's lines, whatever is wrong with the rest.
    match syn::parse2::<ItemFn>(item.clone()) {
        Ok(function) => {
            let rest = make(&function).unwrap_or_else(Error::into_compile_error);
            quote! {
                #[inline(always)]
                #[allow(clippy::too_many_arguments)]
                #function
                #rest
            }
        }
        Err(error) => {
            let error = error.into_compile_error();
            quote! { #item #error }
        }
    }
}

fn options(tokens: TokenStream) -> Result<Options, Error> {
    let mut options = Options::default();
    for meta in Punctuated::<Meta, Token![,]>::parse_terminated.parse2(tokens)? {
        let expected = "unknown option: expected twin = function, parts = number, family = \"name\", dagger, or hot";
        let unknown = || Error::new_spanned(&meta, expected);
        let name = meta.path().get_ident().map(Ident::to_string).unwrap_or_default();
        let value = if let Meta::NameValue(pair) = &meta { Some(&pair.value) } else { None };
        let literal = if let Some(Expr::Lit(ExprLit { lit, .. })) = value { Some(lit) } else { None };
        match (name.as_str(), value, literal) {
            ("dagger", None, _) if matches!(meta, Meta::Path(_)) => options.dagger = true,
            ("hot", None, _) if matches!(meta, Meta::Path(_)) => options.hot = true,
            ("twin", Some(Expr::Path(twin)), _) => options.twin = Some(twin.path.clone()),
            ("family", _, Some(Lit::Str(family))) => options.family = Some(family.clone()),
            ("parts", _, Some(Lit::Int(parts))) => options.parts = Some(parts.clone()),
            _ => return Err(unknown()),
        }
    }
    Ok(options)
}

/// The first line of the documentation, without its full stop.
pub fn summary(function: &ItemFn) -> String {
    let line = function.attrs.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    let line = line.filter(|line| !line.is_empty()).unwrap_or_else(|| function.sig.ident.to_string().replace('_', " "));
    line.trim_end_matches('.').to_owned()
}

fn kernel(tokens: TokenStream, function: &ItemFn) -> Result<TokenStream, Error> {
    let options = options(tokens)?;
    let signature = Signature::of(function)?;
    let (name, visibility) = (&function.sig.ident, &function.vis);
    let (structure, constant, body) = (in_camel_case(name), in_capitals(name), body_of(name));
    let text = name.to_string();
    if OPENCL_WORDS.contains(&format!(" {text} ")) {
        return Err(Error::new_spanned(name, format!("{text} is a word of OpenCL C: choose another name")));
    }
    let computes = summary(function);
    let own: Vec<_> = signature.arguments.iter().filter(|argument| !matches!(argument.role, Role::Site)).collect();
    let names: Vec<String> = own.iter().map(|argument| argument.name.to_string()).collect();
    // The arguments of the OpenCL C kernel.
    let mut arguments: Vec<TokenStream> = Vec::new();
    for (number, argument) in own.iter().enumerate() {
        if !argument.role.is_reduced() && !matches!(argument.role, Role::Coordinates) {
            let name = argument.name.to_string();
            arguments.push(quote! { ::lanefield::__private::argument(#name, <#body as ::lanefield::__private::Body>::ROLES[#number]) });
        }
    }
    let tail = |name: &str| {
        let name = format_ident!("{name}");
        quote! { ::lanefield::__private::KernelArgument::#name }
    };
    let (is_stencil, is_of_words) = (signature.is_stencil(), signature.is_of_words());
    let tails = [
        (is_stencil, "Stencil"),
        (signature.uses_displacements(), "OfNeighbours"),
        (true, if is_of_words { "Elements" } else { "Osites" }),
        (is_stencil, "Boundary"),
        (true, if is_of_words { "PartWords" } else { "Parts" }),
        (signature.sums_over_slices() && is_of_words, "Parts"),
        (signature.sums_over_slices(), "Slices"),
    ];
    arguments.extend(tails.into_iter().filter(|(is_taken, _)| *is_taken).map(|(_, name)| tail(name)));
    if signature.has(|role| matches!(role, Role::Coordinates)) {
        for table in 0..4usize {
            arguments.push(
                quote! { ::lanefield::__private::KernelArgument::Computed(::lanefield::__private::COORDINATES[#table]) },
            );
        }
    }
    let parts = options.parts.map_or(quote! { 1 }, |parts| quote! { #parts });
    let base = match (signature.sums(), signature.is_stencil(), signature.is_of_words()) {
        (true, ..) if signature.sums_over_slices() => "SLICE_SUMS",
        (true, ..) => "SUMS",
        (_, true, _) => "STENCIL",
        (.., true) => "WORDS",
        _ => "LOCAL",
    };
    let tuned = match base {
        "STENCIL" => quote! { ::core::option::Option::Some(#text) },
        _ => quote! { ::core::option::Option::None },
    };
    let family = options.family.map_or(text.clone(), |family| family.value());
    let base = format_ident!("{base}");
    let host = if signature.sums() { format_ident!("Reduce") } else { format_ident!("Launch") };
    let run = if signature.sums() { format_ident!("reduce") } else { format_ident!("launch") };
    let built_for = signature.arguments.iter().find(|argument| matches!(argument.role, Role::Converted)).map(|argument| {
        let name = argument.name.to_string();
        quote! {
            options: &[::lanefield::__private::BuildOption::Sums, ::lanefield::__private::BuildOption::PrecisionOf(#name)],
        }
    });
    let written = if options.hot { format_ident!("hot") } else { format_ident!("new") };
    let plain = match &options.twin {
        None => quote! { ::lanefield::__private::HostFunction::None },
        Some(_) => {
            let function = format_ident!("{run}_plain");
            quote! { ::lanefield::__private::HostFunction::#host(::lanefield::__private::#function::<#body>) }
        }
    };
    let twin = options.twin.as_ref().map(|twin| {
        quote! {
            impl ::lanefield::__private::PlainImplementation for #body {
                fn run<R: ::lanefield::__private::Vectors>(call: &mut ::lanefield::__private::PlainCall<'_, R>) {
                    #twin(call);
                }
            }
        }
    });
    let types = signature.arguments.iter().map(|argument| match argument.role {
        Role::Site => None,
        _ => Some(&argument.ty),
    });
    let body_type = BodyType {
        function,
        module: quote! { ::lanefield::__private },
        names: ["Site", "Body", "Role"],
        recorder: quote! { Recorder },
        made: quote! { at },
        parameter: &signature.site,
        arguments: types.collect(),
    };
    let body_type = body_type.written(twin);
    // The kernel, or its Hermitian conjugate, which is tuned as the kernel is.
    let kernel = |constant: &Ident, text: &str, computes: &str, dagger: &str, documentation: String| {
        let dagger = format_ident!("{dagger}");
        let dagger = quote! { ::lanefield::__private::Dagger::#dagger };
        quote! {
            #[doc = #documentation]
            #visibility static #constant: ::lanefield::__private::Kernel = ::lanefield::__private::Kernel {
                name: #text,
                family: #family,
                computes: #computes,
                dagger: #dagger,
                arguments: &[#(#arguments),*],
                tuned_as: #tuned,
                usual_parts: #parts,
                #built_for
                source: ::lanefield::__private::KernelSource::Body(
                    ::lanefield::__private::BodyKernel::#written::<#body>(&[#(#names),*]).with_dagger(#dagger),
                ),
                cpu: ::lanefield::__private::HostFunction::#host(::lanefield::__private::#run),
                plain: #plain,
                ..::lanefield::__private::#base
            };
        }
    };
    let documentation = format!("The kernel of the body [`{name}`]: {computes}.");
    let mut kernels = kernel(&constant, &text, &computes, "No", documentation);
    if options.dagger {
        let documentation = format!("The Hermitian conjugate of [`{constant}`].");
        let (of_dagger, text) = (format_ident!("{constant}_DAGGER"), format!("{text}_dagger"));
        kernels.extend(kernel(&of_dagger, &text, &format!("{computes}, Hermitian conjugate"), "Yes", documentation));
    }
    let structure = structure_of(&signature, function, &structure, &constant, options.dagger);
    Ok(quote! {
        #body_type

        #kernels

        #structure
    })
}

/// The structure with the arguments by name, and its methods that launch the kernel.
fn structure_of(
    signature: &Signature,
    function: &ItemFn,
    structure: &Ident,
    constant: &Ident,
    has_dagger: bool,
) -> TokenStream {
    let visibility = &function.vis;
    let (mut fields, mut given) = (Vec::new(), Vec::new());
    for argument in &signature.arguments {
        let (name, text) = (&argument.name, argument.name.to_string());
        let (ty, documentation) = match &argument.role {
            Role::Field { written, object, .. } => {
                let object = if is_any(object) {
                    quote! { K }
                } else {
                    quote! { #object }
                };
                let field = quote! { ::lanefield::__private::FieldOn<B, R, #object> };
                given.push(match written {
                    true => quote! { .write(#text, self.#name) },
                    false => quote! { .read(#text, self.#name) },
                });
                match written {
                    true => (quote! { &'a mut #field }, "A field that is written."),
                    false => (quote! { &'a #field }, "A field that is read."),
                }
            }
            Role::Converted => {
                given.push(quote! { .read(#text, self.#name) });
                (
                    quote! { &'a ::lanefield::__private::FieldOn<B, Q, K> },
                    "A field that is read, in another precision or in this one.",
                )
            }
            Role::Links => {
                given.push(quote! { .read(#text, self.#name) });
                (
                    quote! { &'a ::lanefield::__private::FieldOn<B, R, ::lanefield::__private::DoubledGauge> },
                    "Doubled links.",
                )
            }
            Role::Scalar => {
                given.push(quote! { .scalar(#text, self.#name) });
                (quote! { f64 }, "A real number.")
            }
            Role::Complex => {
                given.push(quote! { .value(#text, ::lanefield::__private::ArgumentValue::Complex(self.#name)) });
                (quote! { ::lanefield::__private::Complex<f64> }, "A complex number.")
            }
            Role::Site | Role::Sums | Role::SliceSums | Role::Greatest | Role::Least | Role::Coordinates => continue,
        };
        fields.push(quote! { #[doc = #documentation] pub #name: #ty });
    }
    let converted = signature.has(|role| matches!(role, Role::Converted));
    let of_other = converted.then(|| quote! { , Q });
    let of_other_bound = converted.then(|| quote! { , Q: ::lanefield::__private::Vectors });
    let any = signature.is_of_words().then(|| quote! { #of_other, K });
    let any_bound = signature.is_of_words().then(|| quote! { #of_other_bound, K: ::lanefield::__private::SiteObject });
    let (stencil, with_stencil) = match signature.is_stencil() {
        true => {
            let legs = signature.has_links().then(|| quote! { , legs: ::lanefield::__private::LegOrder });
            let with_legs = signature.has_links().then(|| quote! { .legs(legs) });
            (quote! { , stencil: &'a B::Table #legs }, quote! { .stencil(stencil) #with_legs })
        }
        false => (TokenStream::new(), TokenStream::new()),
    };
    let documentation = format!("The arguments of [`{constant}`], by name.");
    let (direction, with_direction, what) = match signature.sums_over_slices() {
        true => (
            quote! { , direction: ::lanefield::__private::Direction },
            quote! { .direction(direction) },
            "Runs the kernel, and returns its sums over each slice across a direction, in order. Sums of several ranks can be merged before they are rounded.",
        ),
        false => (
            TokenStream::new(),
            TokenStream::new(),
            "Runs the kernel, and returns its sums. Those of several ranks can be merged before they are rounded.",
        ),
    };
    let (how, sum, what) = match signature.takes_extreme() {
        true => (
            TokenStream::new(),
            quote! { ::lanefield::__private::Sum::Exact },
            "Runs the kernel, and returns its extremes over all sites.",
        ),
        false => (quote! { , sum: ::lanefield::__private::Sum }, quote! { sum }, what),
    };
    let of_dagger = format_ident!("{constant}_DAGGER");
    let (dagger, kernel) = match has_dagger {
        true => (
            quote! { , dagger: ::lanefield::__private::Dagger },
            quote! {
                match dagger {
                    ::lanefield::__private::Dagger::No => &#constant,
                    ::lanefield::__private::Dagger::Yes => &#of_dagger,
                }
            },
        ),
        false => (TokenStream::new(), quote! { &#constant }),
    };
    let call =
        quote! { ::lanefield::__private::Arguments::new(#kernel)#(#given)*#with_stencil #with_direction.call()? };
    let error = quote! { ::lanefield::__private::BackendError };
    let method = match signature.sums() {
        true => quote! {
            #[doc = #what]
            ///
            /// # Errors
            /// `BackendError::Argument` if fields do not match, and errors of the backend.
            pub fn reduce(
                self,
                backend: &B
                #stencil
                #dagger
                #direction
                #how
            ) -> ::core::result::Result<::lanefield::__private::PartialSums, #error>
            where
                B: ::lanefield::__private::Reduce,
            {
                backend.reduce(#call, #sum)
            }
        },
        false => quote! {
            /// Runs the kernel.
            ///
            /// # Errors
            /// `BackendError::Argument` if fields do not match, and errors of the backend.
            pub fn launch(self, backend: &B #stencil #dagger) -> ::core::result::Result<(), #error>
            where
                B: ::lanefield::__private::Launch,
            {
                backend.launch(#call)
            }
        },
    };
    quote! {
        #[doc = #documentation]
        #visibility struct #structure<'a, B: ::lanefield::__private::Memory + ?Sized, R #any> {
            #(#fields),*
        }

        impl<'a, B: ::lanefield::__private::Memory, R: ::lanefield::__private::Vectors #any_bound> #structure<'a, B, R #any> {
            #method
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error message of the compiler for a body.
    fn error(options: &str, body: &str) -> String {
        let text = expand(options.parse().unwrap(), body.parse().unwrap()).to_string();
        let start = text.find("compile_error").expect("it is refused");
        let message = text[start..].split('"').nth(1).unwrap();
        // The function itself stands there, whatever is wrong with the rest.
        assert!(text.contains("fn ") && text.find("fn ") < Some(start), "{text}");
        message.to_owned()
    }

    #[test]
    fn bodies_that_are_none_are_refused_by_name() {
        let cases = [
            ("fn half<S: Site>(out: Write<S, Spinors>) {}", "half is a word of OpenCL C: choose another name"),
            ("fn f(out: u32) {}", "a body is generic in one type, the site: fn name<S: Site>(…)"),
            (
                "fn f<S: Site>(out: Write<S, Spinors>) -> u32 { 0 }",
                "a body returns nothing: it writes its results into arguments",
            ),
            (
                "fn f<S: Site>(x: Read<S, Spinors>) {}",
                "a body writes a field, adds to a sum or takes an extreme: it has a Write, an Update, an ExactSum, a ComplexSum, sums over slices, a Greatest or a Least",
            ),
            (
                "fn f<S: Site>(x: Neighbours<S, Spinors>, sum: ExactSum<S>) {}",
                "a body has a field that is written, or read at the site: it says on which sites the body runs",
            ),
            (
                "fn f<S: Site>(x: Read<S, Any>, sum: ExactSum<S>, slices: SliceSum<S>) {}",
                "a body sums over all sites or over slices: the sum over all sites is that of its slices, merged",
            ),
            (
                "fn f<S: Site>(x: Read<S, Any>, sum: ExactSum<S>, most: Greatest<S>) {}",
                "a body computes sums, a greatest or a least number, but only one of these: write a body for each",
            ),
            (
                "fn f<S: Site>(x: Read<S, Any>, least: Least<S>, most: Greatest<S>) {}",
                "a body computes sums, a greatest or a least number, but only one of these: write a body for each",
            ),
            (
                "fn f<S: Site>(x: Write<S, Any>, y: Neighbours<S, Any>) {}",
                "a body that loops over the words of Any cannot read neighbours: name the object of its fields",
            ),
            (
                "fn f<S: Site>(x: Write<S, Any>, y: Read<S, Spinors>) {}",
                "if a field is of Any, all must be: name the object of all fields, or of none",
            ),
            (
                "fn f<S: Site>(out: Write<S, Spinor>) {}",
                "Spinor is the value of a field of Spinors: write Write<S, Spinors>",
            ),
            (
                "fn f<S: Site>(out: Write<S, One<S::Complex>>) {}",
                "One < S :: Complex > is the value of a field of ComplexNumber: write Write<S, ComplexNumber>",
            ),
            (
                "fn f<T: Site>(out: Write<T, ComplexNumber>, x: Read<T, ComplexNumber>) { for _ in 0..2 { if x.here().0[0].re() > y { g() } } }",
                "numbers of the lattice differ from lane to lane, so that no `if` can depend on them: take both values and choose one, \
                 S::Real::select(a.less(b), yes, no)",
            ),
            (
                "fn f<S: Site>(out: &mut Write<S, Spinors>) {}",
                "an argument of a body is passed by value, as Write<S, Spinors>, without & or &mut",
            ),
            (
                "fn f<S: Site>(out: Write<S>) {}",
                "Write takes the site and the object of the field: Write<S, ColourVectors>",
            ),
        ];
        for (body, message) in cases {
            assert_eq!(error("", body), message, "{body}");
        }
        let unknown = "unknown option: expected twin = function, parts = number, family = \\\"name\\\", dagger, or hot";
        let found = error("tune = 3", "fn f<S: Site>(out: Write<S, Spinors>) {}");
        assert!(unknown.starts_with(&found), "{found}");
    }
}
