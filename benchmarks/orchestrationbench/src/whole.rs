//! A whole scenario as one session: the end-to-end mode behind the interface of `Suite`.

use regatta_benchmarks::delegated::{Turn, turns};
use regatta_benchmarks::{Drawing, NoVerdicts, Persona, Score, Scores, Verdicts};
use regatta_proto::{ChatRequest, ChatRole, Evaluator, Question, Reply, Role, SessionSeed, Transcript};
use serde_json::{Map, Value, json};

use super::data::{Data, Scenario};
use super::end_to_end::{Outcome, Session};
use super::metrics::scenario_value as value;
use super::scoring::{GoldPlans, Step, of_call};
use super::simulate;

/// A scenario.
#[derive(Clone, Copy)]
pub(crate) struct Whole<'d> {
    /// The data.
    pub(crate) data: &'d Data,
    /// Gold plans of the data set.
    pub(crate) gold_plans: &'d GoldPlans,
    /// Position of the scenario.
    pub(crate) position: usize,
    /// The scenario.
    pub(crate) scenario: &'d Scenario,
}

impl<'d> Whole<'d> {
    /// Replays the session up to the end of the transcript.
    pub(crate) fn session(&self, transcript: &Transcript) -> Session<'d> {
        let turns = turns(transcript);
        Session::replay(self.data, self.scenario, replies(&turns))
    }

    /// Scores the session: the sums over its steps, each scored by its matched reply, and the divergence from the gold.
    ///
    /// # Errors
    /// With the questions that judges must answer first.
    pub(crate) fn score(
        &self,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Result<Scores, Vec<Question>> {
        let turns = turns(transcript);
        let replies: Vec<&Reply> = replies(&turns).collect();
        let outcome = self.session(transcript).outcome();
        let mut sums: Vec<(Evaluator, Sum)> = evaluators.iter().map(|evaluator| (*evaluator, Sum::default())).collect();
        let mut missing: Vec<Question> = Vec::new();
        for one in &outcome.steps {
            let name = format!("{}/{}", self.scenario.name(), one.step);
            let answer = one.reply.and_then(|reply| replies.get(reply)).map(|reply| of_call(reply));
            match self.step(one.step, &name).score(answer.as_ref(), evaluators, verdicts) {
                Ok(mut scores) => {
                    for (evaluator, sum) in &mut sums {
                        if let Some(score) = scores.remove(evaluator) {
                            sum.add(name.clone(), score);
                        }
                    }
                }
                Err(questions) => missing.extend(questions),
            }
        }
        if !missing.is_empty() {
            return Err(missing);
        }
        Ok(sums.into_iter().map(|(evaluator, sum)| (evaluator, sum.score(&outcome))).collect())
    }

    /// Draws the plans in the replies over the gold plans, in order, without steps that were not reached.
    pub(crate) fn drawings(&self, transcript: &Transcript) -> Vec<Drawing> {
        let turns = turns(transcript);
        let replies: Vec<&Reply> = replies(&turns).collect();
        let steps = self.session(transcript).outcome().steps;
        let of_step = |step: u32, reply: &Reply| self.step(step, "").drawings(Some(&of_call(reply)));
        let reached = steps.iter().filter_map(|one| Some((one.step, *replies.get(one.reply?)?)));
        reached.flat_map(|(step, reply)| of_step(step, reply)).collect()
    }

    /// Returns `true` if the matched answer of any step is unreadable.
    pub(crate) fn is_invalid_format(&self, transcript: &Transcript) -> bool {
        let turns = turns(transcript);
        let replies: Vec<&Reply> = replies(&turns).collect();
        self.session(transcript).outcome().steps.iter().any(|one| {
            let answer = one.reply.and_then(|reply| replies.get(reply)).map(|reply| of_call(reply));
            answer.is_some_and(|answer| self.step(one.step, "").is_unreadable(&answer))
        })
    }

    /// Returns the scores of a session without answers.
    #[expect(clippy::expect_used, reason = "an empty map of scores would count as a score of nothing")]
    pub(crate) fn score_failure(&self, evaluators: &[Evaluator]) -> Scores {
        let scores = self.score(evaluators, &Transcript::default(), &NoVerdicts);
        scores.expect("where nothing was said, there is nothing to judge")
    }

    fn step<'s>(&'s self, step: u32, item: &'s str) -> Step<'s>
    where
        'd: 's,
    {
        let Self { data, gold_plans, position, scenario } = *self;
        Step { data, gold_plans, position, scenario, step, item }
    }

    /// Returns a simulated model's reply: that of the matched step, or a plain text when no step is matched.
    pub(crate) fn simulate(&self, persona: Persona, seed: SessionSeed, request: &ChatRequest) -> Reply {
        // A request does not name its step, but the session before it determines it. Simulated replies depend on step
        // and seed alone, so the session is simulated again up to the request.
        let mut replies: Vec<Reply> = Vec::new();
        loop {
            let session = Session::replay(self.data, self.scenario, &replies);
            let Some(asked) = session.request() else { return Reply::said("") };
            let reply = match session.step() {
                Some(step) => simulate::reply(self.data, self.scenario, step, persona, seed),
                None => Reply::said(""),
            };
            if said(&asked) == said(request) {
                return reply;
            }
            replies.push(reply);
        }
    }
}

/// Replies of the model, or of the external agent in its place.
fn replies<'t>(turns: &'t [Turn<'_>]) -> impl Iterator<Item = &'t Reply> {
    turns.iter().filter(|turn| turn.role == Role::Agent).map(|turn| &*turn.reply)
}

/// Normal form of a request: messages without the instructions, and names of tools. Providers' formats join
/// consecutive messages of one role and add white space.
fn said(request: &ChatRequest) -> (Vec<(ChatRole, String)>, Vec<&str>) {
    let mut said: Vec<(ChatRole, String)> = Vec::new();
    for message in request.messages.iter().filter(|message| message.role != ChatRole::System) {
        let letters = message.content.chars().filter(|c| !c.is_whitespace());
        match said.last_mut() {
            Some((role, text)) if *role == message.role => text.extend(letters),
            _ => said.push((message.role, letters.collect())),
        }
    }
    (said, request.tools.iter().map(|tool| &*tool.name).collect())
}

/// Sum of the values of steps.
#[derive(Default)]
struct Sum {
    values: std::collections::BTreeMap<String, f64>,
    steps: Map<String, Value>,
}

impl Sum {
    fn add(&mut self, step: String, score: Score) {
        for (name, value) in score.values {
            *self.values.entry(name).or_default() += value;
        }
        self.steps.insert(step, score.detail);
    }

    fn score(mut self, outcome: &Outcome) -> Score {
        let count = |count: usize| u32::try_from(count).map_or(f64::from(u32::MAX), f64::from);
        let reached = outcome.steps.iter().filter(|step| step.reply.is_some()).count();
        let diverged = usize::from(outcome.first_divergence().is_some());
        let own = [
            (value::DIVERGED, diverged),
            (value::REACHED, reached),
            (value::CHANGED, outcome.changed().len()),
            (value::STEPS, outcome.steps.len()),
            (value::EXTRA_CALLS, outcome.extra_calls),
        ];
        self.values.extend(own.map(|(name, value)| (name.to_owned(), count(value))));
        Score { values: self.values, detail: json!({ "path": outcome.entry(), "steps": self.steps }) }
    }
}
