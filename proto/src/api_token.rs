//! Tokens of a coordinator's API: `rgt_ID_SECRET`, so that secret scanners recognise them, and people can tell them apart by id.

use std::borrow::Cow;
use std::fmt;

use crate::{Digest, TokenId};

const PREFIX: &str = "rgt_";
/// Hexadecimal digits of the secret: 256 bits.
const SECRET_DIGITS: usize = 64;
/// Hexadecimal digits of the id.
const ID_DIGITS: usize = 12;

/// A token. Only its owner has the whole token: ledgers store [`ApiToken::digest`], and logs and people use [`ApiToken::id`].
#[derive(Clone)]
pub struct ApiToken {
    id: TokenId,
    text: String,
}

impl ApiToken {
    /// The token with this id and secret, both drawn at random.
    #[must_use]
    pub fn of(id: [u8; ID_DIGITS / 2], secret: [u8; SECRET_DIGITS / 2]) -> Option<Self> {
        Self::parse(&format!("{PREFIX}{}_{}", hex(&id), hex(&secret)))
    }

    /// Parses a token; `None` if `text` does not have its form, so that nothing else is ever looked up.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let is_hex = |part: &str, digits| {
            part.len() == digits && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let id = TokenId::new(id).ok().filter(|_| is_hex(id, ID_DIGITS) && is_hex(secret, SECRET_DIGITS))?;
        Some(Self { id, text: text.to_owned() })
    }

    /// The public part of the token.
    #[must_use]
    pub const fn id(&self) -> &TokenId {
        &self.id
    }

    /// The whole token, for its owner.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// `text` with `rgt_ID_…` in place of every token in it: people take a token for its id, and addresses are written down.
    #[must_use]
    pub fn without_secrets(text: &str) -> Cow<'_, str> {
        const LENGTH: usize = PREFIX.len() + ID_DIGITS + 1 + SECRET_DIGITS;
        let (mut out, mut rest) = (String::new(), text);
        while let Some(at) = rest.find(PREFIX) {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            out.push_str(PREFIX);
            if let Some(token) = from.get(..LENGTH).and_then(Self::parse) {
                out.push_str(token.id.as_str());
                out.push_str("_…");
                rest = &from[LENGTH..];
            } else {
                rest = &from[PREFIX.len()..];
            }
        }
        if out.is_empty() {
            return text.into();
        }
        out.push_str(rest);
        out.into()
    }

    /// Digest of the whole token.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }
}

impl fmt::Debug for ApiToken {
    /// Formats the token without its secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiToken").field("id", &self.id).finish_non_exhaustive()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_made_and_its_secret_is_not_shown() {
        let token = ApiToken::of([7; 6], [9; 32]).unwrap();
        assert_eq!(token.text(), format!("rgt_{}_{}", "07".repeat(6), "09".repeat(32)));
        let read = ApiToken::parse(token.text()).unwrap();
        assert_eq!((read.id(), read.digest()), (token.id(), Digest::of(token.text().as_bytes())));
        assert!(!format!("{read:?}").contains("0909"));
    }

    #[test]
    fn a_text_keeps_the_ids_of_the_tokens_in_it_and_no_secret() {
        let token = ApiToken::of([7; 6], [9; 32]).unwrap().text().to_owned();
        let without = |text: &str| ApiToken::without_secrets(text).into_owned();
        let id = "rgt_070707070707_…";
        assert_eq!(without(&format!("POST /v1/tokens/{token}/revoke")), format!("POST /v1/tokens/{id}/revoke"));
        assert_eq!(without(&format!("{token}{token}0 rgt_ é")), format!("{id}{id}0 rgt_ é"));
        for plain in ["", "rgt_", "rgt_0707_é", "GET /v1/sweeps/rgt_9"] {
            assert_eq!(without(plain), plain);
        }
    }

    #[test]
    fn what_has_another_form_is_no_token() {
        let good = ApiToken::of([7; 6], [9; 32]).unwrap().text().to_owned();
        for bad in [
            String::new(),
            good.to_uppercase(),
            format!("{good}0"),
            good[..good.len() - 1].to_owned(),
            good.replace("rgt_", "ghp_"),
            good.replace("0707", "07\u{0}7"),
            format!(" {good}"),
        ] {
            assert!(ApiToken::parse(&bad).is_none(), "{bad}");
        }
    }
}
