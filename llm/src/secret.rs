//! The key of an endpoint, and texts of the endpoint that may hold it.

use std::fmt;

use reqwest::header::{HeaderValue, InvalidHeaderValue};

/// Longest detail of a failed try, in characters.
pub(crate) const DETAIL_MAX: usize = 300;
/// Longest id or model name taken over from an answer, in characters.
const NAME_MAX: usize = 200;

/// An API key; never printed.
#[derive(Clone, Default)]
pub(crate) struct Secret(Option<String>);

impl Secret {
    /// Wraps a key.
    pub(crate) fn new(key: String) -> Self {
        Self(Some(key))
    }

    /// The key itself.
    #[cfg(test)]
    pub(crate) fn expose(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The value of that header: the key behind `prefix`, marked so that nothing prints it. `None` without a key.
    ///
    /// # Errors
    /// When the key holds characters that no header may hold.
    pub(crate) fn header(&self, prefix: &str) -> Result<Option<HeaderValue>, InvalidHeaderValue> {
        let Some(key) = &self.0 else { return Ok(None) };
        let mut value = HeaderValue::try_from(format!("{prefix}{key}"))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// One line of at most [`DETAIL_MAX`] characters of what an endpoint said, without the key.
    pub(crate) fn detail(&self, text: &str) -> String {
        self.cut(text, DETAIL_MAX)
    }

    /// A short name from an answer, without the key.
    pub(crate) fn name(&self, text: &str) -> String {
        self.cut(text, NAME_MAX)
    }

    fn cut(&self, text: &str, max: usize) -> String {
        // Redacted before it is cut: a cut through the key would leave its beginning.
        match &self.0 {
            Some(key) if text.contains(key.as_str()) => one_line(&text.replace(key.as_str(), "[key]"), max),
            _ => one_line(text, max),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Secret([key])" } else { "Secret(none)" })
    }
}

fn one_line(text: &str, max: usize) -> String {
    let text = text.trim();
    let mut line: String = text.chars().take(max).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(max).is_some() {
        line.pop();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_key_is_removed_before_the_text_is_cut() {
        let key = "sk-0123456789".repeat(10);
        let secret = Secret::new(key.clone());
        let detail = secret.detail(&format!("{} wrong key {key} {key}", "x".repeat(DETAIL_MAX - 20)));
        assert!(!detail.contains("sk-0"), "{detail}");
        assert_eq!(detail.chars().count(), DETAIL_MAX);
    }

    #[test]
    fn a_detail_is_one_line() {
        assert_eq!(Secret::default().detail(" a\r\nb\u{7}c "), "a  b c");
    }

    #[test]
    fn a_secret_prints_as_nothing() {
        let secret = Secret::new("sk-1".into());
        let header = secret.header("Bearer ").unwrap();
        assert_eq!(format!("{secret:?} {header:?}"), "Secret([key]) Some(Sensitive)");
    }

    proptest! {
        #[test]
        fn no_text_brings_the_key_through(key in "[a-zA-Z0-9-]{8,60}", before in ".{0,400}", after in ".{0,400}") {
            let detail = Secret::new(key.clone()).detail(&format!("{before}{key}{after}"));
            prop_assert!(!detail.contains(&key));
            prop_assert!(detail.chars().count() <= DETAIL_MAX);
        }
    }
}
