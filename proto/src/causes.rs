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
    text
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
}
