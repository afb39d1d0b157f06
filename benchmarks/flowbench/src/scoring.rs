//! Scoring of an item's transcript, or the questions that judges must answer first.

use regatta_benchmarks::{Score, Scores, Scoring, Verdicts};
use regatta_proto::{Evaluator, Event, Reply, Transcript};

use super::data::{Content, Entry, Tool};
use super::flowchart::Flowchart;
use super::prompts::{OfficialJudges, completion, failure_type, workflow_info};
use super::protocol::{Failure, Message, TurnStep};
use super::session::{conversation, inference, plan};
use super::session_level::{self, JudgePrompts};
use super::setting::{Format, Stop};
use super::turn_level::{self, GoldCall, GoldTurn, ParameterSchema, ToolSchema, TurnRecord};

/// Reason why an incomplete transcript cannot be scored.
const UNFINISHED: &str = "the session is not at its end";

/// The answer to an item.
pub(crate) enum Answer<'a> {
    /// Output of a turn; `None` for a prediction that is not a text.
    Turn(Option<&'a str>),
    /// Messages of a conversation, and the failure that aborted it, if any.
    Session(&'a [Message], Option<&'a Failure>),
}

/// Scores the session of `entry`. Judges get the `official` prompts where these are known.
pub(crate) fn score(
    entry: &Entry,
    official: Option<&OfficialJudges>,
    evaluators: &[Evaluator],
    transcript: &Transcript,
    verdicts: &dyn Verdicts,
) -> Scoring {
    let id = entry.id.as_str();
    if let Some(reply) = recorded(transcript) {
        return match entry.content {
            Content::SessionTurn(..) | Content::TurnRecord(_) => {
                score_answer(id, entry, official, &Answer::Turn(reply.text.as_deref()), evaluators, verdicts)
            }
            Content::Session(_) | Content::SessionRecord(_) => match super::predictions::messages_of(reply) {
                Ok(messages) => {
                    score_answer(id, entry, official, &Answer::Session(&messages, None), evaluators, verdicts)
                }
                Err(error) => Scoring::Unfit(error.to_string()),
            },
        };
    }
    let Some(script) = entry.script() else {
        let turn = match inference(transcript) {
            Ok(turn) => turn,
            Err(unexpected) => return Scoring::Unfit(unexpected.to_string()),
        };
        let output = match turn.step() {
            TurnStep::Predicted(text) => text,
            TurnStep::Lost => "",
            TurnStep::Ask => return Scoring::Unfit(UNFINISHED.to_owned()),
        };
        return score_answer(id, entry, official, &Answer::Turn(Some(output)), evaluators, verdicts);
    };
    let mut why = UNFINISHED.to_owned();
    for stop in [Stop::Paper, Stop::Code] {
        let plan = plan(entry, &script, stop);
        let conversation = match conversation(&plan, transcript) {
            Ok(conversation) => conversation,
            Err(unexpected) => {
                why = unexpected.to_string();
                continue;
            }
        };
        // A transcript is that of a whole session. Under limits other than its own, it is too long or incomplete,
        // unless it reaches neither limit, in which case the result is the same.
        if let Some(ending) = conversation.ending() {
            let answer = Answer::Session(conversation.messages(), ending.failure());
            return score_answer(id, entry, official, &answer, evaluators, verdicts);
        }
    }
    Scoring::Unfit(why)
}

/// Returns the scores of a session that failed because of the agent: those of an empty turn, or of a conversation
/// without messages.
pub(crate) fn score_failure(entry: &Entry, evaluators: &[Evaluator]) -> Scores {
    let answer = match entry.content {
        Content::SessionTurn(..) | Content::TurnRecord(_) => Answer::Turn(Some("")),
        Content::Session(_) | Content::SessionRecord(_) => Answer::Session(&[], Some(&Failure::NoAgentOutput)),
    };
    match score_answer(entry.id.as_str(), entry, None, &answer, evaluators, &Worst) {
        Scoring::Scored(scores) => scores,
        Scoring::Needs(_) | Scoring::Unfit(_) | Scoring::Failed(_) => Scores::new(),
    }
}

/// Returns `true` if a judge's verdict can change `value`. Judges compare arguments, grade replies, and say whether goals were reached and
/// why not; calls, nodes and turns are counted.
pub(crate) fn is_judged(value: &str) -> bool {
    turn_level::JUDGED.contains(&value) || session_level::is_judged(value)
}

/// A judge that gives the worst verdicts.
struct Worst;

impl Verdicts for Worst {
    fn answer(&self, question: &regatta_proto::Question) -> Option<regatta_proto::Verdict> {
        let regatta_proto::Question::Judgement { .. } = question else { return None };
        Some(regatta_proto::Verdict::Replies { replies: vec!["no\nScore: 0\nType: 5".to_owned()] })
    }
}

/// Returns the reply of a prediction, if the transcript is one.
pub(crate) fn recorded(transcript: &Transcript) -> Option<&Reply> {
    transcript.events.iter().find_map(|event| match event {
        Event::Recorded(reply) => Some(reply),
        _ => None,
    })
}

/// Scores one answer. `id` identifies judgements of it: the id of the item, or of one of several predictions for it.
pub(crate) fn score_answer(
    id: &str,
    entry: &Entry,
    official: Option<&OfficialJudges>,
    answer: &Answer<'_>,
    evaluators: &[Evaluator],
    verdicts: &dyn Verdicts,
) -> Scoring {
    let system = entry.reference_system();
    let tools: Vec<ToolSchema> = entry.tools().into_iter().map(|tool| schema(tool)).collect();
    match *answer {
        Answer::Turn(output) => {
            let workflow_text = entry.workflow_text();
            let record = TurnRecord {
                id,
                system_prompt: &system,
                gold: gold(entry),
                tools: &tools,
                workflow_text: &workflow_text,
                official,
            };
            turn_level::score(&record, output, evaluators, verdicts)
        }
        Answer::Session(messages, failure) => {
            let script = entry.script();
            let charts: Vec<&Flowchart> = entry.group.scenarios.iter().map(|scenario| &*scenario.chart).collect();
            let target = script.as_ref().map(|script| &*script.user_target).unwrap_or_default();
            let session = session_level::Session {
                id,
                scope: entry.group.scope,
                domain: &entry.group.domain,
                messages,
                failure,
                gold_actions: script.as_ref().map(|script| &*script.gold_actions).unwrap_or_default(),
                system_prompt: &system,
                tools: &tools,
                charts: &charts,
                prompts: &Prompts { entry, target, official },
                official,
            };
            session_level::score(&session, evaluators, verdicts)
        }
    }
}

/// Prompts for the judges of a session. They show the workflow as prose whatever the agent got, so that all formats
/// are judged alike (docs/benchmarks/flowbench.md §8.2), even where the official prompt mentions a chart.
struct Prompts<'a> {
    entry: &'a Entry,
    target: &'a str,
    official: Option<&'a OfficialJudges>,
}

impl Prompts<'_> {
    fn workflow(&self) -> String {
        let system = self.entry.system(Format::Text).unwrap_or_else(|| self.entry.reference_system());
        workflow_info(&system).to_owned()
    }
}

impl JudgePrompts for Prompts<'_> {
    fn completion(&self, dialogue: &str) -> String {
        let workflow = self.workflow();
        self.official
            .and_then(|official| official.completion(self.target, &workflow, dialogue))
            .unwrap_or_else(|| completion(self.target, &workflow, dialogue))
    }

    fn failure_type(&self, dialogue: &str) -> String {
        failure_type(self.target, &self.workflow(), dialogue)
    }
}

fn gold(entry: &Entry) -> GoldTurn<'_> {
    let Some(gold) = entry.gold() else { return GoldTurn::default() };
    let call = match (gold.action(), gold.action_input()) {
        (Some(action), Some(input)) if !action.is_empty() && !input.is_empty() => Some(GoldCall { action, input }),
        _ => None,
    };
    GoldTurn { call, current_node: gold.text("current_node"), response: gold.response.as_deref().unwrap_or_default() }
}

fn schema(tool: &Tool) -> ToolSchema {
    let parameters = tool.inputs.keys().filter_map(|name| {
        let parameter = tool.parameter(name)?;
        let description = parameter.description().to_owned();
        Some(ParameterSchema { name: name.clone(), required: parameter.required(), description })
    });
    ToolSchema { name: tool.name.to_string(), parameters: parameters.collect() }
}

/// Makes the `aggregate` of the golden files for scores of turns, of sessions, or of both separately.
pub(crate) fn aggregate(evaluator: Evaluator, scores: &[(&Entry, &Score)]) -> serde_json::Value {
    let of = |is_turn: bool| -> Vec<&Score> {
        scores.iter().filter(|(entry, _)| entry.gold().is_some() == is_turn).map(|(_, score)| *score).collect()
    };
    match (of(true), of(false)) {
        (turns, sessions) if sessions.is_empty() => turn_level::aggregate(evaluator, &turns),
        (turns, sessions) if turns.is_empty() => session_level::aggregate(evaluator, &sessions),
        (turns, sessions) => serde_json::json!({
            "turn": turn_level::aggregate(evaluator, &turns),
            "session": session_level::aggregate(evaluator, &sessions),
        }),
    }
}
