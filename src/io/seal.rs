//! Seals of JSON documents. The member `seal` is the SHA-256 of all other members, so that damage to a document is detected. Blanks and the
//! order of members do not matter. Documents without a seal, as other programs write them, are accepted.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

const SEAL: &str = "seal";

/// A document as indented JSON with its seal.
pub fn sealed(document: &impl Serialize) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct SealedDocument<'a, T> {
        #[serde(flatten)]
        document: &'a T,
        seal: String,
    }
    let seal = seal_of(&serde_json::to_value(document)?);
    serde_json::to_string_pretty(&SealedDocument { document, seal }).map(|text| text + "\n")
}

/// Removes the seal from a document and verifies it, if there is one.
pub fn unseal(document: &mut Value) -> Result<(), String> {
    let Some(seal) = document.as_object_mut().and_then(|members| members.remove(SEAL)) else { return Ok(()) };
    match seal == seal_of(document) {
        true => Ok(()),
        false => Err("it is damaged: its content does not match its seal".to_owned()),
    }
}

/// The seal of a document. Members are sorted by name first.
fn seal_of(document: &Value) -> String {
    hex::encode(Sha256::digest(document.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_unless_a_number_or_a_word_differs() {
        let text = sealed(&serde_json::json!({ "values": [0.1, 1.0, -3e-300], "kind": "test" })).unwrap();
        let unsealed = |text: &str| {
            let mut value = serde_json::from_str(text).unwrap();
            unseal(&mut value).map(|()| value)
        };
        assert_eq!(unsealed(&text).unwrap()["values"][2], -3e-300);
        assert!(unsealed(&text.replace("  ", "")).is_ok());
        for [from, to] in
            [["0.1", "0.3"], ["1.0", "1"], ["test", "tess"], ["kind", "kine"], ["seal\": \"", "seal\": \"0"]]
        {
            assert!(unsealed(&text.replace(from, to)).is_err(), "{from}");
        }
        assert!(unsealed("{\"kind\": \"of another program\"}").is_ok());
    }
}
