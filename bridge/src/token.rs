//! Names of sessions in URLs, which nobody can guess.

use std::io;

use rand::TryRngCore as _;
use rand::rngs::OsRng;
use regatta_proto::Digest;

/// Makes tokens, and knows its own again, so that a session that is closed can be told from one that never was without remembering it.
pub(crate) struct Tokens {
    secret: [u8; 32],
}

impl Tokens {
    /// # Errors
    /// When the system has no randomness to give.
    pub(crate) fn new() -> io::Result<Self> {
        let mut secret = [0; 32];
        OsRng.try_fill_bytes(&mut secret).map_err(io::Error::other)?;
        Ok(Self { secret })
    }

    /// The token of the session of this number: the number, and a digest that takes the secret to make.
    pub(crate) fn make(&self, number: u64) -> String {
        let digest = Digest::of_parts([&self.secret[..], &number.to_be_bytes()[..]]);
        format!("{number}-{digest}")
    }

    /// True if this bridge made `token`.
    pub(crate) fn is_ours(&self, token: &str) -> bool {
        let number = token.split_once('-').and_then(|(number, _)| number.parse().ok());
        number.is_some_and(|number| self.make(number) == token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_again_and_one_made_up_is_not() {
        let tokens = Tokens::new().unwrap();
        let token = tokens.make(7);
        assert!(tokens.is_ours(&token));
        let other = Tokens::new().unwrap().make(7);
        assert_ne!(token, other);
        for made_up in ["", "7", "7-", "-", &other, &token.replacen('7', "8", 1), &format!("0{token}")] {
            assert!(!tokens.is_ours(made_up), "{made_up}");
        }
    }
}
