//! The subset of XML in these files: elements with text, which programs order and pad differently.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

/// Text from a file in a form that fits a message: on one line, and not too long.
pub(super) fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).take(80).collect()
}

/// The elements that contain only text, by name, in order. A NUL at the end and blanks around the document are ignored.
pub(super) fn elements(bytes: &[u8]) -> Result<Vec<(String, String)>, String> {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let text = std::str::from_utf8(&bytes[..end]).map_err(|_| "it is not UTF-8 text".to_owned())?;
    let mut reader = Reader::from_str(text.trim());
    let (mut elements, mut open, mut content) = (Vec::new(), Vec::new(), String::new());
    loop {
        match reader.read_event().map_err(|error| shown(&error.to_string()))? {
            Event::Start(start) => {
                open.push(String::from_utf8_lossy(start.local_name().as_ref()).into_owned());
                content.clear();
            }
            Event::Text(text) => content += &text.decode().map_err(|error| shown(&error.to_string()))?,
            Event::GeneralRef(reference) => {
                let name = reference.decode().map_err(|error| shown(&error.to_string()))?;
                let character = reference.resolve_char_ref().map_err(|error| shown(&error.to_string()))?;
                let named = || resolve_predefined_entity(&name).map(str::to_owned);
                let unknown = || format!("the entity {} is not known", shown(&name));
                content += &character.map(String::from).or_else(named).ok_or_else(unknown)?;
            }
            Event::End(_) => {
                let name = open.pop().unwrap_or_default();
                if !content.trim().is_empty() {
                    elements.push((name, content.trim().to_owned()));
                }
                content.clear();
            }
            Event::Eof => break,
            _ => {}
        }
    }
    match open.pop() {
        Some(name) => Err(format!("the element {} is not closed", shown(&name))),
        None => Ok(elements),
    }
}

/// The text of the first element with this name.
pub(super) fn element<'a>(elements: &'a [(String, String)], name: &str) -> Option<&'a str> {
    elements.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
}

/// Text with the characters escaped that XML reserves.
pub(super) fn escaped(text: &str) -> String {
    quick_xml::escape::escape(text).into_owned()
}
