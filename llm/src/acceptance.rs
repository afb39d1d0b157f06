//! Decides whether a judge's reply is accepted: regular expressions, compiled once, within limits.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;
use regex::{Regex, RegexBuilder};

/// Most expressions of one question.
const EXPRESSIONS_MAX: usize = 16;
/// Longest expression in bytes.
const LENGTH_MAX: usize = 4096;
/// Largest compiled expression, and largest cache of its lazy automaton, in bytes.
const COMPILED_MAX: usize = 1 << 20;
/// Most compiled expressions in the cache; a benchmark has a handful.
const KEPT: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// Compiled expressions; for those that cannot be compiled, the reason.
#[derive(Debug)]
pub(crate) struct Expressions(Mutex<LruCache<String, Result<Regex, String>>>);

/// Expressions that a reply must match to be accepted.
#[derive(Debug, Clone)]
pub(crate) struct Acceptance(Vec<Regex>);

impl Expressions {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LruCache::new(KEPT)))
    }

    /// Compiles `accept`. A reply must match all of it to be accepted.
    ///
    /// # Errors
    /// A sentence about the first expression that cannot be used.
    pub(crate) fn acceptance(&self, accept: &[String]) -> Result<Acceptance, String> {
        if accept.len() > EXPRESSIONS_MAX {
            return Err(format!(
                "the question has {} expressions, at most {EXPRESSIONS_MAX} are allowed",
                accept.len()
            ));
        }
        accept.iter().map(|text| self.compiled(text)).collect::<Result<_, _>>().map(Acceptance)
    }

    fn compiled(&self, text: &str) -> Result<Regex, String> {
        if text.len() > LENGTH_MAX {
            return Err(format!(
                "an expression of the question has {} bytes, at most {LENGTH_MAX} are allowed",
                text.len()
            ));
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(text) {
            return known.clone();
        }
        let compiled = RegexBuilder::new(text).size_limit(COMPILED_MAX).dfa_size_limit(COMPILED_MAX).build();
        let compiled = compiled.map_err(|error| {
            // The parser's message draws the expression over several lines; its last line has the reason.
            let problem = error.to_string();
            let problem = problem.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            format!("the expression {text:?} of the question cannot be used: {problem}")
        });
        kept.put(text.to_owned(), compiled.clone());
        compiled
    }
}

impl Acceptance {
    /// `true` if `reply` is accepted.
    pub(crate) fn takes(&self, reply: &str) -> bool {
        self.0.iter().all(|expression| expression.is_match(reply))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acceptance(accept: &[&str]) -> Result<Acceptance, String> {
        let accept: Vec<String> = accept.iter().map(|text| (*text).to_owned()).collect();
        Expressions::new().acceptance(&accept)
    }

    #[test]
    fn a_reply_is_taken_when_it_matches_every_expression() {
        let both = acceptance(&["(?i)yes|no", r"Score: \d"]).unwrap();
        assert!(both.takes("Yes. Score: 7"));
        assert!(!both.takes("Yes.") && !both.takes("Score: 7"));
        assert!(acceptance(&[]).unwrap().takes(""));
    }

    #[test]
    fn an_expression_that_is_malformed_or_too_large_is_named() {
        let long = "a".repeat(LENGTH_MAX + 1);
        let many = vec!["a"; EXPRESSIONS_MAX + 1];
        let bad: [&[&str]; 5] = [&["ok", "("], &["(?=a)"], &["(a{1000}){1000}"], &[&long], &many];
        insta::assert_snapshot!(bad.map(|accept| acceptance(accept).unwrap_err()).join("\n"));
    }

    #[test]
    fn a_known_expression_is_not_compiled_again() {
        let expressions = Expressions::new();
        for _ in 0..3 {
            assert!(expressions.acceptance(&["a".to_owned()]).is_ok());
            assert!(expressions.acceptance(&["(".to_owned()]).is_err());
        }
        assert_eq!(expressions.0.lock().unwrap().len(), 2);
    }
}
