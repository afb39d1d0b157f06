//! Python's format strings as templates of ours.

use crate::template::SOURCE_BYTES_MAX;

/// Text that a field of a format string stands for.
pub(super) enum Filled {
    /// This piece of a template.
    Template(String),
    /// This text.
    Text(String),
    /// Nothing that is known; Inspect leaves such a field as it is.
    Unknown,
}

/// The template that makes what `format` makes; `fill` knows its fields by name.
///
/// # Errors
/// When the text is no format string, a field has a form, an index or an attribute, which have no counterpart, or the template would be longer
/// than any may be: words around words around words double in each step.
pub(super) fn template(format: &str, fill: &mut dyn FnMut(&str) -> Result<Filled, String>) -> Result<String, String> {
    let mut made = String::new();
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, found) = rest.split_at(at);
        text += before;
        if let Some(after) = found.strip_prefix("{{") {
            text.push('{');
            rest = after;
        } else if let Some(after) = found.strip_prefix("}}") {
            text.push('}');
            rest = after;
        } else if let Some(field) = found.strip_prefix('{') {
            let (field, after) = field.split_once('}').ok_or("the template has a { without its }")?;
            rest = after;
            let name: &str = field.split(['!', ':']).next().unwrap_or(field);
            let first = name.split(['.', '[']).next().unwrap_or(name);
            if first.is_empty() || field.contains('{') {
                return Err(format!("the field {{{field}}} of the template has no name"));
            }
            let filled = fill(first)?;
            let is_left = matches!(filled, Filled::Unknown) && name == field;
            if first != field && !is_left {
                return Err(format!(
                    "the field {{{field}}} of the template has a form, an index or an attribute, which have no counterpart; write \
                     {{{first}}}, or make metadata of what it shows"
                ));
            }
            match filled {
                Filled::Unknown => text += &format!("{{{field}}}"),
                Filled::Text(value) => text += &value,
                Filled::Template(piece) => {
                    made += &literal(&text);
                    text.clear();
                    made += &piece;
                }
            }
            if made.len() + text.len() > SOURCE_BYTES_MAX {
                return Err(format!("it makes a template of more than {SOURCE_BYTES_MAX} bytes; shorten its text"));
            }
        } else {
            return Err("the template has a } without its {".to_owned());
        }
    }
    text += rest;
    made += &literal(&text);
    Ok(made)
}

/// A text as a template that makes it.
pub(super) fn literal(text: &str) -> String {
    let mut made = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            // With the next character, or with a field that follows, it would begin something.
            ('{', Some('{' | '%' | '#') | None) => made += "{{ '{' }}",
            // A template loses the last line's end.
            ('\n', None) => made += "{{ '\\n' }}",
            (c, _) => made.push(c),
        }
    }
    made
}
