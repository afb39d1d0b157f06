//! Texts with named gaps in the syntax of Python's `string.Template`.

/// A text with gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// A literal text.
    Text(String),
    /// A gap with this name.
    Gap(String),
}

impl Template {
    /// Makes a template of pieces and joins adjacent texts.
    pub(super) fn of(pieces: Vec<Piece>) -> Self {
        let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match (joined.last_mut(), piece) {
                (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
                (_, piece) => joined.push(piece),
            }
        }
        Self(joined)
    }

    /// Returns `true` if the template has a gap with this name.
    pub(super) fn has_gap(&self, name: &str) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Gap(gap) if gap == name))
    }

    /// Parses `$name` and `${name}` as gaps, and `$$` as a dollar.
    ///
    /// # Errors
    /// If a dollar is followed by anything else, or a gap is not in `known`: Python would raise an exception.
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

    /// Fills the gaps; those without a value are left empty.
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

    /// Returns the values that were filled in to get `text`, in the order of the gaps; `None` when the text does not
    /// match. A value ends at the first occurrence of the literal after its gap, the last value at the last one. (So
    /// every filled text is recognised, but a value that contains that literal is cut.)
    pub(super) fn values_in<'t>(&self, text: &'t str) -> Option<Vec<(&str, &'t str)>> {
        let mut rest = text;
        let mut open = None;
        let mut values = Vec::new();
        let end = self.0.len().saturating_sub(1);
        for (at, piece) in self.0.iter().enumerate() {
            let literal = match piece {
                Piece::Gap(name) => {
                    values.extend(open.replace(name.as_str()).map(|empty| (empty, "")));
                    continue;
                }
                Piece::Text(literal) => literal.as_str(),
            };
            let Some(name) = open.take() else {
                rest = rest.strip_prefix(literal)?;
                continue;
            };
            let (value, behind) = if at == end { (rest.strip_suffix(literal)?, "") } else { rest.split_once(literal)? };
            values.push((name, value));
            rest = behind;
        }
        match open {
            Some(name) => values.push((name, rest)),
            None if rest.is_empty() => {}
            None => return None,
        }
        Some(values)
    }
}

/// Returns the length in bytes of the name at the start of `text`: ASCII letters, underscores, and digits except as
/// the first character.
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
    fn what_was_filled_in_is_found_again() {
        let text = |text: &str| Piece::Text(text.to_owned());
        let gap = |name: &str| Piece::Gap(name.to_owned());
        let template = Template::of(vec![
            text("Is "),
            gap("a"),
            text("\n"),
            text("or "),
            gap("b"),
            text("\n"),
            gap("c"),
            text("?\n"),
        ]);
        let found = |a, b, c| {
            let filled = template.fill(&[("a", a), ("b", b), ("c", c)]);
            template.values_in(&filled).unwrap().into_iter().map(|(_, value)| value.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found("tea", "", "x?\ny"), ["tea", "", "x?\ny"]);
        assert_eq!(found("one\nor two", "b", ""), ["one", "two", "or b\n"]);
        for other in ["", "Is tea\nor b\nc", "is tea\nor b\nc?\n", "Is tea\nc?\n"] {
            assert_eq!(template.values_in(other), None, "{other:?}");
        }
        assert_eq!(Template::of(vec![gap("a"), gap("b")]).values_in("x"), Some(vec![("a", ""), ("b", "x")]));
    }

    #[test]
    fn what_python_would_not_fill_is_refused() {
        for text in ["$", "5 $ a", "${a", "${}", "$1", "$ä"] {
            assert!(Template::read(text, &["a"]).unwrap_err().contains("a dollar that begins no"), "{text}");
        }
        assert_eq!(Template::read("${c}", &["a", "b"]).unwrap_err(), "has the placeholder \"c\"; known: a, b");
    }
}
