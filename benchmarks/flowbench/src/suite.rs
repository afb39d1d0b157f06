//! The loaded data set behind the interface of all benchmarks.

use std::sync::Arc;

use regatta_benchmarks::{
    CellResult, DataError, Dataset, Evaluation, Item, Metric, PaperTable, Persona, Picture, Pictures, Predictions,
    RatedScore, Score, Scores, Scoring, SelectError, Sessions, Simulated, Step, Table, Tables, Verdicts, delegated,
};
use regatta_proto::{ChatRequest, Evaluator, ItemIndex, Reply, Role, SessionSeed, Setting, Transcript};

use super::by_agent::written;
use super::data::{Data, Entry};
use super::prompts::{OfficialJudges, OfficialSimulators};
use super::setting::{Level, SessionMode};
use super::{extraction, items, pictures, predictions, recognise, scoring, session, simulate, tables};

/// The loaded data set.
#[derive(Debug)]
pub(super) struct Loaded {
    data: Data,
    items: Vec<Item>,
}

impl Loaded {
    pub(super) fn new(data: Data) -> Self {
        let items = items::items(&data);
        Self { data, items }
    }

    fn simulators(&self) -> Option<&OfficialSimulators> {
        self.data.official.as_ref().map(|official| &official.simulators)
    }

    fn judges(&self) -> Option<&OfficialJudges> {
        self.data.official.as_ref().map(|official| &official.judges)
    }

    fn entries<'s>(&self, scores: &[(ItemIndex, &'s Score)]) -> Vec<(&Entry, &'s Score)> {
        scores.iter().filter_map(|(item, score)| Some((self.data.entry(*item)?, *score))).collect()
    }
}

impl Dataset for Loaded {
    fn items(&self) -> &[Item] {
        &self.items
    }

    fn unpacked_bytes(&self) -> u64 {
        self.data.unpacked_bytes
    }

    fn select(&self, setting: &Setting, tasks: &[String], limit: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        items::select(&self.data, setting, tasks, limit)
    }

    fn parts(&self, item: ItemIndex) -> Vec<Arc<str>> {
        self.data.entry(item).map(|entry| entry.group.domain.clone()).into_iter().collect()
    }
}

impl Sessions for Loaded {
    fn roles(&self, setting: &Setting) -> Vec<Role> {
        match SessionMode::of(setting).map(|named| named.mode.level) {
            Some(Level::Session) => vec![Role::Agent, Role::User, Role::Environment],
            Some(Level::Turn) | None => vec![Role::Agent],
        }
    }

    fn next(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Step {
        let (Some(entry), Some(SessionMode { mode, agent })) = (self.data.entry(item), SessionMode::of(setting)) else {
            return Step::not_selected(item, setting);
        };
        match agent {
            Some(agent) => {
                session::next_by_agent((entry, items::task(entry)), self.simulators(), mode, &agent, transcript)
            }
            None => session::next(entry, self.simulators(), mode, transcript),
        }
    }
}

impl Evaluation for Loaded {
    fn score(
        &self,
        item: ItemIndex,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Scoring {
        match self.data.entry(item) {
            Some(entry) => scoring::score(entry, self.judges(), evaluators, transcript, verdicts),
            None => Scoring::not_selected(item),
        }
    }

    fn score_failure(&self, item: ItemIndex, evaluators: &[Evaluator]) -> Scores {
        self.data.entry(item).map_or_else(Scores::new, |entry| scoring::score_failure(entry, evaluators))
    }

    /// A reply is invalid if it begins a call that cannot be parsed: it names no action, or its input never ends.
    fn is_invalid_format(&self, item: ItemIndex, _setting: &Setting, transcript: &Transcript) -> bool {
        if delegated::was_started(transcript) {
            return match self.data.entry(item).map(Entry::level) {
                Some(Level::Session) => delegated::turns(transcript)
                    .iter()
                    .filter(|turn| turn.is_of_agent())
                    .any(|turn| written(&turn.reply).as_deref().is_some_and(extraction::is_unreadable_call)),
                Some(Level::Turn) | None => {
                    delegated::answer(transcript).as_deref().is_some_and(extraction::is_unreadable_call)
                }
            };
        }
        let texts = transcript.replies(Role::Agent).filter_map(|reply| reply.text.as_deref());
        texts.into_iter().any(extraction::is_unreadable_call)
    }

    fn is_judged(&self, _evaluator: Evaluator, value: &str) -> bool {
        scoring::is_judged(value)
    }
}

impl Tables for Loaded {
    fn tabulate(&self, evaluator: Evaluator, trials: &[Vec<(ItemIndex, &Score)>]) -> Table {
        Table { aggregate: scoring::aggregate(evaluator, &self.entries(&trials.concat())), columns: Vec::new() }
    }

    fn aggregate_range(&self, _evaluator: Evaluator, pointer: &str) -> Option<(f64, f64)> {
        tables::aggregate_range(pointer)
    }

    fn metrics(&self, setting: &Setting, evaluator: Evaluator) -> Vec<Metric> {
        SessionMode::of(setting).map(|named| tables::metrics(named.mode, evaluator)).unwrap_or_default()
    }

    fn paper_tables(&self, evaluator: Evaluator, cells: &[CellResult<'_>]) -> Vec<PaperTable> {
        tables::paper_tables(evaluator, self.data.is_synthetic(), cells)
    }
}

impl Predictions for Loaded {
    fn read_predictions(&self, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
        predictions::read(&self.data, file, content)
    }
}

impl Simulated for Loaded {
    fn simulate(
        &self,
        item: ItemIndex,
        _setting: &Setting,
        role: Role,
        persona: Persona,
        seed: SessionSeed,
        request: &ChatRequest,
    ) -> Reply {
        let entry = self.data.entry(item);
        Reply::said(
            entry.map(|entry| simulate::reply(entry, self.judges(), role, persona, seed, request)).unwrap_or_default(),
        )
    }

    fn recognise(&self, request: &ChatRequest) -> Option<ItemIndex> {
        recognise::turn(&self.data, request)
    }

    fn simulate_judge(&self, prompt: &str, persona: Persona, seed: SessionSeed) -> Option<String> {
        simulate::judge_reply(prompt, self.judges(), persona, seed)
    }
}

impl Pictures for Loaded {
    fn pictures(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Vec<Picture> {
        match (self.data.entry(item), SessionMode::of(setting)) {
            (Some(entry), Some(SessionMode { mode, .. })) => pictures::pictures(entry, mode, transcript),
            _ => Vec::new(),
        }
    }

    /// The judge counts the goals of a conversation; replies to single turns have other scores.
    fn rated_score(&self, setting: &Setting) -> Option<RatedScore> {
        match SessionMode::of(setting)?.mode.level {
            Level::Session => Some(RatedScore {
                name: tables::name::PROGRESS,
                meaning: "share of the user's goals that were reached",
                range: (0.0, 1.0),
            }),
            Level::Turn => None,
        }
    }
}
