//! Seals of JSON documents: the member `seal` is the SHA-256 of all others, so that a document that lost a bit is not read as another one. Blanks and the
//! order of members do not count. Documents without a seal, as other programs write them, are read, too.

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

/// Takes the seal off a document, if it has one.
pub fn unseal(document: &mut Value) -> Result<(), String> {
    let Some(seal) = document.as_object_mut().and_then(|members| members.remove(SEAL)) else { return Ok(()) };
    match seal == seal_of(document) {
        true => Ok(()),
        false => Err("it is damaged: its content is not what its seal was made of".to_owned()),
    }
}

/// Members are sorted by name.
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
