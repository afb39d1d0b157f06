//! Findings of a preflight, and the error that has all of them.

use std::fmt;

use regatta_proto::counted;

use crate::exit::BadConfiguration;
use crate::output;

/// Something that would fail, or may.
#[derive(Debug)]
pub(super) struct Finding {
    /// Field of the spec.
    field: String,
    /// The problem and what to do about it, as a clause.
    problem: String,
    /// Sessions would fail, rather than may.
    is_error: bool,
}

impl Finding {
    /// Something that keeps sessions from being measured.
    pub(super) const fn error(field: String, problem: String) -> Self {
        Self { field, problem, is_error: true }
    }

    /// Something that may, or of which nothing is known.
    pub(super) const fn warning(field: String, problem: String) -> Self {
        Self { field, problem, is_error: false }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.problem)
    }
}

/// Tells of warnings, and refuses to go on with errors; `way_on` is the last line of the refusal.
///
/// # Errors
/// [`BadConfiguration`] with all errors, a line each.
pub(super) fn conclude(findings: &[Finding], way_on: &str) -> anyhow::Result<()> {
    let (errors, warnings): (Vec<&Finding>, Vec<&Finding>) = findings.iter().partition(|finding| finding.is_error);
    warnings.iter().for_each(|warning| output::note(&format!("preflight: {warning}")));
    if errors.is_empty() { Ok(()) } else { Err(BadConfiguration(refusal(&errors, way_on)).into()) }
}

fn refusal(errors: &[&Finding], way_on: &str) -> String {
    let count = counted(errors.len() as u64, "problem", "problems");
    let lines: String = errors.iter().map(|error| format!("\n  {error}")).collect();
    format!("{count} found before anything was paid for:{lines}\n{way_on}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_errors_are_told_in_one_refusal_and_warnings_do_not_refuse() {
        let [field, other] = ["endpoints.minilm.path", "agents.mine.command"].map(str::to_owned);
        let warning = || Finding::warning("models[0]".to_owned(), "not listed".to_owned());
        conclude(&[warning()], "go on").unwrap();
        let errors = [
            Finding::error(field, "no config.json".to_owned()),
            warning(),
            Finding::error(other, "not there".to_owned()),
        ];
        let refused = conclude(&errors, "correct them").unwrap_err();
        assert!(refused.is::<BadConfiguration>());
        assert_eq!(
            refused.to_string(),
            "2 problems found before anything was paid for:\n  endpoints.minilm.path: no config.json\n  \
             agents.mine.command: not there\ncorrect them"
        );
    }
}
