//! The loaded benchmark behind the one interface of all benchmarks.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use regatta_benchmarks::{
    DataError, Dataset, Evaluation, Item, Metric, NoVerdicts, Persona, Picture, Pictures, Predictions, Scores, Scoring,
    SelectError, Sessions, Simulated, Step, Tables, Verdicts, delegated,
};
use regatta_proto::{
    ChatRequest, ChatRole, Digest, Evaluator, FileSet, Image, ItemIndex, Question, Reply, Role, SessionSeed, Setting,
    Tool, Transcript,
};

use crate::data::{self, Split, Splits};
use crate::definition::{Definition, Source};
use crate::images::{self, Images};
use crate::items::{Items, items, position, select};
use crate::scoring::{Rule, Scorers, prepare, simulated_reply};
use crate::session::{Script, Subject};
use crate::setting::{Choice, chosen, grid};
use crate::{predictions, simulate, tables, tools};

/// Sessions that are played when the benchmark is loaded, so that what its templates cannot make of the data is known before anything is
/// paid. In a larger benchmark the rest is found out in the session, which is not measured then.
const PLAYED_MAX: usize = 200_000;
/// Messages that are made for that, so that long conversations do not keep a process from its work.
const MESSAGES_PLAYED_MAX: usize = 2_000_000;
/// Most replies of a session.
const REPLIES_MAX: usize = 100;

/// A benchmark whose every part fits the others.
pub(crate) struct Loaded {
    source: Source,
    definition: Definition,
    splits: Splits,
    images: Images,
    items: Items,
    grid: Vec<Choice>,
    tools: Vec<Vec<Tool>>,
    scorers: Scorers,
    metrics: Vec<Metric>,
    /// Positions of the scorers that leaderboards show something of.
    heads: Vec<usize>,
    right: Vec<Reply>,
    /// Items by the first question of their sessions.
    asked: HashMap<Digest, ItemIndex>,
}

impl Loaded {
    /// Reads the benchmark that `source` declares over the data in `files`.
    ///
    /// # Errors
    /// With file and line of whatever is wrong.
    pub(crate) fn load(source: Source, files: &FileSet) -> Result<Self, DataError> {
        let definition = source.read()?;
        let splits = data::read(&source, &definition, files)?;
        let Some(split) = splits.get(&definition.items.split) else {
            let problem =
                format!("there is no split {:?}; splits: {}", definition.items.split, definition.data.names());
            return Err(source.problem("items.split", problem));
        };
        let items = items(&source, &definition, split)?;
        let grid = grid(&source, &definition.settings)?;
        let images = images::read(&source, &definition, &splits, &grid, files)?;
        let tools = tools::tools(&source, &definition, split)?;
        let scorers = prepare(&source, &definition, split, &items.items, &images)?;
        let metrics = tables::metrics(&source, &definition.metrics, &scorers.scorers)?;
        check_names(&source, &scorers)?;
        let right = simulate::right_replies(&source, &definition, split, &scorers)?;
        let heads = heads(&scorers, &metrics);
        let mut loaded = Self {
            source,
            definition,
            splits,
            images,
            items,
            grid,
            tools,
            scorers,
            metrics,
            heads,
            right,
            asked: HashMap::new(),
        };
        loaded.asked = loaded.play()?;
        loaded.source.loaded();
        Ok(loaded)
    }

    fn split(&self) -> Option<&Split> {
        self.splits.get(&self.definition.items.split)
    }

    fn script<'a>(&'a self, choice: &'a Choice) -> Script<'a> {
        Script {
            source: &self.source,
            definition: &self.definition,
            splits: &self.splits,
            images: &self.images,
            choice,
        }
    }

    fn subject(&self, position: usize) -> Option<Subject<'_>> {
        let split = self.split()?;
        let (record, item) = (split.records.get(position)?, self.items.items.get(position)?);
        Some(Subject { split, position, record, id: item.id.as_str(), tools: self.tools.get(position)? })
    }

    /// Plays every session with right replies, as far as there are not too many.
    fn play(&self) -> Result<HashMap<Digest, ItemIndex>, DataError> {
        let mut asked = HashMap::new();
        let mut messages = 0;
        let sessions = self.grid.iter().flat_map(|choice| (0..self.items.items.len()).map(move |at| (choice, at)));
        for (choice, position) in sessions.take(PLAYED_MAX) {
            let (Some(subject), Some(right)) = (self.subject(position), self.right.get(position)) else { continue };
            let right = right.text.as_deref().unwrap_or("");
            let mut replies = Vec::new();
            while let Some(request) = self.script(choice).next(subject, &replies)? {
                if let (0, Some(digest)) = (replies.len(), question(&request)) {
                    asked.entry(digest).or_insert(ItemIndex(u32::try_from(position).unwrap_or(u32::MAX)));
                }
                messages += request.messages.len();
                replies.push(right);
                if replies.len() > REPLIES_MAX {
                    let (path, line) = (&subject.split.path, subject.record.line);
                    let problem =
                        format!("ask for more than {REPLIES_MAX} replies in {path} line {line}; ask less often");
                    return Err(self.source.problem("prompt.turns", problem));
                }
            }
            if messages > MESSAGES_PLAYED_MAX {
                break;
            }
            if replies.is_empty() {
                let problem =
                    format!("ask nothing of the model in {} line {}", subject.split.path, subject.record.line);
                return Err(self.source.problem("prompt.turns", problem));
            }
            if replies.len() > 1 && self.definition.prompt.tools.is_some() {
                let problem =
                    "ask more than once, but what the tools answer is not declared; leave out `tools`, or ask once";
                return Err(self.source.problem("prompt.turns", problem));
            }
        }
        Ok(asked)
    }
}

/// Digest of a request's question, text and images, by which its item is recognised.
fn question(request: &ChatRequest) -> Option<Digest> {
    let last = request.messages.iter().rfind(|message| message.role == ChatRole::User)?;
    let images = last.images.iter().map(|image| image.digest.bytes().as_slice());
    Some(Digest::of_parts([last.content.as_bytes()].into_iter().chain(images)))
}

/// No two scorers give values of one name, and one judge can answer all that they ask.
fn check_names(source: &Source, scorers: &Scorers) -> Result<(), DataError> {
    let mut seen = Vec::new();
    for scorer in &scorers.scorers {
        for value in scorer.values() {
            if seen.contains(&value) {
                let problem = format!("the value {value} is another scorer's too; choose another name");
                return Err(source.problem(&format!("scorers.{}", scorer.name), problem));
            }
            seen.push(value);
        }
    }
    let similar = scorers.scorers.iter().find(|scorer| matches!(scorer.rule, Rule::Similarity));
    let judged = scorers.scorers.iter().any(|scorer| matches!(scorer.rule, Rule::Judge(_)));
    match similar {
        Some(scorer) if judged => Err(source.problem(
            &format!("scorers.{}", scorer.name),
            "an encoder would have to answer this and a chat model the judge's questions; a benchmark has one judge: leave one of them out",
        )),
        _ => Ok(()),
    }
}

fn heads(scorers: &Scorers, metrics: &[Metric]) -> Vec<usize> {
    let shown: Vec<&str> =
        metrics.iter().filter(|metric| metric.headline).flat_map(|metric| metric.measure.values()).collect();
    let scorers = scorers.scorers.iter().enumerate();
    let is_shown = |values: Vec<String>| values.iter().any(|value| shown.contains(&value.as_str()));
    scorers.filter(|(_, scorer)| is_shown(scorer.values())).map(|(at, _)| at).collect()
}

/// The last reply of the model, or of the external agent in its place.
fn last_reply(transcript: &Transcript) -> Option<Cow<'_, Reply>> {
    delegated::turns(transcript).into_iter().rfind(|turn| turn.role == Role::Agent).map(|turn| turn.reply)
}

impl Dataset for Loaded {
    fn items(&self) -> &[Item] {
        &self.items.items
    }

    fn declared_settings(&self) -> Vec<Setting> {
        self.grid.iter().map(|choice| choice.setting.clone()).collect()
    }

    fn select(&self, setting: &Setting, tasks: &[String], limit: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        let native = chosen(&self.grid, setting).map_or(setting, |(choice, _)| &choice.setting);
        select(&self.items.items, self.grid.iter().map(|choice| &choice.setting), native, tasks, limit)
    }

    fn parts(&self, item: ItemIndex) -> Vec<Arc<str>> {
        self.items.parts.get(position(item)).cloned().unwrap_or_default()
    }

    fn image(&self, digest: &Digest) -> Option<Image> {
        images::of_digest(&self.images, digest)
    }
}

impl Sessions for Loaded {
    fn next(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Step {
        let (Some(subject), Some((choice, agent))) = (self.subject(position(item)), chosen(&self.grid, setting)) else {
            return Step::not_selected(item, setting);
        };
        let turns = delegated::turns(transcript);
        let of_agent = turns.iter().filter(|turn| turn.role == Role::Agent);
        let replies: Vec<&str> = of_agent.map(|turn| turn.reply.text.as_deref().unwrap_or("")).collect();
        let step = match self.script(choice).next(subject, &replies) {
            Ok(Some(request)) => Step::Ask(Role::Agent, request),
            Ok(None) => Step::Done,
            Err(error) => Step::Unfit(error.to_string()),
        };
        match (agent, self.items.items.get(position(item))) {
            (Some(agent), Some(item)) => delegated::turn(&agent, &item.id, &item.task, step),
            (None, _) | (_, None) => step,
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
        let Some(reply) = last_reply(transcript) else {
            return Scoring::Unfit(format!("the session of item {item} has no reply"));
        };
        let scoring = self.scorers.score(position(item), evaluators, &reply, verdicts);
        scoring.unwrap_or_else(|| Scoring::not_selected(item))
    }

    fn score_failure(&self, item: ItemIndex, evaluators: &[Evaluator]) -> Scores {
        self.scorers.worst(position(item), evaluators).unwrap_or_default()
    }

    fn is_invalid_format(&self, _item: ItemIndex, _setting: &Setting, transcript: &Transcript) -> bool {
        last_reply(transcript).is_some_and(|reply| self.scorers.is_unreadable(&reply, &self.heads))
    }

    fn is_judged(&self, _evaluator: Evaluator, value: &str) -> bool {
        self.scorers.is_judged(value)
    }

    fn example_question(&self, evaluators: &[Evaluator]) -> Option<Question> {
        match self.scorers.score(0, evaluators, self.right.first()?, &NoVerdicts)? {
            Scoring::Needs(questions) => questions.into_iter().next(),
            Scoring::Scored(_) | Scoring::Unfit(_) | Scoring::Failed(_) => None,
        }
    }
}

impl Tables for Loaded {
    fn metrics(&self, _setting: &Setting, _evaluator: Evaluator) -> Vec<Metric> {
        self.metrics.clone()
    }
}

impl Predictions for Loaded {
    fn read_predictions(&self, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
        predictions::read(&self.items.items, file, content)
    }
}

impl Simulated for Loaded {
    fn simulate(
        &self,
        item: ItemIndex,
        _setting: &Setting,
        _role: Role,
        persona: Persona,
        seed: SessionSeed,
        _request: &ChatRequest,
    ) -> Reply {
        simulate::reply(&self.right, position(item), persona, seed).unwrap_or_else(|| Reply::said(""))
    }

    fn recognise(&self, request: &ChatRequest) -> Option<ItemIndex> {
        self.asked.get(&question(request)?).copied()
    }

    fn simulate_judge(&self, prompt: &str, persona: Persona, seed: SessionSeed) -> Option<String> {
        simulated_reply(prompt, persona, seed)
    }
}

impl Pictures for Loaded {
    fn pictures(&self, _item: ItemIndex, _setting: &Setting, transcript: &Transcript) -> Vec<Picture> {
        images::pictures(&self.images, transcript)
    }

    fn picture(&self, _item: ItemIndex, _setting: &Setting, transcript: &Transcript, number: usize) -> Option<Picture> {
        images::picture(&self.images, transcript, number)
    }
}
