//! Environment variables in the text of a spec.

use super::SpecError;
use crate::secret_names::is_secret_name;

/// Replaces `${NAME}` and `${NAME:-default}`; `$$` is a dollar sign. Comments are left alone.
///
/// # Errors
/// When a variable is not set or by its name [a secret](is_secret_name), or a reference is malformed.
pub fn substitute(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, SpecError> {
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let line_number = number + 1;
        let code_length = if line.trim_start().starts_with('#') { 0 } else { line.find(" #").unwrap_or(line.len()) };
        let (mut rest, comment) = line.split_at(code_length);
        while let Some(dollar) = rest.find('$') {
            out.push_str(&rest[..dollar]);
            rest = &rest[dollar + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                out.push('$');
                rest = after;
            } else if let Some(after) = rest.strip_prefix('{') {
                let problem =
                    |problem: &str| SpecError::Substitution { line: line_number, problem: problem.to_owned() };
                let (inside, after) = after.split_once('}').ok_or_else(|| problem("a ${ without its }"))?;
                let (name, default) = inside.split_once(":-").map_or((inside, None), |(n, d)| (n, Some(d)));
                if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                    // Not quoted: it may be a secret, or a default after another mark than `:-`.
                    return Err(problem("the text between ${ and } is not a variable name"));
                }
                if is_secret_name(name) {
                    return Err(problem(&format!(
                        "{name} may hold a secret, and specs are stored: name the variable in api_key_env or headers_env instead"
                    )));
                }
                let value = variable(name)
                    .or_else(|| default.map(str::to_owned))
                    .ok_or_else(|| SpecError::UnsetVariable { line: line_number, name: name.to_owned() })?;
                if value.contains(['\n', '\r']) {
                    return Err(problem(&format!("the value of {name} spans several lines")));
                }
                out.push_str(&value);
                rest = after;
            } else {
                out.push('$');
            }
        }
        out.push_str(rest);
        out.push_str(comment);
    }
    Ok(out)
}
