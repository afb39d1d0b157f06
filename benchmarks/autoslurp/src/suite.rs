//! The loaded data set behind the one interface of all benchmarks.

use std::collections::HashMap;
use std::sync::Arc;

use regatta_benchmarks::{
    CellResult, DataError, Dataset, Drawing, Evaluation, Item, Metric, NoVerdicts, PaperTable, Persona, Pictures,
    Predictions, Score, Scores, Scoring, SelectError, Sessions, Simulated, Step, Table, Tables, ToolAnswer,
    ToolRequest, Verdicts,
};
use regatta_proto::{
    ChatRequest, ChatRole, Evaluator, ItemIndex, MemberName, Question, Reply, Role, SessionSeed, Setting, Transcript,
};

use super::data::{Data, Utterance};
use super::policies;
use super::policy::Policy;
use super::run::Run;
use super::scoring::{self, Rule, rule};
use super::session::{self, Progress};
use super::setting::{self, Mode, Route, TODAY};
use super::simulate::{self, Gold};
use super::{case, delegated, items, members, official, servers, structured, tables};

/// The loaded data set.
#[derive(Debug)]
pub(super) struct Loaded {
    data: Data,
    items: Vec<Item>,
    /// File, row in it and item, in the order of the items.
    places: Vec<(setting::Dataset, u32)>,
    /// The first item with each text.
    by_text: HashMap<String, ItemIndex>,
}

impl Loaded {
    pub(super) fn new(data: Data) -> Self {
        let mut by_text = HashMap::new();
        let mut places = Vec::new();
        for (index, (dataset, row, utterance)) in (0..).zip(data.all()) {
            by_text.entry(utterance.text.clone()).or_insert(ItemIndex(index));
            places.push((dataset, row));
        }
        Self { items: items::items(&data), places, by_text, data }
    }

    fn place(&self, item: ItemIndex) -> Option<(setting::Dataset, u32)> {
        self.places.get(usize::try_from(item.0).ok()?).copied()
    }

    fn utterance(&self, item: ItemIndex) -> Option<&Utterance> {
        let (dataset, row) = self.place(item)?;
        self.data.rows(dataset)?.get(usize::try_from(row).ok()?)
    }

    fn name(&self, item: ItemIndex) -> &str {
        usize::try_from(item.0).ok().and_then(|index| self.items.get(index)).map_or("", |item| item.id.as_str())
    }

    /// `trial` as the csv files that the official code would have been given: its items counted from 0, those of each further file from
    /// the next hundred, because each hundred is a run of that code.
    fn numbered<'s>(&self, trial: &[(ItemIndex, &'s Score)]) -> Vec<(u32, &'s Score)> {
        let mut next = 0_u32;
        let mut file = None;
        let mut numbered = Vec::with_capacity(trial.len());
        for (item, score) in trial {
            let Some((dataset, _)) = self.place(*item) else { continue };
            if file.is_some_and(|before| before != dataset) {
                next = next.next_multiple_of(official::RUN_ITEMS);
            }
            file = Some(dataset);
            numbered.push((next, *score));
            next += 1;
        }
        numbered
    }

    /// Run of a finished session; an error when it has not ended, or its transcript does not fit.
    fn run(&self, utterance: &Utterance, transcript: &Transcript, mode: Option<&Mode>) -> Result<Run, String> {
        if let Some(run) = delegated::run(transcript) {
            return Ok(run);
        }
        let Some((mode, Route::Native(policy))) = mode.map(|mode| (mode, &mode.route)) else {
            return Err("the external agent has not ended".to_owned());
        };
        match session::progress(*policy, mode, utterance, transcript) {
            Progress::Over(run) => Ok(run),
            Progress::Asks(_) => Err("the session is not over".to_owned()),
            Progress::Unfit(why) => Err(why),
        }
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
        self.utterance(item).map(|utterance| vec![structured::part_of(utterance).into()]).unwrap_or_default()
    }
}

impl Sessions for Loaded {
    fn members(&self, setting: &Setting) -> Vec<MemberName> {
        let names = Mode::of(setting).map(|mode| match mode.route {
            Route::Native(policy) => policy.members(),
            Route::External(_) => members::ALL.as_slice(),
        });
        names.unwrap_or_default().iter().filter_map(|name| members::member(name)).collect()
    }

    fn next(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Step {
        match (self.utterance(item), Mode::of(setting)) {
            (Some(utterance), Some(mode)) => session::next(&mode, self.name(item), utterance, transcript),
            _ => Step::not_selected(item, setting),
        }
    }

    fn serve(&self, _item: ItemIndex, setting: &Setting, request: &ToolRequest) -> ToolAnswer {
        servers::answer(request, Mode::of(setting).map_or(TODAY, |mode| mode.today))
    }
}

impl Evaluation for Loaded {
    fn score_session(
        &self,
        item: ItemIndex,
        setting: &Setting,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Scoring {
        let Some(utterance) = self.utterance(item) else { return Scoring::not_selected(item) };
        let mode = Mode::of(setting);
        let today = mode.as_ref().map_or(TODAY, |mode| mode.today);
        match self.run(utterance, transcript, mode.as_ref()) {
            Ok(run) => scoring::score(self.name(item), utterance, today, &run, evaluators, verdicts),
            Err(why) => Scoring::Unfit(why),
        }
    }

    fn score(
        &self,
        item: ItemIndex,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Scoring {
        let Some(utterance) = self.utterance(item) else { return Scoring::not_selected(item) };
        let default = Mode::listed().into_iter().next();
        match self.run(utterance, transcript, default.as_ref()) {
            Ok(run) => scoring::score(self.name(item), utterance, TODAY, &run, evaluators, verdicts),
            Err(why) => Scoring::Unfit(why),
        }
    }

    /// A reply that its framework could make nothing of, or in which the intent agent named no intent.
    fn is_invalid_format(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> bool {
        let run = self.utterance(item).map(|utterance| self.run(utterance, transcript, Mode::of(setting).as_ref()));
        let Some(Ok(run)) = run else { return false };
        run.is_unreadable || run.intent_output.as_deref().is_some_and(structured::names_no_intent)
    }

    fn score_failure(&self, item: ItemIndex, evaluators: &[Evaluator]) -> Scores {
        self.utterance(item).map_or_else(Scores::new, |utterance| scoring::failure(utterance, evaluators))
    }

    fn is_judged(&self, evaluator: Evaluator, value: &str) -> bool {
        scoring::is_judged(evaluator, value)
    }

    fn example_question(&self, evaluators: &[Evaluator]) -> Option<Question> {
        let utterance = self.utterance(ItemIndex(0))?;
        // A log that passes every gate.
        let answer = servers::exchange("GET", "http://127.0.0.1:3000/alarm?intent=alarm_query", None, TODAY).response;
        let log = format!("domain:a,intent:alarm_query,\n\"intent\": \"alarm_query\",\n{answer}");
        let run = Run { log, ..Run::default() };
        match scoring::score(self.name(ItemIndex(0)), utterance, TODAY, &run, evaluators, &NoVerdicts) {
            Scoring::Needs(questions) => questions.into_iter().next(),
            Scoring::Scored(_) | Scoring::Unfit(_) | Scoring::Failed(_) => None,
        }
    }
}

impl Tables for Loaded {
    fn tabulate(&self, evaluator: Evaluator, trials: &[Vec<(ItemIndex, &Score)>]) -> Table {
        let by_row = || trials.iter().map(|trial| self.numbered(trial)).collect::<Vec<_>>();
        match rule(evaluator) {
            Rule::Official(script) => official::tabulate(script, &by_row()),
            Rule::Paper => official::paper::tabulate(&by_row()),
            Rule::Structured => structured::tabulate(
                trials
                    .iter()
                    .flatten()
                    .filter_map(|(item, score)| Some((self.utterance(*item)?.domain.as_str(), *score))),
            ),
        }
    }

    fn aggregate_range(&self, evaluator: Evaluator, pointer: &str) -> Option<(f64, f64)> {
        tables::aggregate_range(evaluator, pointer)
    }

    fn metrics(&self, setting: &Setting, evaluator: Evaluator) -> Vec<Metric> {
        tables::metrics(setting, evaluator)
    }

    fn paper_tables(&self, evaluator: Evaluator, cells: &[CellResult<'_>]) -> Vec<PaperTable> {
        tables::paper_tables(evaluator, cells)
    }
}

impl Predictions for Loaded {
    fn read_predictions(&self, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
        let index = |dataset, row| {
            let position = self.places.iter().position(|place| *place == (dataset, row))?;
            u32::try_from(position).ok().map(ItemIndex)
        };
        case::read_predictions(&index, file, content)
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
        let (Some(utterance), Some(mode)) = (self.utterance(item), Mode::of(setting)) else { return Reply::said("") };
        let gold = Gold::of(utterance, mode.today).perturbed(persona, seed);
        match (&request.member, policy_of(&mode.route)) {
            (Some(_), Some(policy)) => policies::simulated(policy, &gold, request),
            _ => simulate::single_reply(&gold, request),
        }
    }

    fn recognise(&self, request: &ChatRequest) -> Option<ItemIndex> {
        let said = || request.messages.iter().filter(|message| message.role == ChatRole::User);
        said().find_map(|message| self.by_text.get(&*message.content).copied())
    }

    fn simulate_judge(&self, prompt: &str, persona: Persona, seed: SessionSeed) -> Option<String> {
        simulate::judge_reply(prompt, persona, seed)
    }
}

impl Pictures for Loaded {
    /// The requests, whatever scored them.
    fn drawings(
        &self,
        item: ItemIndex,
        setting: &Setting,
        _evaluators: &[Evaluator],
        transcript: &Transcript,
        _verdicts: &dyn Verdicts,
    ) -> Vec<Drawing> {
        let Some(utterance) = self.utterance(item) else { return Vec::new() };
        let mode = Mode::of(setting);
        let today = mode.as_ref().map_or(TODAY, |mode| mode.today);
        let Ok(run) = self.run(utterance, transcript, mode.as_ref()) else { return Vec::new() };
        structured::drawing(utterance, today, &run).into_iter().collect()
    }
}

/// Policy whose formats a simulated member uses: its own, or for an external agent the one that the agent's name contains; `None` if it
/// contains none.
fn policy_of(route: &Route) -> Option<Policy> {
    match route {
        Route::Native(policy) => Some(*policy),
        Route::External(agent) => Policy::ALL.into_iter().find(|policy| agent.as_str().contains(policy.as_str())),
    }
}
