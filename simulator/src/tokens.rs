//! The tokeniser of simulated models: four characters are a token.

use regatta_proto::Finish;

pub(crate) const CHARACTERS_PER_TOKEN: usize = 4;
/// Tokens of an image, whatever its size.
pub(crate) const IMAGE_TOKENS: u64 = 256;

/// Number of tokens in `text`, as every simulated model counts: its characters divided by four, rounded up.
#[must_use]
pub fn count_tokens(text: &str) -> u64 {
    text.chars().count().div_ceil(CHARACTERS_PER_TOKEN) as u64
}

/// The beginning of `text` that fits into `max_tokens`, and the finish.
pub(crate) fn cut(text: &str, max_tokens: Option<u32>) -> (&str, Finish) {
    let characters = max_tokens.map_or(usize::MAX, |tokens| (tokens as usize).saturating_mul(CHARACTERS_PER_TOKEN));
    if text.len() <= characters {
        return (text, Finish::Stop);
    }
    match text.char_indices().nth(characters) {
        Some((end, _)) => (&text[..end], Finish::Length),
        None => (text, Finish::Stop),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_that_just_fits_is_not_cut() {
        assert_eq!(cut("äöüß", Some(1)), ("äöüß", Finish::Stop));
        assert_eq!(cut("äöüßx", Some(1)), ("äöüß", Finish::Length));
    }

    proptest! {
        #[test]
        fn a_cut_text_has_exactly_the_tokens_allowed_and_a_whole_one_no_more(text in ".{0,60}", max in 1u32..12) {
            let (kept, finish) = cut(&text, Some(max));
            prop_assert!(text.starts_with(kept));
            match finish {
                Finish::Length => {
                    prop_assert_eq!(count_tokens(kept), u64::from(max));
                    prop_assert!(kept.len() < text.len());
                }
                _ => {
                    prop_assert_eq!(kept, text.as_str());
                    prop_assert!(count_tokens(kept) <= u64::from(max));
                }
            }
        }
    }
}
