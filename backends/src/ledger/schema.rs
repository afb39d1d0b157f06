//! Versions of a schema, and the programs that may use each.
//!
//! A program and a schema may be one version apart where the migration between them allows it: while a deployment is upgraded or rolled
//! back, roles of both versions run on one schema. Whoever writes a migration says so in its [`Step`]; a database remembers it of those
//! that were applied, because the previous program does not know them.

use super::LedgerError;

/// A migration. One that was released is never edited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// Version of the schema after it.
    pub(crate) version: i64,
    /// Statements that lead to it.
    pub(crate) sql: &'static str,
    /// Programs that may run on the schema before or after it.
    pub(crate) admits: Admits,
}

/// Programs, beside that of the same version, that may use a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admits {
    /// None: something that the previous program reads or writes was changed or taken away, or has a meaning that it does not keep up.
    NoOther,
    /// The previous program: there is only something more, which that program can leave alone.
    Previous,
    /// As [`Admits::Previous`]; and this program runs on the schema before it, too, as without an index.
    Both,
}

impl Admits {
    /// `true` if the program of the version before may run on the schema after this migration.
    pub(crate) const fn previous_program(self) -> bool {
        match self {
            Self::NoOther => false,
            Self::Previous | Self::Both => true,
        }
    }

    #[cfg(feature = "cluster")]
    const fn previous_schema(self) -> bool {
        match self {
            Self::NoOther | Self::Previous => false,
            Self::Both => true,
        }
    }
}

/// A migration, for lists of them.
pub(crate) const fn step(version: i64, admits: Admits, sql: &'static str) -> Step {
    Step { version, sql, admits }
}

/// Newest version of `steps`.
pub(crate) fn newest(steps: &[Step]) -> i64 {
    steps.last().map_or(0, |step| step.version)
}

/// Refuses a schema that is newer than `steps`, unless it is one version newer and `admits_previous` is noted beside that.
///
/// # Errors
/// [`LedgerError::NewerSchema`].
pub(crate) fn check_newer(steps: &[Step], found: i64, admits_previous: bool) -> Result<(), LedgerError> {
    let known = newest(steps);
    if found <= known || (found == known + 1 && admits_previous) {
        return Ok(());
    }
    Err(LedgerError::NewerSchema { found, known })
}

/// Refuses a schema that is older than `steps` and may not be migrated, unless only the last of them is missing and can be done without.
///
/// # Errors
/// [`LedgerError::OlderSchema`].
#[cfg(feature = "cluster")]
pub(crate) fn check_older(steps: &[Step], found: i64) -> Result<(), LedgerError> {
    let mut missing = steps.iter().filter(|step| step.version > found);
    let is_fit = match (missing.next(), missing.next()) {
        (None, _) => true,
        // A database without a schema is none of a version before.
        (Some(last), None) => found > 0 && last.admits.previous_schema(),
        (Some(_), Some(_)) => false,
    };
    if is_fit { Ok(()) } else { Err(LedgerError::OlderSchema { found, needed: newest(steps) }) }
}

#[cfg(all(test, feature = "cluster"))]
mod tests {
    use super::*;

    const STEPS: [Step; 3] = [step(1, Admits::NoOther, ""), step(2, Admits::Both, ""), step(3, Admits::Both, "")];

    #[test]
    fn a_program_runs_one_version_above_where_that_admits_the_previous_one() {
        let verdicts = [(3, false), (4, true), (4, false), (5, true)].map(|(found, admits)| {
            let verdict = check_newer(&STEPS, found, admits);
            verdict.map_err(|error| error.to_string()).err()
        });
        assert!(verdicts[0].is_none() && verdicts[1].is_none());
        for (verdict, found) in [(&verdicts[2], 4), (&verdicts[3], 5)] {
            let expected = format!("its schema is version {found}, this build knows up to 3");
            assert!(verdict.as_ref().unwrap().contains(&expected), "{verdict:?}");
        }
    }

    #[test]
    fn a_program_runs_one_version_below_where_it_can_do_without_the_last_migration() {
        check_older(&STEPS, 3).unwrap();
        check_older(&STEPS, 2).unwrap();
        check_older(&STEPS, 1).unwrap_err();
        check_older(&STEPS[..2], 0).unwrap_err();
        let needing = [STEPS[0], step(2, Admits::Previous, "")];
        let error = check_older(&needing, 1).unwrap_err();
        assert!(matches!(error, LedgerError::OlderSchema { found: 1, needed: 2 }), "{error}");
        assert!(error.to_string().contains("run `regatta migrate`"), "{error}");
    }

    #[test]
    fn an_empty_database_is_none_of_the_version_before() {
        assert!(check_older(&[step(1, Admits::Both, "")], 0).is_err());
    }
}
