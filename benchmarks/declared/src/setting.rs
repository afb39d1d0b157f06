//! The grid of settings: every combination of the axes' values, the first values first.

use regatta_benchmarks::{DataError, delegated};
use regatta_proto::{AgentName, Setting};
use serde_json::{Map, Value};

use crate::definition::{AxisValue, Named, Source, check_axis};

/// Most settings of a benchmark.
const SETTINGS_MAX: usize = 256;
/// The setting of a benchmark without axes.
const ONLY: &str = "default";

/// A setting with the values that it stands for.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) setting: Setting,
    /// Values by axis, for templates.
    pub(crate) values: Map<String, Value>,
}

/// The choice of `grid` that `setting` names, alone or behind `external/NAME`, and the agent that does its sessions; the default has no name
/// there, so that no two cells are the same.
pub(crate) fn chosen<'g>(grid: &'g [Choice], setting: &Setting) -> Option<(&'g Choice, Option<AgentName>)> {
    let named = |name: &str| grid.iter().find(|choice| choice.setting.as_str() == name);
    let default = grid.first()?;
    Some(match delegated::named(setting) {
        None => (named(setting.as_str())?, None),
        Some((agent, None)) => (default, Some(agent)),
        Some((agent, Some(name))) => (named(name).filter(|choice| choice.setting != default.setting)?, Some(agent)),
    })
}

/// All settings, the default first.
///
/// # Errors
/// When there are too many, or an axis has no values or a value twice.
pub(crate) fn grid(source: &Source, settings: &Named<Vec<AxisValue>>) -> Result<Vec<Choice>, DataError> {
    let mut grid = vec![(Vec::new(), Map::new())];
    for (axis, values) in settings.iter() {
        let path = format!("settings.{axis}");
        check_axis(axis).map_err(|problem| source.problem(&path, problem))?;
        if values.is_empty() {
            return Err(source.problem(&path, "has no values; write at least one"));
        }
        if let Some(at) =
            (1..values.len()).find(|at| values[..*at].iter().any(|one| one.to_string() == values[*at].to_string()))
        {
            return Err(source.problem(&format!("{path}[{at}]"), format!("{} is there twice", values[at])));
        }
        if grid.len() * values.len() > SETTINGS_MAX {
            return Err(
                source.problem(&path, format!("makes more than {SETTINGS_MAX} settings; leave out some values"))
            );
        }
        let with = |(parts, fields): &(Vec<String>, Map<String, Value>), value: &AxisValue| {
            let (mut parts, mut fields) = (parts.clone(), fields.clone());
            parts.push(format!("{axis}={value}"));
            fields.insert(axis.to_string(), value.value().clone());
            (parts, fields)
        };
        grid = grid.iter().flat_map(|so_far| values.iter().map(move |value| with(so_far, value))).collect();
    }
    grid.into_iter()
        .map(|(parts, values)| {
            let name = if parts.is_empty() { ONLY.to_owned() } else { parts.join("/") };
            let setting = name.parse().map_err(|error| source.problem("settings", format!("{name}: {error}")))?;
            Ok(Choice { setting, values })
        })
        .collect()
}
