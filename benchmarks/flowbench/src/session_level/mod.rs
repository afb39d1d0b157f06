//! Scoring of whole sessions: gold calls that were made, goals of the user that were reached, and reasons of failures.
//!
//! `official` and `official_fixed` read the whole conversation as one text (docs/benchmarks/flowbench.md §5.4, §5.5); `paper` reads the
//! agent's messages (§6.4 to §6.6). [`score`] scores one session, [`aggregate`] and [`by_group`] many.

mod aggregate;
mod comparison;
mod completion;
mod dialogue;
mod entries;
mod failure_type;
mod matching_official;
mod matching_paper;
mod structured;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;

use regatta_proto::Evaluator;
use serde_json::{Value, json};

use self::aggregate::value;
use self::comparison::Counts;
use self::completion::Completion;
use self::matching_official::Names;
use self::matching_paper::Call;
use self::structured::{StructuredFailure, structured_failure};
use super::flowchart::Flowchart;
use super::judge::Judge;
use super::prompts::OfficialJudges;
use super::protocol::{Failure, Limits, Message};
use super::setting::Scope;
use super::statistics::FAILURE_TYPES;
use super::turn_level::ToolSchema;
pub(crate) use aggregate::{aggregate, by_group, is_judged};
pub(crate) use dialogue::{dialogue, intents, nodes};
pub(crate) use entries::actions_string;
use regatta_benchmarks::{Score, Scores, Scoring, Verdicts};

/// A conversation that is over, with everything it is scored against.
#[derive(Clone, Copy)]
pub(crate) struct Session<'a> {
    /// Id of the item, under which judgements of the session are recorded.
    pub(crate) id: &'a str,
    /// Scope of the agent's knowledge, which decides the limit on its turns.
    pub(crate) scope: Scope,
    /// Domain, which is copied to the details.
    pub(crate) domain: &'a str,
    /// Messages of the conversation.
    pub(crate) messages: &'a [Message],
    /// Failure that aborted the conversation, if any. Such a session counts as failed (docs/benchmarks/flowbench.md
    /// §3.8); the released code loses it.
    pub(crate) failure: Option<&'a Failure>,
    /// `gt_actions_string`: the gold calls as blocks, empty when there are none.
    pub(crate) gold_actions: &'a str,
    /// System prompt of the agent, from which judges get the descriptions of the tool and the time.
    pub(crate) system_prompt: &'a str,
    /// Tools of the scenario, or of all scenarios of the role in order.
    pub(crate) tools: &'a [ToolSchema],
    /// Flowcharts of these scenarios; empty if the agent got none.
    pub(crate) charts: &'a [&'a Flowchart],
    /// Renders the prompts of the judges.
    pub(crate) prompts: &'a dyn JudgePrompts,
    /// Official prompts of the judges of arguments, where they are known.
    pub(crate) official: Option<&'a OfficialJudges>,
}

/// Renders the prompts of the judges of sessions. `dialogue` is the text that [`dialogue`] makes of the messages.
pub(crate) trait JudgePrompts {
    /// Asks if the user's goals were reached (docs/benchmarks/flowbench.md §8.2).
    fn completion(&self, dialogue: &str) -> String;
    /// Asks for the reason why they were not (docs/benchmarks/flowbench.md §8.4).
    fn failure_type(&self, dialogue: &str) -> String;
}

/// Scores a session with `evaluators`, or returns all questions that judges must answer first. The evaluators share
/// questions. (A failed completion is known only after its judgement, so the reason is asked in a second round.)
pub(crate) fn score(session: &Session<'_>, evaluators: &[Evaluator], verdicts: &dyn Verdicts) -> Scoring {
    let mut judge = Judge::new(verdicts, session.official);
    let scores = session.scores(evaluators, &mut judge);
    let missing = judge.into_missing();
    if missing.is_empty() { Scoring::Scored(scores) } else { Scoring::Needs(missing) }
}

impl Session<'_> {
    fn scores(&self, evaluators: &[Evaluator], judge: &mut Judge<'_>) -> Scores {
        let text = dialogue(self.messages);
        let mut one = |evaluator| match evaluator {
            Evaluator::Official => self.official(&text, Names::Undefined, judge),
            Evaluator::OfficialFixed => self.official(&text, Names::Supplied, judge),
            _ => self.paper(&text, judge),
        };
        evaluators.iter().map(|&evaluator| (evaluator, one(evaluator))).collect()
    }

    /// Returns the judge's verdict on the goals, with the progress of each judge limited to `progress_max`; `None`
    /// while it is missing.
    #[expect(clippy::expect_used, reason = "no verdict would be a progress of nothing")]
    fn completion(&self, text: &str, progress_max: f64, judge: &mut Judge<'_>) -> Option<Completion> {
        if self.failure.is_some() {
            return Some(Completion::NONE);
        }
        let heard = judge.ask(completion::question(self.id, self.prompts.completion(text)))?;
        Some(Completion {
            success: heard.agrees(|reply| Completion::of(reply).success),
            progress: heard
                .number(|reply| Some(Completion::of(reply).progress.min(progress_max)))
                .expect("a verdict has a reply, and every reply is read as a progress"),
        })
    }

    fn agent_turns(&self) -> usize {
        self.messages.iter().filter(|message| message.is_assistant()).count()
    }

    fn official(&self, text: &str, names: Names, judge: &mut Judge<'_>) -> Score {
        let completion = self.completion(text, f64::INFINITY, judge).unwrap_or(Completion::NONE);
        let predicted = actions_string(text);
        let mut counts = matching_official::count(self.gold_actions, &predicted, names, self.system_prompt, judge);
        if self.failure.is_some() && self.gold_actions.is_empty() {
            // A conversation that was aborted gets no credit for its calls.
            counts.right = 0;
        }
        let mut detail = json!({
            "success_gpt": if completion.success { "1" } else { "0" },
            "progress_gpt": completion.progress,
            "all_api_num_gt": counts.gold,
            "all_api_num_pre": counts.predicted,
            "right_api_num": counts.right,
        });
        if names == Names::Undefined {
            detail["agent_turns"] = json!(self.agent_turns());
            detail["gen_actions_string"] = json!(predicted);
        }
        self.scored(completion, counts, detail)
    }

    fn paper(&self, text: &str, judge: &mut Judge<'_>) -> Score {
        let turns_max = match self.scope {
            Scope::Single => Limits::SINGLE_TURNS_MAX,
            Scope::Cross => Limits::CROSS_TURNS_MAX,
        };
        let over_limit = self.agent_turns() > turns_max as usize;
        let judged = self.completion(text, 1.0, judge);
        let completion =
            judged.map_or(Completion::NONE, |judged| Completion { success: judged.success && !over_limit, ..judged });
        let gold = matching_paper::gold_calls(self.gold_actions);
        let made = matching_paper::made_calls(self.messages);
        let counts = matching_paper::count(&gold, &made, self.tools, self.system_prompt, judge);
        let detail = json!({
            "gt_calls": counts.gold,
            "pred_calls": counts.predicted,
            "right_calls": counts.right,
            "success": u8::from(completion.success),
            "progress": completion.progress,
            "agent_turns": self.agent_turns(),
            "over_limit": over_limit,
            "setting": self.scope.name(),
            "domain": self.domain,
        });
        let mut score = self.scored(completion, counts, detail);
        let failed = judged.is_some() && !completion.success;
        let category = failed.then(|| {
            let heard = judge.ask(failure_type::question(self.id, self.prompts.failure_type(text)));
            heard.and_then(|heard| heard.kind(failure_type::category)).unwrap_or(FAILURE_TYPES)
        });
        score.values.insert(value::FAILED.to_owned(), f64::from(u8::from(failed)));
        for other in 1..=FAILURE_TYPES {
            score.values.insert(value::failure(other), f64::from(u8::from(category == Some(other))));
        }
        if let Some(category) = category {
            score.detail["failure_type"] = json!(category);
            if let Some(seen) = self.structured(&gold, &made) {
                score.detail["failure_structured"] = seen.detail();
            }
        }
        score
    }

    fn structured(&self, gold: &[Call<'_>], made: &[Call<'_>]) -> Option<StructuredFailure> {
        let gold: Vec<&str> = gold.iter().map(|call| call.name).collect();
        let made: Vec<&str> = made.iter().map(|call| call.name).collect();
        structured_failure(&gold, &made, self.charts, self.messages)
    }

    /// Makes the score with the values that all evaluators have.
    fn scored(&self, completion: Completion, counts: Counts, mut detail: Value) -> Score {
        let values = [
            (value::SUCCESS, f64::from(u8::from(completion.success))),
            (value::PROGRESS, completion.progress),
            (value::GOLD, counts.gold as f64),
            (value::PREDICTED, counts.predicted as f64),
            (value::RIGHT, counts.right as f64),
            (value::AGENT_TURNS, self.agent_turns() as f64),
        ];
        if let Some(failure) = self.failure {
            let by = if failure.is_agents() { "agent" } else { "simulator" };
            detail["broke_off"] = json!({ "reason": failure.as_str(), "by": by });
        }
        Score { values: values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(), detail }
    }
}
