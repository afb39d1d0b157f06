//! Guesses at settings and tasks that are misspelt.

use regatta_benchmarks::{Benchmark, SelectError, Suite};
use regatta_proto::{Setting, did_you_mean, nearest};

/// First part of the names of settings whose sessions an agent does.
const EXTERNAL: &str = "external";

/// The setting or task that was meant, if `error` is about one that there is not.
pub(super) fn meant(benchmark: &dyn Benchmark, suite: &dyn Suite, error: &SelectError) -> String {
    match error {
        SelectError::UnknownSetting { setting, .. } => {
            let known = benchmark.settings();
            match of_agent(setting, &known, suite) {
                Some(meant) => format!("; did you mean {:?}?", meant.as_str()),
                None => did_you_mean(setting, known.iter().map(Setting::as_str)),
            }
        }
        SelectError::UnknownTask { task, known } => did_you_mean(task, known.split(", ")),
        SelectError::NotInSetting { .. } => String::new(),
    }
}

/// The setting `external/NAME` or `external/NAME/MODE` that may have been meant by `setting`, of those that `suite` has.
fn of_agent(setting: &str, known: &[Setting], suite: &dyn Suite) -> Option<Setting> {
    let (first, rest) = setting.split_once('/')?;
    nearest(first, [EXTERNAL])?;
    let named = |rest: &str| -> Option<Setting> {
        let named: Setting = format!("{EXTERNAL}/{rest}").parse().ok()?;
        suite.select(&named, &[], Some(1)).is_ok().then_some(named)
    };
    let Some((agent, mode)) = rest.split_once('/') else { return named(rest) };
    // An agent does some of the benchmark's own modes, and each benchmark says which.
    let modes = known.iter().map(Setting::as_str).filter(|mode| named(&format!("{agent}/{mode}")).is_some());
    let mode = nearest(mode, modes)?;
    named(&format!("{agent}/{mode}"))
}
