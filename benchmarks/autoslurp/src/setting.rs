//! The benchmark's own axes: who orchestrates, which data, which day, and who plays which member.

use jiff::civil::Date;
use regatta_proto::{AgentName, Setting};

use super::policy::Policy;

/// The day that sessions happen on, unless their setting says another: a Wednesday, so that every word for a day that the data uses means
/// another date.
pub(crate) const TODAY: Date = jiff::civil::date(2025, 5, 28);

/// A csv file of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Dataset {
    /// The test set of the paper, 100 utterances.
    Test,
    /// The later test set, 1000.
    Test1k,
    /// The training set of the paper, 1000.
    Train,
    /// The later training set, 5000.
    Train5k,
}

impl Dataset {
    /// Every file, the default first.
    pub(crate) const ALL: [Self; 4] = [Self::Test, Self::Test1k, Self::Train, Self::Train5k];

    /// The word used in settings and ids of items.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Test1k => "test_1k",
            Self::Train => "train",
            Self::Train5k => "train_5k",
        }
    }

    /// Path of the file in the official repository.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Test => "data/test.csv",
            Self::Test1k => "data_5k/test_1k.csv",
            Self::Train => "data/train.csv",
            Self::Train5k => "data_5k/train_5k.csv",
        }
    }

    /// The file called `name`, by its word.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dataset| dataset.as_str() == name)
    }

    /// The file at `path`.
    pub(crate) fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dataset| dataset.path() == path)
    }
}

/// Orchestrator of a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Route {
    /// A policy of Regatta.
    Native(Policy),
    /// An external agent, behind the bridge.
    External(AgentName),
}

/// A choice on every axis.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Mode {
    /// Orchestrator.
    pub(crate) route: Route,
    /// Data set of the utterances.
    pub(crate) dataset: Dataset,
    /// Today's date for the date tool and the evaluators.
    pub(crate) today: Date,
    /// Cast, which names the members that models of their own play; `None` without one.
    pub(crate) cast: Option<String>,
}

impl Mode {
    /// The settings that are listed, the default first.
    pub(crate) fn listed() -> Vec<Self> {
        let of = |dataset| Policy::ALL.map(|policy| Self::plain(Route::Native(policy), dataset));
        [Dataset::Test, Dataset::Test1k].into_iter().flat_map(of).collect()
    }

    const fn plain(route: Route, dataset: Dataset) -> Self {
        Self { route, dataset, today: TODAY, cast: None }
    }

    /// The mode that `setting` names: a policy or `external/NAME`; then perhaps a data set, `today=YYYY-MM-DD` and `cast=NAME`, in this
    /// order. What is the default is not written, so that no two cells are the same.
    pub(crate) fn of(setting: &Setting) -> Option<Self> {
        let mut parts = setting.as_str().split('/').peekable();
        let first = parts.next()?;
        let route = match Policy::ALL.into_iter().find(|policy| policy.as_str() == first) {
            Some(policy) => Route::Native(policy),
            None if first == "external" => Route::External(parts.next()?.parse().ok()?),
            None => return None,
        };
        let dataset = parts.peek().and_then(|part| Dataset::named(part));
        if dataset.is_some() {
            parts.next();
        }
        let mut option = |key: &str| {
            let value = parts.peek()?.strip_prefix(key)?.to_owned();
            parts.next();
            Some(value)
        };
        let (today, cast) = (option("today="), option("cast="));
        let mode = Self {
            route,
            dataset: dataset.unwrap_or(Dataset::Test),
            today: today.map_or(Some(TODAY), |day| day.parse().ok())?,
            cast,
        };
        (parts.next().is_none() && mode.name() == setting.as_str()).then_some(mode)
    }

    /// Name of the mode as a setting.
    pub(crate) fn name(&self) -> String {
        let mut name = match &self.route {
            Route::Native(policy) => policy.as_str().to_owned(),
            Route::External(agent) => format!("external/{agent}"),
        };
        if self.dataset != Dataset::Test {
            name.push_str(&format!("/{}", self.dataset.as_str()));
        }
        if self.today != TODAY {
            name.push_str(&format!("/today={}", self.today));
        }
        if let Some(cast) = &self.cast {
            name.push_str(&format!("/cast={cast}"));
        }
        name
    }

    /// Known modes, for messages.
    pub(crate) fn known() -> String {
        "camelai, langgraph, autogen, agentlite or external/NAME, then perhaps /test_1k, /train or /train_5k, /today=YYYY-MM-DD \
         and /cast=NAME, in this order"
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(name: &str) -> Option<Mode> {
        name.parse().ok().as_ref().and_then(Mode::of)
    }

    #[test]
    fn every_mode_has_one_name() {
        for listed in Mode::listed() {
            assert_eq!(mode(&listed.name()), Some(listed));
        }
        for name in ["external/mine", "external/mine/train_5k/today=2025-06-01/cast=tuned", "autogen/cast=tuned"] {
            assert_eq!(mode(name).unwrap().name(), name);
        }
        assert_eq!(Mode::listed()[0].name(), "camelai");
    }

    #[test]
    fn a_setting_may_say_another_day_and_cast() {
        let found = mode("autogen/test_1k/today=2025-06-01/cast=tuned").unwrap();
        assert_eq!((found.dataset, found.today.to_string().as_str()), (Dataset::Test1k, "2025-06-01"));
        assert_eq!(found.cast.as_deref(), Some("tuned"));
    }

    #[test]
    fn other_names_are_no_modes() {
        for name in [
            "crewai",
            "external",
            "external/",
            "camelai/test",
            "camelai/cast=a/test_1k",
            "camelai/today=2025-05-28",
            "camelai/today=2025-13-01",
            "camelai/x",
            "camelai/cast=a/cast=b",
        ] {
            assert_eq!(mode(name), None, "{name}");
        }
    }
}
