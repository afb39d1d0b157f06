//! The lock: a spec in which everything is resolved that results depend on.

use std::collections::{BTreeMap, BTreeSet};

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de};

use crate::{
    AgentName, Audit, BenchmarkName, CacheMode, CellIndex, Decide, Digest, EndpointName, EndpointSpec, Evaluator,
    ExternalAgent, Filtered, ItemId, Judge, Level, Limit, MemberName, ModelRef, ModelSpec, Price, PriceSource, Role,
    RoleModels, SessionSeed, Setting, Share, SweepId, Trial, check_yaml,
};

/// Most cells of a sweep. All of them are in memory wherever it is planned, run or looked at.
pub const CELLS_MAX: u64 = 50_000;

/// Resolved settings of one benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct BenchmarkLock {
    /// Digest of the data set's snapshot.
    pub dataset: Digest,
    /// Settings to run.
    pub settings: Vec<Setting>,
    /// Tasks to run; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// Ids of the items to run, in ascending order; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<ItemId>,
    /// Number of items of each task, if only the first ones are run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Total number of items, if a sample is run, drawn by the sweep's seed with the weights of the tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<u32>,
    /// Number of items that are asked whatever the selection, and that the response cache never answers, drawn as a sample of this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canaries: Option<u32>,
    /// Scoring rules.
    pub evaluators: Vec<Evaluator>,
    /// Models of the roles other than the agent's, with the price that will be charged.
    #[serde(default, skip_serializing_if = "RoleModels::is_empty")]
    pub roles: RoleModels,
    /// Models for members of a team, by cast, with the price that will be charged.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub casts: BTreeMap<String, BTreeMap<MemberName, ModelSpec>>,
    /// The judge that answers questions; members of a panel with the price that will be charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<Judge>,
    /// Price of a single judge; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_price: Option<Price>,
    /// A second judge of a random part of the items, with the price that will be charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
    /// Number of selected items of each setting, for people and as a check by workers.
    pub items: BTreeMap<Setting, u32>,
}

impl BenchmarkLock {
    /// The part of the items that is run; `None` for all.
    #[must_use]
    pub fn restriction(&self) -> Option<Limit> {
        self.sample.map(Limit::Sample).or(self.limit.map(Limit::First))
    }

    /// The judge, and the judge of its audit.
    pub fn judges(&self) -> impl Iterator<Item = &Judge> {
        self.judge.iter().chain(self.audit.iter().map(|audit| &audit.judge))
    }

    /// Models that take part in its sessions besides the model under test: those of other roles, and members of teams.
    pub fn players(&self) -> impl Iterator<Item = &ModelSpec> {
        self.roles.iter().map(|(_, model)| model).chain(self.casts.values().flat_map(BTreeMap::values))
    }

    /// The model that plays `member` in sessions of `setting`, if the cast names another one than the model under test.
    #[must_use]
    pub fn member(&self, setting: &Setting, member: &MemberName) -> Option<&ModelSpec> {
        self.casts.get(setting.cast()?)?.get(member)
    }
}

/// The question of a sweep that stops when it is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct DecideLock {
    /// The question as the spec has it.
    pub asked: Decide,
    /// Trials that every item gets before any item gets more.
    pub first_trials: u16,
    /// Number of the rules by which the rounds are played: whatever version goes on with the sweep keeps to them.
    #[serde(default = "first_rules", skip_serializing_if = "is_first_rules")]
    pub rules: u32,
}

/// Rules of locks that name none.
const fn first_rules() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_first_rules(rules: &u32) -> bool {
    *rules == first_rules()
}

/// The resolved spec with data set digests, prices, versions and seeds. Its digest identifies the sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SweepLock {
    /// Version of this document.
    pub v: u32,
    /// Version of Regatta that planned the sweep.
    pub regatta: String,
    /// Name of the sweep.
    pub name: SweepId,
    /// Number of sweeps with the same spec that were removed before this one. It tells their ids apart, because the processes of a deployment
    /// remember of an id which of its jobs are void and what was spent for it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub removed_before: u32,
    /// Seed that all others derive from.
    pub seed: u64,
    /// Repetitions of every cell.
    pub trials: u16,
    /// Least part of the sessions, 0 to 1, that must have a score for a value to be shown among results.
    #[serde(default = "crate::spec::coverage_min", skip_serializing_if = "crate::spec::is_usual_coverage_min")]
    pub coverage_min: f64,
    /// Probability with which every interval covers its true value.
    #[serde(default, skip_serializing_if = "Level::is_usual")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub level: Level,
    /// Budget in dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
    /// The sweep's share of endpoints that other sweeps use at the same time.
    #[serde(default, skip_serializing_if = "Share::is_default")]
    pub share: Share,
    /// Use of the response cache.
    #[serde(default, skip_serializing_if = "CacheMode::is_off")]
    pub cache: CacheMode,
    /// Outcome of sessions that a provider's filter, or a model's own refusal, ended.
    #[serde(default, skip_serializing_if = "Filtered::is_wrong")]
    pub filtered: Filtered,
    /// The question to answer, and the trials that every item gets before any item gets more; `trials` is the maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decide: Option<DecideLock>,
    /// Benchmarks.
    pub benchmarks: BTreeMap<BenchmarkName, BenchmarkLock>,
    /// Endpoints. Contains names of secrets, never secrets.
    pub endpoints: BTreeMap<EndpointName, EndpointSpec>,
    /// External agents.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<AgentName, ExternalAgent>,
    /// Models, with the price that will be charged.
    pub models: Vec<ModelSpec>,
    /// Source of each model's price, in the order of `models`.
    pub price_sources: Vec<PriceSource>,
}

/// One point of the grid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Cell {
    /// Position in the grid.
    pub index: CellIndex,
    /// Benchmark.
    pub benchmark: BenchmarkName,
    /// Setting of the benchmark.
    pub setting: Setting,
    /// Model under test.
    pub model: ModelRef,
    /// Number of the repetition.
    pub trial: Trial,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl SweepLock {
    /// Version that this build writes.
    pub const VERSION: u32 = 2;
    /// Oldest version that this build reads and continues. Its grid had another order, and its seeds depended on the model.
    pub const OLDEST_READ: u32 = 1;

    /// The grid: models × benchmarks × settings × trials, in the order of the spec (benchmarks by name). Models come first, so that cells
    /// keep their numbers when a model is appended.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        let settings: Vec<(&BenchmarkName, &Setting)> = self
            .benchmarks
            .iter()
            .flat_map(|(benchmark, locked)| locked.settings.iter().map(move |setting| (benchmark, setting)))
            .collect();
        let grid: Vec<(&ModelSpec, (&BenchmarkName, &Setting))> = match self.v {
            Self::OLDEST_READ => {
                settings.iter().flat_map(|setting| self.models.iter().map(move |model| (model, *setting))).collect()
            }
            _ => self.models.iter().flat_map(|model| settings.iter().map(move |setting| (model, *setting))).collect(),
        };
        let trials = grid.into_iter().flat_map(|place| (0..self.trials).map(move |trial| (place, Trial(trial))));
        let cell = |(index, ((model, (benchmark, setting)), trial)): (u32, ((&ModelSpec, _), Trial))| {
            let (benchmark, setting): (&BenchmarkName, &Setting) = (benchmark, setting);
            Cell {
                index: CellIndex(index),
                benchmark: benchmark.clone(),
                setting: setting.clone(),
                model: model.id.clone(),
                trial,
            }
        };
        (0..).zip(trials).map(cell).collect()
    }

    /// Sort key of `cell` for results and dispatching: benchmark and setting, then model. All models of one setting are adjacent, and when
    /// a budget runs out, no model is left without results.
    #[must_use]
    pub fn place(&self, cell: &Cell) -> (usize, usize, usize, Trial) {
        let benchmark = self.benchmarks.keys().position(|name| *name == cell.benchmark);
        let settings = self.benchmarks.get(&cell.benchmark).map(|locked| &locked.settings);
        let setting = settings.and_then(|settings| settings.iter().position(|name| *name == cell.setting));
        let model = self.models.iter().position(|model| model.id == cell.model);
        let last = usize::MAX;
        (benchmark.unwrap_or(last), setting.unwrap_or(last), model.unwrap_or(last), cell.trial)
    }

    /// The model with this id; `None` if it is not under test.
    #[must_use]
    pub fn model(&self, id: &ModelRef) -> Option<&ModelSpec> {
        self.models.iter().find(|model| model.id == *id)
    }

    /// The model that plays `role` in sessions of `cell`; `None` for judges, which take part in none.
    #[must_use]
    pub fn player(&self, cell: &Cell, role: Role) -> Option<&ModelSpec> {
        match role {
            Role::Agent => self.model(&cell.model),
            role => self.benchmarks.get(&cell.benchmark)?.roles.get(role),
        }
    }

    /// The judge with this reference, with its parameters and its price.
    #[must_use]
    pub fn judge(&self, judge: &ModelRef) -> Option<ModelSpec> {
        self.benchmarks.values().find_map(|benchmark| {
            if let Some(mut member) = benchmark.judge.as_ref().and_then(|judges| judges.member(judge)) {
                member.price = member.price.or_else(|| benchmark.judge_price.clone());
                return Some(member);
            }
            benchmark.audit.as_ref()?.judge.member(judge)
        })
    }

    /// All endpoints that serve models under test, models of other roles, or judges.
    #[must_use]
    pub fn used_endpoints(&self) -> BTreeSet<&EndpointName> {
        let mut used: BTreeSet<&EndpointName> = self.models.iter().map(|model| &model.id.endpoint).collect();
        for benchmark in self.benchmarks.values() {
            used.extend(benchmark.players().map(|model| &model.id.endpoint));
            used.extend(benchmark.judges().flat_map(Judge::ids).map(|judge| &judge.endpoint));
        }
        used
    }

    /// Further endpoints that sessions at `endpoint` need, by name.
    #[must_use]
    pub fn needed_beside(&self, endpoint: &EndpointName) -> Vec<EndpointName> {
        if !self.models.iter().any(|model| model.id.endpoint == *endpoint) {
            return Vec::new();
        }
        let players = self.benchmarks.values().flat_map(BenchmarkLock::players);
        let needed: BTreeSet<EndpointName> = players.map(|model| model.id.endpoint.clone()).collect();
        needed.into_iter().filter(|name| name != endpoint).collect()
    }

    /// Seed of the session of `item` in `cell`.
    #[must_use]
    pub fn session_seed(&self, cell: &Cell, item: &ItemId) -> SessionSeed {
        let model = (self.v == Self::OLDEST_READ).then_some(&cell.model);
        SessionSeed::derive(self.seed, &cell.benchmark, &cell.setting, model, cell.trial, item)
    }

    /// Canonical bytes of the lock, which are stored in Blobs and from which the digest is computed.
    ///
    /// # Errors
    /// When it contains a number that is not finite.
    pub fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    /// Parses the output of [`Self::to_bytes`].
    ///
    /// # Errors
    /// When the bytes are not the JSON of a lock, or it has more than [`CELLS_MAX`] cells.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice::<Self>(bytes)?.within_bounds()
    }

    /// The lock as YAML for people, `sweep.lock.yaml`.
    ///
    /// # Errors
    /// When it contains a number that is not finite.
    pub fn to_yaml(&self) -> Result<String, serde_yaml_ng::Error> {
        serde_yaml_ng::to_string(self)
    }

    /// Parses the output of [`Self::to_yaml`].
    ///
    /// # Errors
    /// With line and column, when the text is not the YAML of a lock; when it has more than [`CELLS_MAX`] cells.
    pub fn from_yaml(text: &str) -> Result<Self, serde_yaml_ng::Error> {
        check_yaml(text).map_err(<serde_yaml_ng::Error as de::Error>::custom)?;
        serde_yaml_ng::from_str::<Self>(text)?.within_bounds()
    }

    /// Refuses what nobody plans: a lock of a few lines, which somebody hands on, may have a grid that no memory holds.
    fn within_bounds<E: de::Error>(self) -> Result<Self, E> {
        let settings: u64 = self.benchmarks.values().map(|benchmark| benchmark.settings.len() as u64).sum();
        let cells = settings.saturating_mul(self.models.len() as u64).saturating_mul(u64::from(self.trials));
        if cells > CELLS_MAX {
            return Err(E::custom(format!("it has {cells} cells, at most {CELLS_MAX} are allowed")));
        }
        Ok(self)
    }

    /// The sweep's id: its name and the first digits of the lock's digest.
    ///
    /// # Errors
    /// When the name is too long for the digits to be added.
    pub fn sweep_id(&self, digest: &Digest) -> Result<SweepId, crate::IdError> {
        SweepId::new(format!("{}-{}", self.name, digest.short()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(v: u32, models: &[&str]) -> SweepLock {
        let digest = crate::Digest::of(b"data").to_string();
        let benchmark = serde_json::json!({
            "dataset": digest, "settings": ["one", "two"], "evaluators": ["official"], "items": {"one": 1, "two": 1},
        });
        let lock = serde_json::json!({
            "v": v, "regatta": "0", "name": "s", "seed": 1, "trials": 1, "benchmarks": {"b": benchmark},
            "endpoints": {}, "models": models.iter().map(|id| serde_json::json!({"id": id})).collect::<Vec<_>>(), "price_sources": [],
        });
        serde_json::from_value(lock).unwrap()
    }

    fn grid(lock: &SweepLock) -> Vec<String> {
        lock.cells().iter().map(|cell| format!("{} {} {}", cell.index.0, cell.setting, cell.model)).collect()
    }

    #[test]
    fn a_question_of_a_lock_that_names_no_rules_has_the_first_and_keeps_its_bytes() {
        let old = serde_json::json!({ "asked": { "question": "best", "margin": "2pp" }, "first_trials": 1 });
        let read: DecideLock = serde_json::from_value(old).unwrap();
        assert_eq!(read.rules, 1);
        assert!(serde_json::to_value(&read).unwrap().get("rules").is_none());
        let now = DecideLock { rules: 2, ..read };
        assert_eq!(serde_json::to_value(&now).unwrap()["rules"], 2);
    }

    #[test]
    fn a_lock_whose_grid_no_memory_holds_is_refused_before_it_is_laid_out() {
        let with = |trials| SweepLock { trials, ..lock(2, &["e/a"]) };
        let most = with(25_000);
        assert_eq!(SweepLock::from_bytes(&most.to_bytes().unwrap()).unwrap(), most);
        let beyond = with(25_001);
        let told = "it has 50002 cells, at most 50000 are allowed";
        assert_eq!(SweepLock::from_bytes(&beyond.to_bytes().unwrap()).unwrap_err().to_string(), told);
        assert_eq!(SweepLock::from_yaml(&beyond.to_yaml().unwrap()).unwrap_err().to_string(), told);
    }

    #[test]
    fn cells_keep_their_numbers_when_a_model_is_appended() {
        let (few, many) = (grid(&lock(2, &["e/a", "e/b"])), grid(&lock(2, &["e/a", "e/b", "e/c"])));
        assert_eq!(few, ["0 one e/a", "1 two e/a", "2 one e/b", "3 two e/b"]);
        assert_eq!(few, many[..few.len()]);
    }

    #[test]
    fn a_session_has_the_same_seed_whichever_model_has_it() {
        let lock = lock(2, &["e/a", "f/b"]);
        let item = "tea".parse().unwrap();
        let seeds = |setting: &str| -> Vec<SessionSeed> {
            let cells = lock.cells().into_iter().filter(|cell| cell.setting.to_string() == setting);
            cells.map(|cell| lock.session_seed(&cell, &item)).collect()
        };
        let (one, two) = (seeds("one"), seeds("two"));
        assert_eq!((one.len(), one[0] == one[1], two[0] == two[1]), (2, true, true));
        assert_ne!(one[0], two[0]);
    }

    #[test]
    fn the_grid_of_a_lock_of_the_first_version_stays_as_it_was() {
        assert_eq!(grid(&lock(1, &["e/a", "e/b"])), ["0 one e/a", "1 one e/b", "2 two e/a", "3 two e/b"]);
    }

    #[test]
    fn work_is_handed_out_and_results_are_shown_setting_by_setting() {
        let lock = lock(2, &["e/a", "e/b"]);
        let mut cells = lock.cells();
        cells.sort_by_key(|cell| lock.place(cell));
        assert_eq!(cells.iter().map(|cell| cell.index.0).collect::<Vec<_>>(), [0, 2, 1, 3]);
    }
}
