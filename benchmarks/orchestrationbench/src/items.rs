//! Items of the pipeline, steps of scenarios and whole scenarios, and the selection for a cell.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use regatta_benchmarks::{DataError, Item, SelectError, check_tasks};
use regatta_proto::{ItemId, ItemIndex, Setting};

use super::data::{Data, Language, Scenario};
use super::setting::{Mode, SessionMode};

/// Part of the data set that stands for the orchestrator, beside those of the sub agents.
pub(crate) const ORCHESTRATOR: &str = "orchestrator";

/// Position of an item in the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A step at which a model is asked: position of its scenario, and step.
    Step(usize, u32),
    /// The scenario at this position.
    Scenario(usize),
}

impl Place {
    /// Position of the scenario.
    pub(crate) const fn scenario(self) -> usize {
        match self {
            Self::Step(scenario, _) | Self::Scenario(scenario) => scenario,
        }
    }

    /// Returns the step, if the item is one.
    pub(crate) const fn step(self) -> Option<u32> {
        match self {
            Self::Step(_, step) => Some(step),
            Self::Scenario(_) => None,
        }
    }

    /// Returns the mode in which the item is run.
    pub(crate) const fn mode(self) -> Mode {
        match self {
            Self::Step(..) => Mode::Stepwise,
            Self::Scenario(_) => Mode::EndToEnd,
        }
    }
}

/// The items of a data set with their positions in the data.
#[derive(Debug)]
pub(crate) struct Items {
    /// Items in the form of the pipeline.
    pub(crate) items: Vec<Item>,
    places: Vec<Place>,
    positions: HashMap<PlaceKey, ItemIndex>,
}

/// A place as a key.
type PlaceKey = (usize, Option<u32>);

const fn key(place: Place) -> PlaceKey {
    match place {
        Place::Step(scenario, step) => (scenario, Some(step)),
        Place::Scenario(scenario) => (scenario, None),
    }
}

impl Items {
    /// Lists every step of every scenario, such as `EN/1/3`, then every scenario, such as `EN/1`. The steps of a
    /// scenario form one group, because they are not independent.
    ///
    /// # Errors
    /// When a scenario's name cannot be part of an id.
    pub(crate) fn of(data: &Data) -> Result<Self, DataError> {
        let (mut items, mut places) = (Vec::new(), Vec::new());
        for (position, scenario) in data.scenarios.iter().enumerate() {
            for step in asked_steps(scenario) {
                items.push(item(scenario, &format!("{}/{step}", scenario.name()))?);
                places.push(Place::Step(position, step));
            }
        }
        for (position, scenario) in data.scenarios.iter().enumerate() {
            items.push(item(scenario, &scenario.name())?);
            places.push(Place::Scenario(position));
        }
        let positions = (0..).zip(&places).map(|(index, place)| (key(*place), ItemIndex(index))).collect();
        Ok(Self { items, places, positions })
    }

    /// Returns the position of an item in the data.
    pub(crate) fn place(&self, item: ItemIndex) -> Option<Place> {
        self.places.get(usize::try_from(item.0).ok()?).copied()
    }

    /// Finds the item at a position in the data.
    pub(crate) fn position(&self, place: Place) -> Option<ItemIndex> {
        self.positions.get(&key(place)).copied()
    }

    /// Selects the items of `setting` and `tasks` (all when empty) in ascending order, from the first `limit`
    /// scenarios of each task. A limit in steps would cut scenarios, and mean different data in each setting.
    ///
    /// # Errors
    /// When the setting or a task is unknown.
    pub(crate) fn select(
        &self,
        setting: &Setting,
        tasks: &[String],
        limit: Option<u32>,
    ) -> Result<Vec<ItemIndex>, SelectError> {
        let SessionMode { mode, .. } = SessionMode::known(setting)?;
        check_tasks(tasks, Language::ALL.map(Language::name))?;
        let mut taken: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        let mut chosen = Vec::new();
        for (index, (item, place)) in (0..).zip(self.items.iter().zip(&self.places)) {
            let is_wanted = tasks.is_empty() || tasks.iter().any(|task| **task == *item.task);
            if place.mode() != mode || !is_wanted {
                continue;
            }
            let scenarios = taken.entry(&item.task).or_default();
            let is_full = limit.is_some_and(|limit| scenarios.len() as u64 >= u64::from(limit));
            if !is_full || scenarios.contains(&place.scenario()) {
                scenarios.insert(place.scenario());
                chosen.push(ItemIndex(index));
            }
        }
        Ok(chosen)
    }
}

fn item(scenario: &Scenario, id: &str) -> Result<Item, DataError> {
    let language = scenario.language.name();
    let id = ItemId::new(id).map_err(|error| DataError::Malformed {
        origin: "orchestrationbench".to_owned(),
        path: format!("{language}/scenario_data/{}.yaml", scenario.id),
        place: "file name".to_owned(),
        problem: error.to_string(),
    })?;
    Ok(Item { id, task: language.into(), group: Some(scenario.name().into()) })
}

/// Returns the steps at which a model is asked, ascending.
pub(crate) fn asked_steps(scenario: &Scenario) -> Vec<u32> {
    let decisions = scenario.decisions.iter().filter(|decision| decision.is_asked).map(|decision| decision.step);
    let mut steps: Vec<u32> = scenario.planning.iter().copied().chain(decisions).collect();
    steps.sort_unstable();
    steps
}

/// Returns the part of the data set that `place` belongs to: the agent whose step it is.
pub(crate) fn parts(data: &Data, place: Place) -> Vec<Arc<str>> {
    let Place::Step(position, step) = place else { return Vec::new() };
    let Some(scenario) = data.scenarios.get(position) else { return Vec::new() };
    let agent = scenario.decision(step).map(|decision| Arc::clone(&decision.agent));
    vec![agent.unwrap_or_else(|| ORCHESTRATOR.into())]
}
