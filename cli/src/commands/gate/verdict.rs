//! The three verdicts, and the checks that they are made of.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Verdict of a gate, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// Shown to be no worse than the margins allow, and within all limits.
    Go,
    /// Neither this nor that is shown.
    Inconclusive,
    /// Shown to be worse than a margin allows, or beyond a limit.
    NoGo,
}

impl Verdict {
    pub(crate) const fn exit_code(self) -> u8 {
        match self {
            Self::Go => 0,
            Self::NoGo => 1,
            Self::Inconclusive => 2,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Go => "GO",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::NoGo => "NO-GO",
        })
    }
}

/// One thing that the policy asks for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Check {
    /// Benchmark, setting and model.
    pub(crate) cell: String,
    /// Name of the metric, or of the limited quantity.
    pub(crate) what: String,
    pub(crate) verdict: Verdict,
    /// The figure that was seen, and the one that was asked for.
    pub(crate) detail: String,
}

/// The verdict of all checks: that of the worst. Without any, nothing is shown.
pub(crate) fn overall(checks: &[Check]) -> Verdict {
    checks.iter().map(|check| check.verdict).max().unwrap_or(Verdict::Inconclusive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_check_decides_and_no_check_shows_nothing() {
        let of = |verdicts: &[Verdict]| {
            let check = |verdict: &Verdict| Check {
                cell: String::new(),
                what: String::new(),
                verdict: *verdict,
                detail: String::new(),
            };
            overall(&verdicts.iter().map(check).collect::<Vec<_>>())
        };
        assert_eq!(of(&[Verdict::Go, Verdict::NoGo, Verdict::Inconclusive]), Verdict::NoGo);
        assert_eq!(of(&[Verdict::Go, Verdict::Inconclusive]), Verdict::Inconclusive);
        assert_eq!((of(&[Verdict::Go]), of(&[])), (Verdict::Go, Verdict::Inconclusive));
    }

    #[test]
    fn every_verdict_has_an_exit_code_of_its_own() {
        assert_eq!([Verdict::Go, Verdict::NoGo, Verdict::Inconclusive].map(Verdict::exit_code), [0, 1, 2]);
    }
}
