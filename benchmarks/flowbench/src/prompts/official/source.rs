//! Extraction of texts from a Python module: constants that are literals, and texts that a function builds. Nothing
//! is run.

use regatta_pycompat::strip;

use super::template::Piece;

/// Returns the text of the constant `name`: the literal in the last line that assigns it, with or without `.strip()`.
///
/// # Errors
/// If the constant is missing or is not a literal.
pub(super) fn constant(source: &str, name: &str) -> Result<String, String> {
    let mut found = Err("is missing".to_owned());
    for line in line_starts(source) {
        if let Some(value) = assigned(line, name, &["="]) {
            found =
                literal(value).and_then(|(text, rest)| match rest.trim_start_matches(' ').strip_prefix(".strip()") {
                    Some(rest) => nothing_follows(rest).map(|()| strip(&text).to_owned()),
                    None => nothing_follows(rest).map(|()| text),
                });
        }
    }
    found
}

/// Returns `true` if the module has the function.
pub(super) fn has_function(source: &str, function: &str) -> bool {
    let head = format!("def {function}(");
    line_starts(source).any(|line| unindented(line).starts_with(&head))
}

/// Returns the pieces that the function `function` assigns and adds to `variable`, line by line: literals, constants
/// of the module, and the names in `given`.
///
/// # Errors
/// If the function or variable is missing, or something else or something conditional is added.
pub(super) fn built(source: &str, function: &str, variable: &str, given: &[&str]) -> Result<Vec<Piece>, String> {
    let head = format!("def {function}(");
    let lines = line_starts(source).skip_while(|line| !unindented(line).starts_with(&head)).skip(1);
    let mut pieces = Vec::new();
    let mut depth = None;
    for line in lines.take_while(|line| !unindented(line).starts_with("def ") && !line.starts_with("class ")) {
        let statement = unindented(line);
        let Some(mut rest) = assigned(statement, variable, &["=", "+="]) else { continue };
        let indented = line.len() - statement.len();
        if *depth.get_or_insert(indented) != indented {
            return Err(format!("adds to {variable} in some cases only"));
        }
        if assigned(statement, variable, &["="]).is_some() {
            pieces.clear();
        }
        loop {
            let (piece, after) = term(source, rest.trim_start_matches(' '), given)?;
            pieces.push(piece);
            match after.trim_start_matches(' ').strip_prefix('+') {
                Some(more) => rest = more,
                None => {
                    nothing_follows(after).map_err(|problem| format!("adds to {variable} what {problem}"))?;
                    break;
                }
            }
        }
    }
    if pieces.is_empty() { Err(format!("assigns nothing to {variable}")) } else { Ok(pieces) }
}

/// Checks that the line at the start of `rest` is empty except for a comment.
///
/// # Errors
/// With the unexpected text.
fn nothing_follows(rest: &str) -> Result<(), String> {
    match rest.lines().next().unwrap_or_default().trim() {
        "" => Ok(()),
        comment if comment.starts_with('#') => Ok(()),
        other => Err(format!("is more than a literal: {other:?} follows it")),
    }
}

/// Returns the source from the start of each line to its end.
fn line_starts(source: &str) -> impl Iterator<Item = &str> {
    let ends = source.match_indices('\n').map(|(end, _)| end + 1);
    std::iter::once(0).chain(ends).filter_map(|start| source.get(start..))
}

/// Returns the line without its leading white space; a blank line stays blank.
fn unindented(line: &str) -> &str {
    line.trim_start_matches([' ', '\t'])
}

/// Returns the text after `name` and one of `signs` at the start of `line`.
fn assigned<'s>(line: &'s str, name: &str, signs: &[&str]) -> Option<&'s str> {
    let rest = line.strip_prefix(name)?.trim_start_matches(' ');
    let value = signs.iter().find_map(|sign| rest.strip_prefix(sign))?;
    // `==` is a comparison and not an assignment.
    (!value.starts_with('=')).then(|| value.trim_start_matches(' '))
}

fn term<'s>(source: &str, text: &'s str, given: &[&str]) -> Result<(Piece, &'s str), String> {
    if text.starts_with(['"', '\'']) {
        return literal(text).map(|(text, rest)| (Piece::Text(text), rest));
    }
    let end = text.find(|c: char| c != '.' && c != '_' && !c.is_alphanumeric()).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if given.contains(&name) {
        return Ok((Piece::Gap(name.to_owned()), rest));
    }
    constant(source, name)
        .map(|text| (Piece::Text(text), rest))
        .map_err(|problem| format!("adds {name:?}, which {problem}"))
}

/// Parses the literal at the start of `text`, and returns it with the rest.
fn literal(text: &str) -> Result<(String, &str), String> {
    let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| text.starts_with(quote));
    let quote = quote.ok_or_else(|| "is no literal text".to_owned())?;
    let mut rest = &text[quote.len()..];
    let mut out = String::new();
    loop {
        if let Some(after) = rest.strip_prefix(quote) {
            return Ok((out, after));
        }
        let mut chars = rest.chars();
        match chars.next() {
            None => return Err("is a literal without end".to_owned()),
            Some('\n') if quote.len() == 1 => return Err("is a literal without end".to_owned()),
            Some('\\') => rest = escaped(chars.as_str(), &mut out)?,
            Some(c) => {
                out.push(c);
                rest = chars.as_str();
            }
        }
    }
}

/// Appends the value of the escape sequence whose backslash precedes `text`, and returns the rest. An unknown
/// sequence is kept as it is, like in Python.
fn escaped<'s>(text: &'s str, out: &mut String) -> Result<&'s str, String> {
    let mut chars = text.chars();
    let c = chars.next().ok_or_else(|| "is a literal without end".to_owned())?;
    let digits = |count: usize| {
        let digits = text.get(1..=count).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
        code.ok_or_else(|| format!("has an escape sequence \\{c} that is not complete"))
    };
    match c {
        '\n' => {}
        '\\' | '\'' | '"' => out.push(c),
        'n' => out.push('\n'),
        't' => out.push('\t'),
        'r' => out.push('\r'),
        'x' | 'u' | 'U' => {
            let count = match c {
                'x' => 2,
                'u' => 4,
                _ => 8,
            };
            out.push(digits(count)?);
            return Ok(&text[count + 1..]);
        }
        'a' | 'b' | 'f' | 'v' | 'N' | '0'..='7' => {
            return Err(format!("has the escape sequence \\{c}, which is not read"));
        }
        other => out.extend(['\\', other]),
    }
    Ok(chars.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_is_the_last_literal_of_its_name() {
        let source = "A = 'one'\nAB = 'other'\nA=\"\"\"\n two\\\n lines\\n\\\"\\d\\u00e9 \"\"\".strip()\nif A == 'three':\n    A = 'four'\n";
        assert_eq!(constant(source, "A").unwrap(), "two lines\n\"\\dé");
        assert_eq!(constant(source, "AB").unwrap(), "other");
        assert_eq!(constant("A = 'x'  # why\n", "A").unwrap(), "x");
    }

    #[test]
    fn what_is_no_literal_is_refused_with_what_it_is() {
        let refusals =
            ["B = 1", "A = f'x'", "A = 'x", "A = 'x' + B", "A = 'x'.lower()", "A = '\\N{BEL}'", "A = '\\u12'"];
        let reasons = [
            "is missing",
            "is no literal text",
            "is a literal without end",
            "is more than a literal: \"+ B\" follows it",
            "is more than a literal: \".lower()\" follows it",
            "has the escape sequence \\N, which is not read",
            "has an escape sequence \\u that is not complete",
        ];
        assert_eq!(refusals.map(|source| constant(source, "A").unwrap_err()), reasons.map(str::to_owned));
    }

    const FUNCTION: &str = "C = 'constant '\nclass X:\n    def f(self):\n        text = C\n        other = 1\n        text += \"two \" + self.more\n    def g(self):\n        text = 'none'\n";

    #[test]
    fn what_a_function_puts_together_is_found_in_its_order() {
        let pieces = built(FUNCTION, "f", "text", &["self.more"]).unwrap();
        let text = |text: &str| Piece::Text(text.to_owned());
        assert_eq!(pieces, [text("constant "), text("two "), Piece::Gap("self.more".to_owned())]);
        assert_eq!(built(FUNCTION, "f", "text", &[]).unwrap_err(), "adds \"self.more\", which is missing");
        assert_eq!(built(FUNCTION, "h", "text", &[]).unwrap_err(), "assigns nothing to text");
        assert_eq!(["f", "g", "h"].map(|name| has_function(FUNCTION, name)), [true, true, false]);
    }

    #[test]
    fn blank_lines_say_nothing() {
        let source = "a = 1\n\n        \ndef f():\n\n    t = 'x'\n  \n    t += 'y'\n\n\ndef g():\n    t = 'none'\n";
        let pieces = built(source, "f", "t", &[]).unwrap();
        assert_eq!(pieces, ["x", "y"].map(|text| Piece::Text(text.to_owned())));
    }

    #[test]
    fn a_function_is_refused_where_what_it_puts_together_cannot_be_told() {
        let refusal = |body: &str| built(&format!("def f(a):\n    t = 'x'\n{body}\n"), "f", "t", &["a"]).unwrap_err();
        assert_eq!(refusal("    if a:\n        t += a"), "adds to t in some cases only");
        assert_eq!(refusal("    t += a.lower()"), "adds \"a.lower\", which is missing");
        assert_eq!(refusal("    t += f'{a}'"), "adds \"f\", which is missing");
        let follows = |what: &str| format!("adds to t what is more than a literal: {what:?} follows it");
        assert_eq!(refusal("    t += 'x'.format(a)"), follows(".format(a)"));
        assert_eq!(refusal("    t += a % 2"), follows("% 2"));
    }

    #[test]
    fn what_is_assigned_anew_replaces_what_was() {
        let pieces = built("def f(a):\n    t = 'x'\n    t = 'y' + a  # why\n", "f", "t", &["a"]).unwrap();
        assert_eq!(pieces, [Piece::Text("y".to_owned()), Piece::Gap("a".to_owned())]);
    }
}
