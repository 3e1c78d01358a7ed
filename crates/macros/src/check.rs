//! `check_kernel!`: tests of a kernel, one for each property or reference implementation that it is compared with.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Ident, Path, Token};

use super::signature::{body_of, in_capitals};

/// The kernel and its checks.
struct Check {
    /// Attributes of the test on a device: `#[ignore]`.
    on_device: Vec<Attribute>,
    body: Path,
    against: Vec<Against>,
    /// Whether the Hermitian conjugate is tested as well.
    has_dagger: bool,
}

enum Against {
    Covariant,
    /// The reference implementation: a function, or the kernel's own.
    Twin(Option<Path>),
    /// An identity, and the vectors that it concerns: those that are read, and those that are written.
    Identity(Ident, [Vec<Ident>; 2]),
}

/// `(in = psi, out = chi)`, or `(in = [x, psi])`; empty for all vectors.
fn vectors(input: ParseStream<'_>) -> Result<[Vec<Ident>; 2], Error> {
    let mut vectors = [Vec::new(), Vec::new()];
    if !input.peek(syn::token::Paren) {
        return Ok(vectors);
    }
    let content;
    syn::parenthesized!(content in input);
    while !content.is_empty() {
        let word = content.call(Ident::parse_any)?;
        let of = match word.to_string().as_str() {
            "in" => &mut vectors[0],
            "out" => &mut vectors[1],
            _ => return Err(Error::new_spanned(word, "expected in = field, in = [field, field] or out = field")),
        };
        content.parse::<Token![=]>()?;
        if content.peek(syn::token::Bracket) {
            let list;
            syn::bracketed!(list in content);
            of.extend(list.parse_terminated(Ident::parse, Token![,])?);
        } else {
            of.push(content.parse()?);
        }
        if !content.is_empty() {
            content.parse::<Token![,]>()?;
        }
    }
    Ok(vectors)
}

impl Parse for Check {
    fn parse(input: ParseStream<'_>) -> Result<Self, Error> {
        let on_device = input.call(Attribute::parse_outer)?;
        let body = input.parse()?;
        let (mut against, mut has_dagger) = (Vec::new(), false);
        while input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            let word: Ident = input.parse()?;
            against.push(match word.to_string().as_str() {
                "twin" => match input.parse::<Option<Token![=]>>()? {
                    Some(_) => Against::Twin(Some(input.parse()?)),
                    None => Against::Twin(None),
                },
                "linear" | "hermitian" | "anti_hermitian" => Against::Identity(word, vectors(input)?),
                "covariant" => Against::Covariant,
                "dagger" => {
                    has_dagger = true;
                    continue;
                }
                _ => {
                    let expected = "expected twin = function, twin, dagger, linear, hermitian, anti_hermitian or covariant; an identity of some of \
                                    the fields is hermitian(in = psi, out = chi)";
                    return Err(Error::new_spanned(word, expected));
                }
            });
        }
        Ok(Self { on_device, body, against, has_dagger })
    }
}

pub fn expand(input: TokenStream) -> TokenStream {
    let Check { on_device, body, against, has_dagger } = match syn::parse2(input) {
        Ok(check) => check,
        Err(error) => return error.into_compile_error(),
    };
    let Some(name) = body.segments.last().map(|segment| segment.ident.clone()) else { return TokenStream::new() };
    // What stands where the body does, under another name.
    let beside = |ident: Ident| {
        let mut path = body.clone();
        path.segments.last_mut().into_iter().for_each(|last| last.ident = ident.clone());
        path
    };
    let (kernel, of_body) = (beside(in_capitals(&name)), beside(body_of(&name)));
    let of_dagger =
        has_dagger.then(|| (format_ident!("{name}_dagger"), beside(format_ident!("{}_DAGGER", in_capitals(&name)))));
    let kernels: Vec<_> = std::iter::once((name.clone(), kernel.clone())).chain(of_dagger).collect();
    let on_backends = kernels.iter().map(|(name, kernel)| {
        let test = format_ident!("{name}_has_the_same_bits_everywhere");
        quote! {
            #(#on_device)*
            #[test]
            fn #test() {
                ::lanefield::__private::check::backends(&#kernel);
            }
        }
    });
    let tests = against.iter().map(|against| match against {
        Against::Twin(twin) => {
            let of_test = twin.as_ref().map(|twin| {
                quote! {
                    struct OfTest;
                    impl ::lanefield::__private::PlainImplementation for OfTest {
                        fn run<R: ::lanefield::__private::Vectors>(call: &mut ::lanefield::__private::PlainCall<'_, R>) {
                            #twin(call);
                        }
                    }
                }
            });
            let twin = if twin.is_some() { quote! { OfTest } } else { quote! { #of_body } };
            let tests = kernels.iter().map(|(name, kernel)| {
                let test = format_ident!("{name}_has_the_bits_of_its_twin");
                quote! {
                    #[test]
                    fn #test() {
                        #of_test
                        ::lanefield::__private::check::twin::<#twin>(&#kernel);
                    }
                }
            });
            quote! { #(#tests)* }
        }
        Against::Covariant => {
            let test = format_ident!("{name}_is_covariant");
            quote! {
                #[test]
                fn #test() {
                    ::lanefield::__private::check::covariant(&#kernel);
                }
            }
        }
        Against::Identity(identity, [inputs, outputs]) => {
            let of: String = inputs.iter().map(|input| format!("_in_{input}")).collect();
            let test = format_ident!("{name}_is_{identity}{of}");
            let [inputs, outputs] = [inputs, outputs].map(|names| names.iter().map(Ident::to_string));
            quote! {
                #[test]
                fn #test() {
                    let fields = ::lanefield::__private::check::IdentityFields { inputs: &[#(#inputs),*], outputs: &[#(#outputs),*] };
                    ::lanefield::__private::check::#identity(&#kernel, fields);
                }
            }
        }
    });
    quote! {
        #(#on_backends)*
        #(#tests)*
    }
}
