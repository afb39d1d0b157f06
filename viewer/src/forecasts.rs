//! Forecasts of what runs that go on cost at their end.

use std::num::NonZeroUsize;

use regatta_coordinator::{Forecast, Foretold, foretold_cost};
use regatta_proto::SweepState;

use crate::Viewer;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::source::Run;

/// Runs whose forecasts are remembered. Making one reads every attempt of its run.
pub(crate) const REMEMBERED: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// The cost of `run` at its end, at times some seconds old; `None` of one that does not go on, and while too little is known.
pub(crate) async fn of(viewer: &Viewer, run: &Run, progress: &Progress) -> Result<Option<Foretold>, Problem> {
    if !run.goes_on() || !matches!(run.row.state, SweepState::Running) {
        return Ok(None);
    }
    let make = async {
        let sweep = run.sweep().await?;
        foretold_cost(&run.store.ledger, &sweep, &progress.cells).await.map_err(Problem::from)
    };
    let question = format!("{} {}", run.name, run.row.id);
    let foretold = viewer.forecasts.get(question, &progress.fingerprint(run.state()), make).await?;
    Ok(foretold.map(|foretold| foretold.once_spent(progress.cost().known)))
}

/// The forecast in words, to follow "Money at the end".
pub(crate) fn words(foretold: Foretold) -> String {
    match foretold {
        Foretold::Whole(Forecast { expected, low, high, level }) => {
            format!("about {expected}, {low} to {high} ({level} interval)")
        }
        Foretold::AtLeast(least) => {
            format!("at least {least}; of a model or a judge too little is known yet to tell more")
        }
    }
}

/// The same for a column.
pub(crate) fn in_short(foretold: Foretold) -> String {
    match foretold {
        Foretold::Whole(Forecast { low, high, .. }) if low == high => low.to_string(),
        Foretold::Whole(Forecast { low, high, .. }) => format!("{low} to {high}"),
        Foretold::AtLeast(least) => format!("at least {least}"),
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::{Level, Money};

    use super::*;

    #[test]
    fn a_forecast_is_told_with_its_interval_or_as_what_it_costs_at_least() {
        let [low, expected, high] = [1_100_000_000, 1_250_000_000, 1_400_000_000].map(Money);
        let whole = Foretold::Whole(Forecast { expected, low, high, level: Level::USUAL });
        assert_eq!(words(whole), format!("about {expected}, {low} to {high} (95 % interval)"));
        assert_eq!(in_short(whole), format!("{low} to {high}"));
        let least = Foretold::AtLeast(low);
        assert!(words(least).starts_with(&format!("at least {low}; of a model")), "{}", words(least));
        assert_eq!(in_short(least), format!("at least {low}"));
    }
}
