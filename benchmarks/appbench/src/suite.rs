//! The loaded data set behind the one interface of all benchmarks.

use std::collections::HashMap;
use std::sync::Arc;

use regatta_benchmarks::{
    CellResult, DataError, Dataset, Drawing, Evaluation, Item, Metric, PaperTable, Persona, Picture, Pictures,
    Predictions, Score, Scores, Scoring, SelectError, Sessions, Simulated, Step, Table, Tables, ToolAnswer,
    ToolRequest, Verdicts,
};
use regatta_proto::{ChatRequest, ChatRole, Evaluator, ItemIndex, Reply, Role, SessionSeed, Setting, Transcript};

use super::data::{Data, Entry};
use super::setting::{Mode, Route, SessionMode};
use super::simulate::{self, Asked};
use super::stepwise::Toolbox;
use super::{case, items, phone_server, scoring, session, tables};

/// The loaded data set.
#[derive(Debug)]
pub(super) struct Loaded {
    data: Data,
    items: Vec<Item>,
    toolbox: Toolbox,
    /// The first item with each instruction.
    by_input: HashMap<Arc<str>, ItemIndex>,
}

impl Loaded {
    pub(super) fn new(data: Data) -> Self {
        let mut by_input = HashMap::new();
        for (index, entry) in (0..).zip(&data.entries) {
            by_input.entry(Arc::clone(&entry.input)).or_insert(ItemIndex(index));
        }
        Self { items: items::items(&data), toolbox: Toolbox::of(&data.phone), by_input, data }
    }

    fn entry(&self, item: ItemIndex) -> Option<&Entry> {
        self.data.entries.get(usize::try_from(item.0).ok()?)
    }

    fn scored(
        &self,
        item: ItemIndex,
        setting: Option<&Setting>,
        evaluators: &[Evaluator],
        transcript: &Transcript,
    ) -> Scoring {
        let Some(entry) = self.entry(item) else { return Scoring::not_selected(item) };
        Scoring::Scored(scoring::score((&self.data, &self.toolbox), entry, setting, evaluators, transcript))
    }
}

impl Dataset for Loaded {
    fn items(&self) -> &[Item] {
        &self.items
    }

    fn select(&self, setting: &Setting, tasks: &[String], limit: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        items::select(&self.data, setting, tasks, limit)
    }

    fn parts(&self, item: ItemIndex) -> Vec<Arc<str>> {
        self.entry(item).map(items::parts).unwrap_or_default()
    }
}

impl Sessions for Loaded {
    fn next(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Step {
        let (Some(entry), Some(SessionMode { mode, agent })) = (self.entry(item), SessionMode::of(setting)) else {
            return Step::not_selected(item, setting);
        };
        match agent {
            Some(agent) => session::next_by_agent((&self.data, &self.toolbox), entry, mode, &agent, transcript),
            None => session::next(&self.data, &self.toolbox, entry, mode, transcript),
        }
    }

    /// The phone, where the external agent of a session may call it.
    fn serve(&self, item: ItemIndex, setting: &Setting, request: &ToolRequest) -> ToolAnswer {
        match (self.entry(item), SessionMode::of(setting)) {
            (Some(entry), Some(SessionMode { mode: Mode { route: Route::Tools, .. }, agent: Some(_) })) => {
                phone_server::serve(&self.data, &self.toolbox, entry, request)
            }
            _ => ToolAnswer::not_found(),
        }
    }
}

impl Evaluation for Loaded {
    fn score_session(
        &self,
        item: ItemIndex,
        setting: &Setting,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        _verdicts: &dyn Verdicts,
    ) -> Scoring {
        self.scored(item, Some(setting), evaluators, transcript)
    }

    fn score(
        &self,
        item: ItemIndex,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        _verdicts: &dyn Verdicts,
    ) -> Scoring {
        self.scored(item, None, evaluators, transcript)
    }

    fn score_failure(&self, item: ItemIndex, evaluators: &[Evaluator]) -> Scores {
        self.entry(item).map_or_else(Scores::new, |entry| scoring::score_failure(&self.data, entry, evaluators))
    }

    fn is_invalid_format(&self, _item: ItemIndex, setting: &Setting, transcript: &Transcript) -> bool {
        scoring::is_invalid_format(&self.data, setting, transcript)
    }

    fn is_judged(&self, _evaluator: Evaluator, _value: &str) -> bool {
        false
    }
}

impl Tables for Loaded {
    fn tabulate(&self, evaluator: Evaluator, trials: &[Vec<(ItemIndex, &Score)>]) -> Table {
        let known = trials.iter().flatten().filter_map(|(item, score)| Some((self.entry(*item)?, *score)));
        Table { aggregate: scoring::aggregate(evaluator, known), columns: Vec::new() }
    }

    fn aggregate_range(&self, _evaluator: Evaluator, pointer: &str) -> Option<(f64, f64)> {
        tables::aggregate_range(pointer)
    }

    fn metrics(&self, setting: &Setting, evaluator: Evaluator) -> Vec<Metric> {
        tables::metrics(setting, evaluator)
    }

    fn paper_tables(&self, evaluator: Evaluator, cells: &[CellResult<'_>]) -> Vec<PaperTable> {
        tables::paper_tables(evaluator, &self.data, cells)
    }
}

impl Predictions for Loaded {
    fn read_predictions(&self, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
        case::read_predictions(&self.data, file, content)
    }
}

impl Simulated for Loaded {
    fn simulate(
        &self,
        item: ItemIndex,
        setting: &Setting,
        _role: Role,
        persona: Persona,
        seed: SessionSeed,
        request: &ChatRequest,
    ) -> Reply {
        let Some(entry) = self.entry(item) else { return Reply::said("") };
        if Mode::of(setting).is_some_and(|mode| mode.route == Route::Tools) || !request.tools.is_empty() {
            return simulate::step(entry, persona, seed, request);
        }
        let asked = if session::is_selection(&self.data, request) { Asked::Apps } else { Asked::Plan };
        let phone: Vec<Arc<str>> = self.data.phone.apps().iter().map(|app| Arc::clone(&app.name)).collect();
        let gold = simulate::Gold { apps: &entry.gold.used_app, calls: &entry.gold.api_results, phone: &phone };
        Reply::said(simulate::reply(gold, asked, persona, seed))
    }

    fn recognise(&self, request: &ChatRequest) -> Option<ItemIndex> {
        // Examples come before the instruction, calls of tools after it.
        let mut said = request.messages.iter().rev();
        let instruction = said.find(|message| message.role == ChatRole::User)?;
        self.by_input.get(&instruction.content).copied()
    }
}

impl Pictures for Loaded {
    fn drawings(
        &self,
        item: ItemIndex,
        setting: &Setting,
        _evaluators: &[Evaluator],
        transcript: &Transcript,
        _verdicts: &dyn Verdicts,
    ) -> Vec<Drawing> {
        self.entry(item).map(|entry| scoring::drawings(&self.data, entry, setting, transcript)).unwrap_or_default()
    }

    fn pictures(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Vec<Picture> {
        let served = (&self.data, &self.toolbox);
        let entry = self.entry(item);
        entry.map(|entry| scoring::pictures(served, entry, setting, transcript)).unwrap_or_default()
    }
}
