//! A program behind the one interface of all benchmarks.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use regatta_benchmarks::{
    DataError, Dataset, Evaluation, Item, Metric, Persona, Picture, Pictures, Predictions, Score as ItemScore, Scores,
    Scoring, SelectError, Sessions, Simulated, Step, Table, Tables, Unplayed, Verdicts, delegated,
};
use regatta_coded::{
    Answer, Asked, Call, Event as Said, Failure, Next, Permissions, Persona as Player, Pool, Reply as Played, Score,
    Scored, Serve, Served, Simulate, Tabulate, Tabulated, TrialScore, Verdict as Known, WorldOf,
};
use regatta_proto::{
    BenchmarkFailed, ChatMessage, ChatRequest, ChatRole, Digest, Evaluator, Event, FileSet, Image, ItemId, ItemIndex,
    Question, Reply, Role, SessionSeed, Setting, Transcript, Verdict,
};
use serde_json::json;

use super::items::{CodedItems, items};
use super::messages::{messages_of, replies, reply, request, shown_to_judges};
use super::opening::{open, roles, setting_of};
use super::scores::{metrics, score};
use super::world;
use crate::definition::{Coded, Source};
use crate::images::{self, Images};
use crate::items::{position, select};
use crate::predictions;
use crate::setting::{Choice, chosen, grid};

/// Most rounds of questions to judges for one session.
const ROUNDS_MAX: usize = 16;
/// Most questions of a round.
const QUESTIONS_MAX: usize = 1_000;
/// Longest prompt for a judge, in bytes: several are sent to a worker in one message, of which brokers take few megabytes.
const PROMPT_BYTES_MAX: usize = 1 << 20;
/// Items whose first question is learned, to recognise their sessions by it.
const RECOGNISED_MAX: usize = 100_000;
/// Functions that a program may have, beside those that every program has.
const FUNCTIONS: [&str; 3] = ["tabulate", "simulate", "serve"];
/// Kind of all questions to judges.
const KIND: &str = "coded";

/// A benchmark whose program has loaded.
pub(crate) struct CodedSuite {
    definition: Coded,
    grid: Vec<Choice>,
    roles: Vec<Role>,
    images: Images,
    items: CodedItems,
    metrics: Vec<Metric>,
    tabulates: bool,
    simulates: bool,
    serves: bool,
    pool: Pool,
    /// Items by the first question of their sessions, in the default setting; learned when somebody asks.
    asked: OnceLock<HashMap<Digest, ItemIndex>>,
    /// Items of which a simulated model could not be played.
    unplayed: Mutex<HashMap<ItemId, BenchmarkFailed>>,
}

impl CodedSuite {
    /// Starts the program that `source` names, in a copy of `files`.
    ///
    /// # Errors
    /// With the line of what is wrong in the definition, or with what the program said.
    pub(crate) fn load(source: Source, permissions: &Permissions, files: &FileSet) -> Result<Self, DataError> {
        let definition = source.read_coded()?;
        let grid = grid(&source, &definition.settings)?;
        let roles = roles(&source, &definition)?;
        let metrics = metrics(&source, &definition)?;
        let images = images::of_folder(files);
        let (pool, loaded) = open(&source, &definition, &grid, permissions, files)?;
        let has = |function: &str| loaded.functions.iter().any(|name| name == function);
        let [tabulates, simulates, serves] = FUNCTIONS.map(has);
        if let Some(other) = loaded.functions.iter().find(|name| !FUNCTIONS.contains(&name.as_str())) {
            let problem =
                format!("load: names the function {other:?}; those that it may have are tabulate, simulate and serve");
            return Err(source.problem("program", problem));
        }
        let items = items(&source, &definition.values, loaded.items)?;
        Ok(Self {
            definition,
            grid,
            roles,
            images,
            items,
            metrics,
            tabulates,
            simulates,
            serves,
            pool,
            asked: OnceLock::new(),
            unplayed: Mutex::default(),
        })
    }

    fn choice(&self, setting: &Setting) -> Option<&Choice> {
        chosen(&self.grid, setting).map(|(choice, _)| choice)
    }

    fn item(&self, item: ItemIndex) -> Option<&Item> {
        self.items.items.get(position(item))
    }

    fn ask<A: Answer>(&self, call: &Call) -> Result<A, BenchmarkFailed> {
        self.pool.ask(call).map_err(failed)
    }

    /// Fails a session with a call that has no answer, where a model could not be played: an external agent goes on after such a call.
    fn check_played(&self, item: &Item, transcript: &Transcript) -> Result<(), BenchmarkFailed> {
        if !transcript.events.iter().any(|event| matches!(event, Event::Failed(_))) {
            return Ok(());
        }
        let unplayed = self.unplayed.lock().unwrap_or_else(PoisonError::into_inner);
        unplayed.get(&item.id).map_or(Ok(()), |failed| Err(failed.clone()))
    }

    fn step(&self, item: &Item, choice: &Choice, transcript: &Transcript) -> Result<Step, BenchmarkFailed> {
        self.check_played(item, transcript)?;
        let transcript = replies(transcript);
        if transcript.len() > self.definition.limits.replies as usize {
            let most = self.definition.limits.replies;
            let why = format!("next of item {}: the session has more than {most} replies (`limits.replies`)", item.id);
            return Err(BenchmarkFailed { why, errors: String::new() });
        }
        let (transcript, world) = self.served(item, choice, transcript, false)?;
        let call = Call::Next(Next { item: item.id.to_string(), setting: setting_of(choice), transcript });
        match self.ask(&call)? {
            Asked::Done(_) => Ok(Step::Done),
            Asked::Unfit(why) => Ok(Step::Unfit(why)),
            Asked::Ask(mut ask) => {
                if let Some(world) = world {
                    world::give_tools(&mut ask, world).map_err(|why| wrong(&call, why))?;
                }
                match request(*ask, &self.roles, &self.images) {
                    Ok((role, request)) => Ok(Step::Ask(role, request)),
                    Err(why) => Err(wrong(&call, why)),
                }
            }
        }
    }

    /// The replies of a session with the results of their calls of tools, and its world after these; the replies as they are, where the
    /// program serves no worlds. `snapshot` asks for the world's state.
    fn served(
        &self,
        item: &Item,
        choice: &Choice,
        mut replies: Vec<Said>,
        snapshot: bool,
    ) -> Result<(Vec<Said>, Option<Served>), BenchmarkFailed> {
        if !self.serves {
            return Ok((replies, None));
        }
        let call = Call::Serve(Serve {
            item: item.id.to_string(),
            setting: setting_of(choice),
            seed: world::seed(&item.id),
            calls: world::calls(&replies),
            snapshot,
        });
        let mut served: Served = self.ask(&call)?;
        let results = std::mem::take(&mut served.results);
        world::put_results(results, &mut replies).map_err(|why| wrong(&call, why))?;
        Ok((replies, Some(served)))
    }

    /// Scores of a session, once every judge's reply that the program asks for is known.
    fn scored(
        &self,
        item: &Item,
        choice: &Choice,
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Result<Scoring, BenchmarkFailed> {
        self.check_played(item, transcript)?;
        let (transcript, world) = self.served(item, choice, replies(transcript), true)?;
        let mut of = Score {
            item: item.id.to_string(),
            setting: setting_of(choice),
            transcript,
            verdicts: Vec::new(),
            world: world.map(|world| Arc::new(WorldOf { seed: world::seed(&item.id), snapshot: world.snapshot })),
        };
        for _ in 0..ROUNDS_MAX {
            let call = Call::Score(of.clone());
            let scored: Scored = self.ask(&call)?;
            if scored.questions.is_empty() {
                if !scored.images.is_empty() {
                    return Err(wrong(&call, "shows images to judges and asks them nothing".to_owned()));
                }
                let score = score(&self.definition.values, scored).map_err(|why| wrong(&call, why))?;
                return Ok(Scoring::Scored(Scores::from([(Evaluator::Declared, score)])));
            }
            if scored.questions.len() > QUESTIONS_MAX || !scored.values.is_empty() {
                let why = format!(
                    "gave {} questions and {} values; it gives values, or at most {QUESTIONS_MAX} questions",
                    scored.questions.len(),
                    scored.values.len()
                );
                return Err(wrong(&call, why));
            }
            if let Some(long) = scored.questions.iter().find(|prompt| prompt.len() > PROMPT_BYTES_MAX) {
                let why =
                    format!("asks judges with a prompt of {} bytes, at most {PROMPT_BYTES_MAX} are sent", long.len());
                return Err(wrong(&call, why));
            }
            let is_new = |prompt: &&String| !of.verdicts.iter().any(|known| known.prompt == **prompt);
            let new: Vec<&String> = scored.questions.iter().filter(is_new).collect();
            if new.is_empty() {
                return Err(wrong(&call, "asks again what judges have replied to".to_owned()));
            }
            let shown = shown_to_judges(&scored.images, &self.images).map_err(|why| wrong(&call, why))?;
            let questions: Vec<Question> = new.iter().map(|prompt| question(item, shown.as_ref(), prompt)).collect();
            let answers: Option<Vec<Verdict>> = questions.iter().map(|one| verdicts.answer(one)).collect();
            let Some(answers) = answers else { return Ok(Scoring::Needs(questions)) };
            let known = new.into_iter().zip(answers);
            of.verdicts.extend(known.map(|(prompt, verdict)| Known { prompt: prompt.clone(), replies: said(verdict) }));
        }
        let why = format!("score of item {}: asks judges in more than {ROUNDS_MAX} rounds", item.id);
        Err(BenchmarkFailed { why, errors: String::new() })
    }

    /// Asks for the first question of every item, in the default setting.
    fn learn(&self) -> HashMap<Digest, ItemIndex> {
        let mut asked = HashMap::new();
        let Some(choice) = self.grid.first() else { return asked };
        for (index, item) in (0..).map(ItemIndex).zip(self.items.items.iter().take(RECOGNISED_MAX)) {
            if let Ok(Step::Ask(_, request)) = self.step(item, choice, &Transcript::default())
                && let Some(digest) = first_question(&request)
            {
                asked.entry(digest).or_insert(index);
            }
        }
        asked
    }
}

/// Digest of the first thing that a user says and shows in a request.
fn first_question(request: &ChatRequest) -> Option<Digest> {
    let first = request.messages.iter().find(|message| message.role == ChatRole::User)?;
    let images = first.images.iter().map(|image| image.digest.bytes().as_slice());
    Some(Digest::of_parts([first.content.as_bytes()].into_iter().chain(images)))
}

/// The question with `prompt`, after the message that shows its images.
fn question(item: &Item, shown: Option<&ChatMessage>, prompt: &str) -> Question {
    Question::Judgement {
        kind: KIND.to_owned(),
        // Files of verdicts know questions by this alone, and a program may have several about an item. A job has the prompt once.
        about: vec![item.id.to_string(), Digest::of(prompt.as_bytes()).to_string()],
        before: shown.into_iter().cloned().collect(),
        prompt: prompt.to_owned(),
        swapped: None,
        accept: Vec::new(),
        replies_max: 1,
    }
}

fn said(verdict: Verdict) -> Vec<String> {
    match verdict {
        Verdict::Replies { mut replies } => replies.pop().into_iter().collect(),
        Verdict::Panel { members, .. } => members.into_iter().filter_map(|mut replies| replies.pop()).collect(),
        Verdict::Similarity { .. } => Vec::new(),
    }
}

fn failed(failure: Failure) -> BenchmarkFailed {
    BenchmarkFailed { why: failure.to_string(), errors: failure.errors }
}

/// Error of an answer that is well formed, but holds something that the benchmark cannot use; `why` tells what.
fn wrong(call: &Call, why: String) -> BenchmarkFailed {
    failed(Failure { about: call.about(), why, errors: String::new() })
}

impl Dataset for CodedSuite {
    fn items(&self) -> &[Item] {
        &self.items.items
    }

    fn declared_settings(&self) -> Vec<Setting> {
        self.grid.iter().map(|choice| choice.setting.clone()).collect()
    }

    fn select(&self, setting: &Setting, tasks: &[String], limit: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        let native = self.choice(setting).map_or(setting, |choice| &choice.setting);
        select(&self.items.items, self.grid.iter().map(|choice| &choice.setting), native, tasks, limit)
    }

    fn calls_at_once(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.pool.size())
    }

    fn parts(&self, item: ItemIndex) -> Vec<Arc<str>> {
        self.items.parts.get(position(item)).cloned().unwrap_or_default()
    }

    fn image(&self, digest: &Digest) -> Option<Image> {
        images::of_digest(&self.images, digest)
    }
}

impl Sessions for CodedSuite {
    fn roles(&self, _setting: &Setting) -> Vec<Role> {
        self.roles.clone()
    }

    fn next(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Step {
        let (Some(of), Some((choice, agent))) = (self.item(item), chosen(&self.grid, setting)) else {
            return Step::not_selected(item, setting);
        };
        let step = self.step(of, choice, transcript).unwrap_or_else(Step::Failed);
        match agent {
            Some(agent) => delegated::turn(&agent, &of.id, &of.task, step),
            None => step,
        }
    }
}

impl Evaluation for CodedSuite {
    fn score_session(
        &self,
        item: ItemIndex,
        setting: &Setting,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Scoring {
        let (Some(of), Some(choice)) = (self.item(item), self.choice(setting)) else {
            return Scoring::not_selected(item);
        };
        if !evaluators.contains(&Evaluator::Declared) {
            return Scoring::Scored(Scores::new());
        }
        self.scored(of, choice, transcript, verdicts).unwrap_or_else(Scoring::Failed)
    }

    fn score(
        &self,
        item: ItemIndex,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Scoring {
        match self.grid.first() {
            Some(choice) => self.score_session(item, &choice.setting, evaluators, transcript, verdicts),
            None => Scoring::not_selected(item),
        }
    }

    fn score_failure(&self, item: ItemIndex, evaluators: &[Evaluator]) -> Scores {
        let worst = self.items.worst.get(position(item)).filter(|_| evaluators.contains(&Evaluator::Declared));
        let of = |values: &std::collections::BTreeMap<String, f64>| ItemScore {
            values: values.clone(),
            detail: json!(null),
        };
        worst.map(|values| (Evaluator::Declared, of(values))).into_iter().collect()
    }

    /// Only the program knows what it makes of verdicts, so the definition says it.
    fn is_judged(&self, _evaluator: Evaluator, value: &str) -> bool {
        self.definition.values.iter().any(|(name, spec)| name.as_str() == value && spec.judged)
    }
}

impl Tables for CodedSuite {
    fn tabulate(&self, _evaluator: Evaluator, trials: &[Vec<(ItemIndex, &ItemScore)>]) -> Table {
        if !self.tabulates {
            return Table::of_means(trials);
        }
        let of = |(index, score): &(ItemIndex, &ItemScore)| {
            let item = self.item(*index)?.id.to_string();
            Some(TrialScore { item, values: score.values.clone() })
        };
        let trials = trials.iter().map(|trial| trial.iter().filter_map(of).collect()).collect();
        let aggregate = match self.ask::<Tabulated>(&Call::Tabulate(Tabulate { trials })) {
            Ok(tabulated) => tabulated.aggregate,
            Err(failed) => {
                tracing::error!(
                    reason = failed.why,
                    errors = failed.errors,
                    "the benchmark's program failed to tabulate"
                );
                json!({ "benchmark_failed": failed.why })
            }
        };
        Table { aggregate, columns: Vec::new() }
    }

    fn metrics(&self, _setting: &Setting, _evaluator: Evaluator) -> Vec<Metric> {
        self.metrics.clone()
    }
}

impl Predictions for CodedSuite {
    fn read_predictions(&self, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
        predictions::read(&self.items.items, file, content)
    }
}

impl Simulated for CodedSuite {
    fn simulate(
        &self,
        item: ItemIndex,
        setting: &Setting,
        role: Role,
        persona: Persona,
        seed: SessionSeed,
        request: &ChatRequest,
    ) -> Reply {
        self.try_simulate(item, setting, role, persona, seed, request).unwrap_or_else(|_| Reply::said(""))
    }

    fn try_simulate(
        &self,
        item: ItemIndex,
        setting: &Setting,
        role: Role,
        persona: Persona,
        seed: SessionSeed,
        request: &ChatRequest,
    ) -> Result<Reply, Unplayed> {
        let (Some(of), Some(choice)) = (self.item(item).filter(|_| self.simulates), self.choice(setting)) else {
            return Ok(Reply::said(""));
        };
        let call = Call::Simulate(Simulate {
            item: of.id.to_string(),
            setting: setting_of(choice),
            role: role.to_string(),
            persona: match persona {
                Persona::Oracle => Player::Oracle,
                Persona::Noisy(share) => Player::Noisy(share),
            },
            // Not every language has larger whole numbers.
            seed: (seed.0 >> 32) as u32,
            messages: messages_of(request, &self.images),
        });
        match self.ask::<Played>(&call) {
            Ok(simulated) => Ok(reply(simulated)),
            Err(failed) => {
                tracing::error!(
                    reason = failed.why,
                    errors = failed.errors,
                    "the benchmark's program failed to play a model"
                );
                self.unplayed.lock().unwrap_or_else(PoisonError::into_inner).insert(of.id.clone(), failed);
                Err(Unplayed)
            }
        }
    }

    fn recognise(&self, request: &ChatRequest) -> Option<ItemIndex> {
        let asked = self.asked.get_or_init(|| self.learn());
        asked.get(&first_question(request)?).copied()
    }
}

impl Pictures for CodedSuite {
    fn pictures(&self, _item: ItemIndex, _setting: &Setting, transcript: &Transcript) -> Vec<Picture> {
        images::pictures(&self.images, transcript)
    }

    fn picture(&self, _item: ItemIndex, _setting: &Setting, transcript: &Transcript, number: usize) -> Option<Picture> {
        images::picture(&self.images, transcript, number)
    }
}
