//! `check_kernel!`: tests of a kernel, one for each thing that it is held against.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Ident, Path, Token};

use super::signature::{body_of, in_capitals};

/// The kernel, and what it is held against.
struct Check {
    /// Of the test on a device: `#[ignore]`.
    on_device: Vec<Attribute>,
    body: Path,
    against: Vec<Against>,
}

enum Against {
    /// A function, or what the kernel itself has.
    Twin(Option<Path>),
    Identity(Ident),
}

impl Parse for Check {
    fn parse(input: ParseStream<'_>) -> Result<Self, Error> {
        let on_device = input.call(Attribute::parse_outer)?;
        let body = input.parse()?;
        let mut against = Vec::new();
        while input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            let word: Ident = input.parse()?;
            against.push(match word.to_string().as_str() {
                "twin" => match input.parse::<Option<Token![=]>>()? {
                    Some(_) => Against::Twin(Some(input.parse()?)),
                    None => Against::Twin(None),
                },
                "linear" | "hermitian" | "anti_hermitian" | "covariant" => Against::Identity(word),
                _ => {
                    let expected = "expected twin = function, twin, linear, hermitian, anti_hermitian or covariant";
                    return Err(Error::new_spanned(word, expected));
                }
            });
        }
        Ok(Self { on_device, body, against })
    }
}

pub fn expand(input: TokenStream) -> TokenStream {
    let Check { on_device, body, against } = match syn::parse2(input) {
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
    let backends = format_ident!("{name}_has_the_same_bits_everywhere");
    let tests = against.iter().map(|against| match against {
        Against::Twin(twin) => {
            let test = format_ident!("{name}_has_the_bits_of_its_twin");
            let of_test = twin.as_ref().map(|twin| {
                quote! {
                    struct OfTest;
                    impl ::lanefield::kernel::twin::Twin for OfTest {
                        fn run<R: ::lanefield::reference::kernels::Vectors>(call: &mut ::lanefield::kernel::twin::PlainCall<'_, R>) {
                            #twin(call);
                        }
                    }
                }
            });
            let twin = if twin.is_some() { quote! { OfTest } } else { quote! { #of_body } };
            quote! {
                #[test]
                fn #test() {
                    #of_test
                    ::lanefield::check::twin::<#twin>(&#kernel);
                }
            }
        }
        Against::Identity(identity) => {
            let test = format_ident!("{name}_is_{identity}");
            quote! {
                #[test]
                fn #test() {
                    ::lanefield::check::#identity(&#kernel);
                }
            }
        }
    });
    quote! {
        #(#on_device)*
        #[test]
        fn #backends() {
            ::lanefield::check::backends(&#kernel);
        }
        #(#tests)*
    }
}
