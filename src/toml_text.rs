//! Parses TOML, with one-line error messages.

use std::ops::Range;

use serde::de::DeserializeOwned;

/// Parses a value.
///
/// # Errors
/// "line 3, column 5: what is wrong"; without the position if the error is one of the file as a whole.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let is_whole = |span: Range<usize>| span.start == 0 && (span.is_empty() || span.end >= text.trim_end().len());
    toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let place = match before.rsplit_once('\n') {
            _ if error.span().is_none_or(is_whole) => String::new(),
            None => format!("line 1, column {}: ", 1 + before.chars().count()),
            Some((lines, line)) => {
                format!("line {}, column {}: ", 2 + lines.matches('\n').count(), 1 + line.chars().count())
            }
        };
        format!("{place}{}", error.message().trim().replace('\n', ", "))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::from_str;

    fn refused(text: &str) -> String {
        from_str::<BTreeMap<String, u32>>(text).unwrap_err()
    }

    #[test]
    fn an_error_says_where_and_what_in_one_line() {
        let error = refused("a = 1\nä = [1,\nb = 2\n");
        assert!(error.starts_with("line ") && error.contains("column") && !error.contains('\n'), "{error}");
        assert_eq!(refused("a = 1\nb = \"x\""), "line 2, column 5: invalid type: string \"x\", expected u32");
        assert!(refused("a = ").starts_with("line 1, column "), "{}", refused("a = "));
    }

    #[test]
    fn an_error_of_the_whole_file_has_no_place() {
        #[derive(Debug, serde::Deserialize)]
        struct Named {
            #[serde(rename = "name")]
            _name: String,
        }
        assert_eq!(from_str::<Named>("other = 1").unwrap_err(), "missing field `name`");
    }
}
