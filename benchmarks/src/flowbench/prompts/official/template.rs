//! Texts with named gaps, as Python's `string.Template` fills them.

/// A text with gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// As it is.
    Text(String),
    /// What is given under this name.
    Gap(String),
}

impl Template {
    /// Of pieces.
    pub(super) const fn of(pieces: Vec<Piece>) -> Self {
        Self(pieces)
    }

    /// Reads `$name` and `${name}` as gaps, and `$$` as a dollar.
    ///
    /// # Errors
    /// When a dollar is followed by anything else, or a gap is none of `known`: Python would stop there.
    pub(super) fn read(text: &str, known: &[&str]) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            pieces.push(Piece::Text(before.to_owned()));
            if let Some(after) = after.strip_prefix('$') {
                pieces.push(Piece::Text("$".to_owned()));
                rest = after;
                continue;
            }
            let (braced, inner) = after.strip_prefix('{').map_or((false, after), |inner| (true, inner));
            let (name, after) = inner.split_at(identifier(inner));
            let after = if braced { after.strip_prefix('}') } else { Some(after) };
            let Some(after) = after.filter(|_| !name.is_empty()) else {
                return Err("has a dollar that begins no placeholder; write $$ for a dollar".to_owned());
            };
            if !known.contains(&name) {
                return Err(format!("has the placeholder {name:?}; known: {}", known.join(", ")));
            }
            pieces.push(Piece::Gap(name.to_owned()));
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self(pieces))
    }

    /// The text with its gaps filled; those of no value here are left empty.
    pub(super) fn fill(&self, values: &[(&str, &str)]) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Gap(name) => values
                .iter()
                .find(|(known, _)| known == name)
                .map_or_else(String::new, |(_, value)| (*value).to_owned()),
        };
        self.0.iter().map(piece).collect()
    }
}

/// How many bytes at the beginning of `text` are a name: letters of ASCII, underscores, and digits but not first.
fn identifier(text: &str) -> usize {
    let of_name = |(at, c): (usize, char)| c == '_' || c.is_ascii_alphabetic() || (at > 0 && c.is_ascii_digit());
    text.char_indices().take_while(|found| of_name(*found)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_and_two_dollars_are_one() {
        let template = Template::read("$a costs $$5, ${b}s: $a.", &["a", "b"]).unwrap();
        assert_eq!(template.fill(&[("a", "tea"), ("b", "$a")]), "tea costs $5, $as: tea.");
    }

    #[test]
    fn what_python_would_not_fill_is_refused() {
        for text in ["$", "5 $ a", "${a", "${}", "$1", "$ä"] {
            assert!(Template::read(text, &["a"]).unwrap_err().contains("a dollar that begins no"), "{text}");
        }
        assert_eq!(Template::read("${c}", &["a", "b"]).unwrap_err(), "has the placeholder \"c\"; known: a, b");
    }
}
