//! Order of the test executables, and the ones that run at the same time.

use crate::executable::Executable;

/// Executables of [`Lane::Waiting`] that run at once.
pub(crate) const WAITING_AT_ONCE: usize = 2;

/// Resource that an executable is short of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// It waits: for limits to let calls through, for leases to end, for processes to start.
    Waiting,
    /// It computes, with a thread a core; two at once would only take turns.
    Computing,
}

/// The package of the end-to-end tests.
const END_TO_END: &str = "regatta-tests";
/// The package of the crash certificate, which starts a deployment to tamper with it.
const CERTIFY: &str = "regatta-certify";
/// End-to-end tests that need no service, no package of other people and less than half a minute.
const QUICK: [&str; 5] = ["bad_input", "declared", "embedded", "replay", "show"];
/// End-to-end tests that compute, or whose agents do.
const COMPUTING: [&str; 3] = ["flowbench", "frameworks", "worfbench"];
/// The longest of each lane, longest first, so that none of them is begun last.
const LONGEST: [&str; 5] = ["worfbench", "frameworks", "limits", "distributed", "litellm"];

/// The executables of a run.
#[derive(Debug)]
pub(crate) struct Plan(Vec<Executable>);

impl Plan {
    /// All `executables`, or those of the quick tier.
    pub(crate) fn of(executables: Vec<Executable>, quick: bool) -> Self {
        Self(executables.into_iter().filter(|executable| !quick || executable.is_quick()).collect())
    }

    /// `true` if any of them needs a broker, a database or a bucket.
    pub(crate) fn needs_services(&self) -> bool {
        self.0.iter().any(|executable| !executable.is_quick())
    }

    /// The executables in the order in which they are begun.
    pub(crate) fn into_order(self) -> Vec<(Executable, Lane)> {
        let mut order: Vec<_> = self.0.into_iter().map(|executable| (executable.lane(), executable)).collect();
        let rank = |executable: &Executable| LONGEST.iter().position(|name| *name == executable.target);
        order.sort_by_key(|(lane, executable)| {
            (*lane, rank(executable).unwrap_or(LONGEST.len()), executable.to_string())
        });
        order.into_iter().map(|(lane, executable)| (executable, lane)).collect()
    }
}

impl Executable {
    fn is_quick(&self) -> bool {
        match self.package.as_str() {
            END_TO_END => self.is_unit || QUICK.contains(&self.target.as_str()),
            // Conformance suites of the four seams.
            "regatta-backends" => self.is_unit,
            // One of its tests audits a deployment.
            CERTIFY => false,
            // Encodes with a model that a Python package ships.
            "regatta-encoder" => self.target != "minilm",
            _ => true,
        }
    }

    fn lane(&self) -> Lane {
        let is_end_to_end = self.package == END_TO_END && !self.is_unit;
        let waits = is_end_to_end && !COMPUTING.contains(&self.target.as_str());
        if waits || self.package == CERTIFY { Lane::Waiting } else { Lane::Computing }
    }

    /// `true` if it uses the shared services. The tests of the harness start, stop and count their own.
    pub(crate) fn shares_services(&self) -> bool {
        !(self.package == END_TO_END && (self.is_unit || self.target == "services"))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn executable(package: &str, target: &str, is_unit: bool) -> Executable {
        let (package, target) = (package.to_owned(), target.to_owned());
        Executable { package, target, is_unit, path: PathBuf::new(), folder: PathBuf::new() }
    }

    fn some() -> Vec<Executable> {
        vec![
            executable("regatta-proto", "regatta_proto", true),
            executable("regatta-backends", "queue", false),
            executable("regatta-tests", "limits", false),
            executable("regatta-tests", "apps", false),
            executable("regatta-tests", "show", false),
        ]
    }

    #[test]
    fn the_quick_tier_needs_no_services() {
        let plan = Plan::of(some(), true);
        assert!(!plan.needs_services());
        let names: Vec<String> = plan.into_order().iter().map(|(executable, _)| executable.to_string()).collect();
        assert_eq!(names, ["regatta-tests::show", "regatta-proto"]);
    }

    #[test]
    fn the_whole_leaves_nothing_out_and_begins_with_the_longest() {
        let plan = Plan::of(some(), false);
        assert!(plan.needs_services());
        let order = plan.into_order();
        assert_eq!(order.len(), some().len());
        assert_eq!(order[0].0.target, "limits");
    }
}
