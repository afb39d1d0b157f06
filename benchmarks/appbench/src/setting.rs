//! The benchmark's own axes (whether the apps are chosen first, and how many solved examples are shown), and who does the sessions.

use regatta_benchmarks::delegated::{self, DelegableMode};
use regatta_proto::Setting;

/// Most demonstrations that a setting may ask for.
pub(crate) const SHOTS_MAX: u8 = 10;
/// Numbers of demonstrations that are listed: none, and those of the paper's Table 5.
const SHOTS_LISTED: [u8; 4] = [0, 3, 4, 5];

/// Way to ask for a plan (paper, section 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Route {
    /// First the apps are chosen, then a plan is made from their APIs: the paper's main setting.
    Hierarchical,
    /// One plan from the APIs of all apps.
    Flat,
    /// No plan: the simulated apps are called as tools, step by step, and answer. Ours; it can only be scored by what was executed.
    Tools,
}

/// A choice on both axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Mode {
    /// Way to ask for a plan.
    pub(crate) route: Route,
    /// Number of demonstrations, 0 to [`SHOTS_MAX`].
    pub(crate) shots: u8,
}

impl Mode {
    /// Every listed mode, the default first.
    pub(crate) fn all() -> Vec<Self> {
        let of = |route| SHOTS_LISTED.into_iter().map(move |shots| Self { route, shots });
        let tools = Self { route: Route::Tools, shots: 0 };
        of(Route::Hierarchical).chain(of(Route::Flat)).chain([tools]).collect()
    }

    /// The mode that `setting` names: `hierarchical` or `flat`, then perhaps `/K-shot`; or `tools`. `None` for a setting whose sessions an
    /// external agent does.
    pub(crate) fn of(setting: &Setting) -> Option<Self> {
        Self::named(setting.as_str())
    }

    /// Name of the mode as a setting.
    pub(crate) fn name(self) -> String {
        let route = match self.route {
            Route::Hierarchical => "hierarchical",
            Route::Flat => "flat",
            Route::Tools => "tools",
        };
        if self.shots == 0 { route.to_owned() } else { format!("{route}/{}-shot", self.shots) }
    }
}

impl DelegableMode for Mode {
    fn named(name: &str) -> Option<Self> {
        let (route, shots) = match name.split_once('/') {
            Some((route, shots)) => (route, shots.strip_suffix("-shot")?),
            None => (name, "0"),
        };
        let route = match route {
            "hierarchical" => Route::Hierarchical,
            "flat" => Route::Flat,
            "tools" => Route::Tools,
            _ => return None,
        };
        let shots: u8 = shots.parse().ok().filter(|shots| *shots <= SHOTS_MAX)?;
        let mode = Self { route, shots };
        // One name each, so that two cells never are the same: no `/0-shot`, no leading zeros. A session with tools has no examples.
        let is_shown = route != Route::Tools || shots == 0;
        (is_shown && mode.name() == name).then_some(mode)
    }

    /// Plans with the APIs of all apps, and perhaps `/K-shot`; or `tools`.
    fn of_agent(more: Option<&str>) -> Option<Self> {
        match more {
            Some("tools") => Some(Self { route: Route::Tools, shots: 0 }),
            Some(shots) => Self::named(&format!("flat/{shots}")),
            None => Some(Self { route: Route::Flat, shots: 0 }),
        }
    }

    fn known() -> String {
        format!(
            "hierarchical, flat and external/NAME, each with /1-shot to /{SHOTS_MAX}-shot too, tools and external/NAME/tools"
        )
    }
}

/// A mode, and who does its sessions.
pub(crate) type SessionMode = delegated::SessionMode<Mode>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_has_one_name() {
        for mode in Mode::all() {
            assert_eq!(Mode::of(&mode.name().parse().unwrap()), Some(mode));
        }
        let names: Vec<String> = Mode::all().into_iter().map(Mode::name).collect();
        assert_eq!(names[..2], ["hierarchical", "hierarchical/3-shot"]);
        assert_eq!(names[4], "flat");
    }

    #[test]
    fn other_names_are_no_modes() {
        for name in [
            "",
            "tree",
            "flat/",
            "flat/0-shot",
            "flat/03-shot",
            "flat/11-shot",
            "flat/3",
            "tools/3-shot",
            "hierarchical/3-shot/x",
        ] {
            let mode = name.parse().ok().as_ref().and_then(Mode::of);
            assert_eq!(mode, None, "{name}");
        }
    }

    #[test]
    fn an_agent_plans_with_all_apps_and_may_be_shown_examples_or_calls_them() {
        let of_agent = |shots| Mode::of_agent(shots).map(Mode::name);
        assert_eq!(of_agent(None).as_deref(), Some("flat"));
        assert_eq!(of_agent(Some("3-shot")).as_deref(), Some("flat/3-shot"));
        assert_eq!(of_agent(Some("tools")).as_deref(), Some("tools"));
        for unknown in ["0-shot", "flat", "flat/3-shot", "tools/3-shot"] {
            assert_eq!(of_agent(Some(unknown)), None, "{unknown}");
        }
    }

    #[test]
    fn any_number_up_to_the_limit_may_be_asked_for() {
        assert_eq!(Mode::of(&"flat/10-shot".parse().unwrap()), Some(Mode { route: Route::Flat, shots: 10 }));
    }
}
