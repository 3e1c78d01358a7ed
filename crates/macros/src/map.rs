//! `#[map_kernel]`: keeps the function, and adds the map as data and a structure with its arguments by name. Counterpart for lattice sites:
//! `attribute.rs`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::{Error, Expr, FnArg, GenericArgument, Ident, ItemFn, Meta, MetaList, Token, Type, punctuated::Punctuated};

use super::attribute::{function_and, summary};
use super::signature::{BodyType, Declared, body_of, in_camel_case, in_capitals, parameter_of};

const ROLES: &str = "Read<P, T, D>, Write<P, T, D>, Update<P, T, D>, Accumulate<P, T, D>, Scalar<P, T>, ExactSum<P>, IntegerSum<P, T>, Least<P, T>, \
                     Greatest<P, T>, or the point P";

/// The options in the brackets of the attribute.
#[derive(Default)]
struct Options {
    schedule: Option<Expr>,
    block: Option<Expr>,
    tile: Option<Expr>,
    cases: Vec<MetaList>,
}

/// The value of an argument in a case: `a = [96, 64]`, `x = [1000] in 0..16`, `s = 1.5`.
struct Given {
    name: Ident,
    value: Expr,
    within: Option<Expr>,
}

impl Parse for Given {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (name, _) = (input.parse()?, input.parse::<Token![=]>()?);
        let value = input.parse()?;
        let within = input.parse::<Option<Token![in]>>()?.map(|_| input.parse()).transpose()?;
        Ok(Self { name, value, within })
    }
}

/// The role of an argument, by the name of its type.
enum Role {
    Point,
    Array { written: bool, element: Box<Type>, rank: TokenStream },
    Scalar(Box<Type>),
    ExactSum,
    Fold(Box<Type>),
}

struct Argument {
    name: Ident,
    ty: Type,
    role: Role,
}

pub fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    function_and(item, |function| map(options, function))
}

fn options(tokens: TokenStream) -> Result<Options, Error> {
    let mut options = Options::default();
    for meta in Punctuated::<Meta, Token![,]>::parse_terminated.parse2(tokens)? {
        let expected = "unknown option: expected block = [y, x], tile = [y, x], schedule = Device, ThreadBlock, Persistent { groups: None }, \
                        Dynamic { chunk: 64 } or Sequential, or case(range = [n, m], array = [n, m], number = 1.5)";
        if let Meta::List(case) = &meta
            && case.path.is_ident("case")
        {
            options.cases.push(case.clone());
            continue;
        }
        let Meta::NameValue(pair) = &meta else { return Err(Error::new_spanned(&meta, expected)) };
        match (pair.path.get_ident().map(Ident::to_string).as_deref(), &pair.value) {
            (Some("schedule"), value @ (Expr::Path(_) | Expr::Struct(_))) => options.schedule = Some(value.clone()),
            (Some("block"), value @ Expr::Array(_)) => options.block = Some(value.clone()),
            (Some("tile"), value @ Expr::Array(_)) => options.tile = Some(value.clone()),
            _ => return Err(Error::new_spanned(&meta, expected)),
        }
    }
    Ok(options)
}

fn argument(input: &FnArg, point: &Ident) -> Result<Argument, Error> {
    let declared = Declared::of(input, "map", ROLES)?;
    let array = |written| match declared.generics[..] {
        [_, GenericArgument::Type(element), rank] => {
            Ok(Role::Array { written, element: Box::new(element.clone()), rank: rank.to_token_stream() })
        }
        _ => Err(declared.takes("the point, the type of elements, and the number of dimensions", "<P, f32, 2>")),
    };
    let number = || match declared.generics[..] {
        [_, GenericArgument::Type(element)] => Ok(Box::new(element.clone())),
        _ => Err(declared.takes("the point, and the type of the number", "<P, u32>")),
    };
    let role = match declared.kind.to_string().as_str() {
        "Read" => array(false)?,
        "Write" | "Update" | "Accumulate" => array(true)?,
        "Scalar" => Role::Scalar(number()?),
        "ExactSum" => Role::ExactSum,
        "IntegerSum" | "Least" | "Greatest" => Role::Fold(number()?),
        _ if declared.kind == point => Role::Point,
        _ => return Err(declared.unknown()),
    };
    Ok(Argument { name: declared.name, ty: declared.ty.clone(), role })
}

fn map(tokens: TokenStream, function: &ItemFn) -> Result<TokenStream, Error> {
    let Options { schedule, block, tile, cases } = options(tokens)?;
    let point = parameter_of(function, "a body is generic in one type, the point: fn name<P: Point>(…)")?;
    let arguments = function.sig.inputs.iter().map(|input| argument(input, &point)).collect::<Result<Vec<_>, _>>()?;
    let own: Vec<&Argument> = arguments.iter().filter(|argument| !matches!(argument.role, Role::Point)).collect();
    let makes = |role: &Role| matches!(role, Role::Array { written: true, .. } | Role::ExactSum | Role::Fold(_));
    if !own.iter().any(|argument| makes(&argument.role)) {
        let expected = "a map writes an array or makes a number: it has a Write, an Update, an Accumulate, an ExactSum, an IntegerSum, a Least or a Greatest";
        return Err(Error::new_spanned(&function.sig.ident, expected));
    }
    let (name, visibility) = (&function.sig.ident, &function.vis);
    let (structure, constant, body) = (in_camel_case(name), in_capitals(name), body_of(name));
    let (text, computes) = (name.to_string(), summary(function));
    let names: Vec<String> = own.iter().map(|argument| argument.name.to_string()).collect();

    let types = arguments.iter().map(|argument| match argument.role {
        Role::Point => None,
        _ => Some(&argument.ty),
    });
    let body_type = BodyType {
        function,
        module: quote! { ::lanefield_maps::__private },
        names: ["Point", "MapBody", "MapRole"],
        recorder: quote! { PointRecorder },
        made: quote! { at_point },
        parameter: &point,
        arguments: types.collect(),
    };
    let body_type = body_type.written(None);

    let mut chosen = quote! { ::lanefield_maps::__private::MapOptions::DEFAULT };
    if let Some(schedule) = schedule {
        chosen = quote! { #chosen.schedule(::lanefield_maps::__private::Schedule::#schedule) };
    }
    if let Some(block) = block {
        chosen = quote! { #chosen.block(#block) };
    }
    if let Some(tile) = tile {
        chosen = quote! { #chosen.tile(#tile) };
    }
    let cases = cases.iter().map(|case| case_of(case, &own)).collect::<Result<Vec<_>, _>>()?;
    let structure = structure_of(&own, function, &structure, &constant);
    let documentation = format!("The map of the body [`{name}`]: {computes}.");
    Ok(quote! {
        #body_type

        #[doc = #documentation]
        #visibility static #constant: ::lanefield_maps::__private::MapKernel =
            ::lanefield_maps::__private::MapKernel::new::<#body>(#text, #computes, &[#(#names),*], #chosen, &[#(#cases),*]);

        #structure
    })
}

/// A case: an index space, and the value of each argument, in the order of the body.
fn case_of(case: &MetaList, own: &[&Argument]) -> Result<TokenStream, Error> {
    let mut given: Vec<Given> =
        Punctuated::<Given, Token![,]>::parse_terminated.parse2(case.tokens.clone())?.into_iter().collect();
    let mut take = |name: &str| {
        let place = given.iter().position(|given| given.name == name);
        place
            .map(|place| given.remove(place))
            .ok_or_else(|| Error::new_spanned(case, format!("the case has no value for {name}")))
    };
    let range = take("range")?.value;
    let mut arguments = Vec::new();
    for argument in own {
        arguments.push(match &argument.role {
            Role::ExactSum | Role::Fold(_) => quote! { ::lanefield_maps::__private::Given::Result },
            Role::Array { .. } => {
                let Given { value, within, .. } = take(&argument.name.to_string())?;
                match within {
                    None => quote! { ::lanefield_maps::__private::Given::Array(&#value) },
                    Some(within) => quote! { ::lanefield_maps::__private::Given::Integers(&#value, #within) },
                }
            }
            Role::Scalar(_) | Role::Point => {
                let value = take(&argument.name.to_string())?.value;
                quote! { ::lanefield_maps::__private::Given::Number(#value as f64) }
            }
        });
    }
    match given.first() {
        Some(unknown) => Err(Error::new_spanned(&unknown.name, format!("the map takes no {} of a case", unknown.name))),
        None => Ok(quote! { ::lanefield_maps::__private::MapCase { range: &#range, arguments: &[#(#arguments),*] } }),
    }
}

/// The structure with the arguments by name, and its methods that launch the map.
fn structure_of(own: &[&Argument], function: &ItemFn, structure: &Ident, constant: &Ident) -> TokenStream {
    let visibility = &function.vis;
    let (mut fields, mut given, mut taken) = (Vec::new(), Vec::new(), Vec::new());
    let (mut has_arrays, mut borrows) = (false, false);
    for Argument { name, role, .. } in own {
        let (ty, documentation) = match role {
            Role::Point => continue,
            Role::Array { written, element, rank } => {
                (has_arrays, borrows) = (true, true);
                let array = quote! { ::lanefield_maps::__private::ArrayOn<B, #element, #rank> };
                match written {
                    true => {
                        given.push(quote! { .write(self.#name) });
                        (quote! { &'a mut #array }, "An array that is written.")
                    }
                    false => {
                        given.push(quote! { .read(self.#name) });
                        (quote! { &'a #array }, "An array that is read.")
                    }
                }
            }
            Role::Scalar(element) => {
                given.push(quote! { .number::<#element>(self.#name) });
                (quote! { #element }, "A number.")
            }
            Role::ExactSum => {
                borrows = true;
                given.push(quote! { .result() });
                taken.push(quote! { *self.#name = <f64 as ::lanefield_maps::__private::Element>::from_bits(results.next().unwrap_or(0)); });
                (quote! { &'a mut f64 }, "The exact sum, rounded once.")
            }
            Role::Fold(element) => {
                borrows = true;
                given.push(quote! { .result() });
                taken.push(
                    quote! { *self.#name = <#element as ::lanefield_maps::__private::Element>::from_bits(results.next().unwrap_or(0)); },
                );
                (quote! { &'a mut #element }, "The number over all points.")
            }
        };
        fields.push(quote! { #[doc = #documentation] pub #name: #ty });
    }
    let documentation = format!("The arguments of [`{constant}`], by name.");
    let lifetime = borrows.then(|| quote! { 'a, });
    let bound = quote! { B: ::lanefield_maps::__private::MapBackend + ?Sized };
    let (of_structure, named, of_method) = match has_arrays {
        true => (quote! { <#lifetime #bound> }, quote! { <#lifetime B> }, TokenStream::new()),
        false => (quote! { <#lifetime> }, quote! { <#lifetime> }, quote! { #bound, }),
    };
    let for_method = (!has_arrays).then(|| quote! { B, });
    let result = quote! { ::core::result::Result<(), ::lanefield_maps::__private::MapError> };
    quote! {
        #[doc = #documentation]
        #visibility struct #structure #of_structure {
            #(#fields),*
        }

        impl #of_structure #structure #named {
            /// Runs the map over an index space, with its own options.
            ///
            /// # Errors
            /// `MapError`: the launch was refused, or an index was out of range.
            #visibility fn launch<#of_method const D: usize>(self, backend: &B, range: [usize; D]) -> #result {
                self.launch_with::<#for_method D>(backend, range, #constant.options)
            }

            /// Runs the map over an index space, with another schedule, block size or tile.
            ///
            /// # Errors
            /// Those of `launch`.
            #visibility fn launch_with<#of_method const D: usize>(
                self,
                backend: &B,
                range: [usize; D],
                options: ::lanefield_maps::__private::MapOptions,
            ) -> #result {
                let results = ::lanefield_maps::__private::MapCall::<B>::new(&#constant)#(#given)*.launch(backend, range, options)?;
                let mut results = results.into_iter();
                #(#taken)*
                let _ = results.next();
                ::core::result::Result::Ok(())
            }
        }
    }
}
