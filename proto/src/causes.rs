//! An error in one line.

use std::error::Error;

/// The message of `error` followed by those of its sources, each once, because many errors repeat their source.
#[must_use]
pub fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        next = cause.source();
    }
    in_plain_words(&text)
}

/// The message of the innermost source of `error`, or its own: the layers above say only that a connection or a read failed.
#[must_use]
pub fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut root = error;
    while let Some(cause) = root.source() {
        root = cause;
    }
    in_plain_words(&root.to_string())
}

/// Words of the standard library about a file that is not text.
const NOT_TEXT: &str = "stream did not contain valid UTF-8";

/// `text` in words for people who did not write the program.
fn in_plain_words(text: &str) -> String {
    without_numbers(text).replace(NOT_TEXT, "it is not text (UTF-8)")
}

/// Start of the number that the standard library appends to the words of the operating system.
const NUMBER: &str = " (os error ";

/// `text` without the numbers of the operating system's errors, whose words stand before them.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split(NUMBER);
    let mut out = parts.next().map(str::to_owned).unwrap_or_default();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => out.push_str(rest),
            Some(_) | None => {
                out.push_str(NUMBER);
                out.push_str(part);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Layer {
        text: &'static str,
        source: Option<Box<Layer>>,
    }

    fn layers(texts: &[&'static str]) -> Layer {
        let source = (texts.len() > 1).then(|| Box::new(layers(&texts[1..])));
        Layer { text: texts[0], source }
    }

    #[test]
    fn every_cause_is_said_once() {
        let said = |texts: &[&'static str]| causes(&layers(texts));
        assert_eq!(said(&["failed to record: closed", "closed", "closed"]), "failed to record: closed");
        assert_eq!(said(&["failed to record", "no connection", "refused"]), "failed to record: no connection: refused");
        assert_eq!(said(&["it failed"]), "it failed");
    }

    #[test]
    fn numbers_of_the_operating_system_are_left_out() {
        let refused = std::io::Error::from_raw_os_error(111);
        let error = std::io::Error::other(format!("failed to connect: {refused}; give an address"));
        assert_eq!(causes(&error), "failed to connect: Connection refused; give an address");
        assert_eq!(without_numbers("a (os error x) b (os error 2"), "a (os error x) b (os error 2");
    }

    #[test]
    fn a_file_that_is_not_text_is_called_so() {
        let error = std::io::read_to_string(&[0xff_u8, 0xfe][..]).unwrap_err();
        assert_eq!(causes(&error), "it is not text (UTF-8)");
        assert_eq!(root_cause(&error), "it is not text (UTF-8)");
    }

    #[test]
    fn the_root_of_an_error_is_its_innermost_source() {
        assert_eq!(root_cause(&layers(&["failed to ask", "client error", "connection refused"])), "connection refused");
        assert_eq!(root_cause(&layers(&["alone"])), "alone");
    }
}
