//! Texts that the scripts search logs for (docs/benchmarks/autoslurp.md §4.2 and §5.3). Each search is one pass of an automaton.

use std::sync::LazyLock;

use regex::Regex;

/// Pattern by which a script finds the predicted intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The first line with `http` and, later, `intent=`: up to the end of the last such intent.
    Url,
    /// The last `intent:` word before a comma, a backslash, or the letter n, which may be within the word.
    LastWord,
    /// The first `intent:` word before a comma, an escape, or the end of the text.
    WordAtEnd,
    /// The first `intent:` word before a comma or an escape.
    WordBeforeEscape,
    /// The last `"intent"` of something like JSON, before a comma, a backslash, or the letter n.
    LastField,
    /// The first `intent:` word.
    Word,
    /// The first `intent:` word that begins a line other than the first, or follows nothing but its domain there.
    WordOfLine,
}

static URL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"http[s]*://.+intent=[a-z_&=0-9\-]+").ok());
static LAST_WORD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"intent:[a-z_]+[,\\n]").ok());
static WORD_AT_END: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"intent:[a-z_]+(?:,|\x1b|\z)").ok());
static WORD_BEFORE_ESCAPE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"intent:[a-z_]+[,\x1b]").ok());
static LAST_FIELD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#""intent": ?"[a-z_]+"[,\\n]"#).ok());
static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"intent:[a-z_]+").ok());
static WORD_OF_LINE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\n(?:domain:[a-z]+, ?)?intent:[a-z_]+").ok());
static RESPONSE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"\{"code":"SUCCESS","data".+"#).ok());
static RESPONSE_TO_BRACE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\{"code":"SUCCESS","data".+\}"#).ok());

/// The text that a script takes for the predicted intent.
pub(super) fn intent(shape: Shape, content: &str) -> Option<&str> {
    match shape {
        Shape::Url => first(&URL, content),
        Shape::LastWord => last(&LAST_WORD, content),
        // Python's `$` also stands before a newline that ends the text, and no other part of the pattern matches a newline.
        Shape::WordAtEnd => first(&WORD_AT_END, content.strip_suffix('\n').unwrap_or(content)),
        Shape::WordBeforeEscape => first(&WORD_BEFORE_ESCAPE, content),
        Shape::LastField => last(&LAST_FIELD, content),
        Shape::Word => first(&WORD, content),
        Shape::WordOfLine => first(&WORD_OF_LINE, content),
    }
}

/// The answer of a server that a script looks at: the first, up to the end of its line, or the last, up to the last brace of its line.
pub(super) fn response(is_last: bool, content: &str) -> Option<&str> {
    if is_last { last(&RESPONSE_TO_BRACE, content) } else { first(&RESPONSE, content) }
}

/// True if one of these is in the log.
pub(super) fn has_one(tokens: &[&str], content: &str) -> bool {
    tokens.iter().any(|token| content.contains(token))
}

fn first<'t>(pattern: &LazyLock<Option<Regex>>, text: &'t str) -> Option<&'t str> {
    pattern.as_ref()?.find(text).map(|found| found.as_str())
}

fn last<'t>(pattern: &LazyLock<Option<Regex>>, text: &'t str) -> Option<&'t str> {
    pattern.as_ref()?.find_iter(text).last().map(|found| found.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_patterns_compile() {
        for pattern in [
            &URL,
            &LAST_WORD,
            &WORD_AT_END,
            &WORD_BEFORE_ESCAPE,
            &LAST_FIELD,
            &WORD,
            &WORD_OF_LINE,
            &RESPONSE,
            &RESPONSE_TO_BRACE,
        ] {
            assert!(pattern.is_some());
        }
    }

    #[test]
    fn a_url_reaches_from_the_first_http_of_a_line_to_its_last_intent() {
        let line = "see http://a/?x=stock review and http://b/?intent=a_b&c=1 then intent=z-9%20 end";
        assert_eq!(
            intent(Shape::Url, line),
            Some("http://a/?x=stock review and http://b/?intent=a_b&c=1 then intent=z-9")
        );
        assert_eq!(intent(Shape::Url, "http://a\nintent=b"), None);
        assert_eq!(intent(Shape::Url, "httpsss://xintent=b"), Some("httpsss://xintent=b"));
        assert_eq!(intent(Shape::Url, "http://intent=b"), None, "something stands between");
    }

    #[test]
    fn the_letter_n_ends_a_word_of_langgraph() {
        assert_eq!(intent(Shape::LastWord, "intent:general_quirky'"), Some("intent:gen"));
        assert_eq!(intent(Shape::LastWord, r"intent:play_music\n intent:x"), Some(r"intent:play_music\"));
        assert_eq!(intent(Shape::LastWord, "intent:a, intent:b,"), Some("intent:b,"));
        assert_eq!(intent(Shape::LastWord, "intent:n"), None);
    }

    #[test]
    fn the_end_of_the_text_may_be_before_its_last_newline() {
        assert_eq!(intent(Shape::WordAtEnd, "intent:a\n\nintent:b\n"), Some("intent:b"));
        assert_eq!(intent(Shape::WordAtEnd, "intent:b\n\n"), None);
        assert_eq!(intent(Shape::WordAtEnd, "intent:a\u{1b}[39m intent:b"), Some("intent:a\u{1b}"));
        assert_eq!(intent(Shape::WordBeforeEscape, "intent:b\n"), None);
    }

    #[test]
    fn the_echo_of_a_server_is_evidence_for_langgraph_with_deepseek() {
        let echo = r#"{"code":"SUCCESS","data":{"query":{"intent":"calendar_set","slots":{}}}}"#;
        assert_eq!(intent(Shape::LastField, echo), Some(r#""intent":"calendar_set","#));
        assert_eq!(intent(Shape::LastField, r#""intent":  "a","#), None);
    }

    #[test]
    fn a_word_of_a_line_is_not_in_the_first_line() {
        assert_eq!(intent(Shape::WordOfLine, "intent:a"), None);
        assert_eq!(intent(Shape::WordOfLine, "x\n\ndomain:lists, intent:a"), Some("\ndomain:lists, intent:a"));
        assert_eq!(intent(Shape::WordOfLine, "x\n\ndomain:l_s,intent:a"), None);
    }

    #[test]
    fn a_blank_before_a_word_of_a_line_is_allowed_behind_a_domain_alone() {
        assert_eq!(intent(Shape::WordOfLine, "x\n intent:a"), None);
        assert_eq!(intent(Shape::WordOfLine, "x\ndomain:lists,  intent:a"), None);
        assert_eq!(intent(Shape::WordOfLine, "x\ndomain:lists,intent:a"), Some("\ndomain:lists,intent:a"));
    }

    #[test]
    fn answers_are_the_first_of_the_text_or_the_last() {
        let text =
            "{\"code\":\"SUCCESS\",\"data\":1} a\n{\"code\":\"SUCCESS\",\"data\":2} b\n{\"code\":\"SUCCESS\",\"data\"";
        assert_eq!(response(false, text), Some("{\"code\":\"SUCCESS\",\"data\":1} a"));
        assert_eq!(response(true, text), Some("{\"code\":\"SUCCESS\",\"data\":2}"));
        assert_eq!(response(false, "{\"code\": \"SUCCESS\",\"data\":1}"), None);
    }
}
