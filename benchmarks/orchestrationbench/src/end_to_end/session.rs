//! Replay of a session from its replies.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Reply};

use super::outcome::{Divergence, Outcome, Seen, StepOutcome};
use super::script::{Turn, turns};
use super::tasks::{Task, TaskKey, TaskState, next_task, tasks};
use super::tools::results;
use crate::data::{Data, Scenario, Suffix};
use crate::decision::{Answer, Decided, decided};
use crate::extraction::extract;
use crate::protocol::{decision_after, planning_after};

/// Greatest number of calls in a session. The gold of the longest scenario has 16.
pub(crate) const CALLS_MAX: usize = 64;

/// State of a session after its replies so far.
pub(crate) struct Session<'d> {
    data: &'d Data,
    scenario: &'d Scenario,
    turns: Vec<Turn>,
    /// Number of turns that have begun.
    begun: usize,
    history: Vec<ChatMessage>,
    tasks: Vec<Task>,
    done: HashSet<TaskKey>,
    next: Option<Asked>,
    calls: usize,
    extra_calls: usize,
    /// Outcomes of the gold's steps that calls were matched with.
    reached: BTreeMap<u32, StepOutcome>,
    /// Steps whose recorded results are in the history.
    told: BTreeSet<u32>,
    /// The history contains a result that is not recorded.
    told_other: bool,
}

/// The next call: who is asked, and the matched step of the gold.
#[derive(Debug, Clone, Copy)]
struct Asked {
    who: Who,
    step: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
enum Who {
    Main,
    /// The agent of this task.
    Sub(usize),
}

impl<'d> Session<'d> {
    /// Replays `replies`, all of the agent; replies after the session's end are ignored.
    pub(crate) fn replay<'r>(
        data: &'d Data,
        scenario: &'d Scenario,
        replies: impl IntoIterator<Item = &'r Reply>,
    ) -> Self {
        let mut session = Self {
            data,
            scenario,
            turns: turns(scenario),
            begun: 0,
            history: Vec::new(),
            tasks: Vec::new(),
            done: HashSet::new(),
            next: None,
            calls: 0,
            extra_calls: 0,
            reached: BTreeMap::new(),
            told: BTreeSet::new(),
            told_other: false,
        };
        session.go_on();
        for reply in replies {
            let Some(asked) = session.next.take() else { break };
            session.hear(asked, reply);
            session.go_on();
        }
        session
    }

    /// Returns the next request; `None` when the session is over.
    pub(crate) fn request(&self) -> Option<ChatRequest> {
        let history = self.history.clone();
        match self.next?.who {
            Who::Main => Some(planning_after(self.data, self.scenario, history)),
            Who::Sub(task) => {
                let task = self.tasks.get(task)?;
                decision_after(self.data, self.scenario, &task.agent, history, task.query.clone())
            }
        }
    }

    /// Returns the gold's step that is matched with the next call; `None` if there is no such step or no next call.
    pub(crate) fn step(&self) -> Option<u32> {
        self.next?.step
    }

    /// Returns the outcome so far.
    pub(crate) fn outcome(&self) -> Outcome {
        let decisions = self.scenario.decisions.iter().filter(|one| one.is_asked).map(|one| one.step);
        let steps: BTreeSet<u32> = self.scenario.planning.iter().copied().chain(decisions).collect();
        let outcome = |step: u32| {
            let unreached = StepOutcome { step, reply: None, seen: Seen::NotReached, divergence: None };
            self.reached.get(&step).copied().unwrap_or(unreached)
        };
        Outcome {
            steps: steps.into_iter().map(outcome).collect(),
            extra_calls: self.extra_calls,
            is_bounded: self.calls >= CALLS_MAX,
        }
    }

    /// Determines the next call.
    fn go_on(&mut self) {
        while self.next.is_none() && self.calls < CALLS_MAX {
            if let Some(task) = next_task(&self.tasks) {
                self.begin_task(task);
            } else if !self.begin_turn() {
                break;
            }
        }
    }

    /// Makes the task's agent the next one to ask, or closes the task if the agent does not exist.
    fn begin_task(&mut self, at: usize) {
        let Some(task) = self.tasks.get_mut(at) else { return };
        if self.data.agents(self.scenario.language).card(&task.agent).is_none() {
            task.state = TaskState::Done;
            return;
        }
        let agent = task.agent.clone();
        self.next = Some(Asked { who: Who::Sub(at), step: self.step_of(&agent) });
    }

    /// Finds the gold's step that is matched with the agent's next call.
    fn step_of(&self, agent: &str) -> Option<u32> {
        let is_free = |step: &u32| {
            let decision = self.scenario.decision(*step);
            decision.is_some_and(|one| *one.agent == *agent) && !self.reached.contains_key(step)
        };
        let here = self.turn().and_then(|turn| turn.decisions.iter().copied().find(is_free));
        here.or_else(|| self.scenario.decisions.iter().map(|one| one.step).find(is_free))
    }

    fn turn(&self) -> Option<&Turn> {
        self.turns.get(self.begun.checked_sub(1)?)
    }

    /// Begins the next turn and returns `false` if there is none.
    fn begin_turn(&mut self) -> bool {
        let Some(turn) = self.turns.get(self.begun) else { return false };
        self.begun += 1;
        self.history.extend(turn.told.iter().cloned());
        let mut goes_on = false;
        for task in self.tasks.iter_mut().filter(|task| task.state == TaskState::Waiting) {
            task.state = TaskState::Open;
            goes_on = true;
        }
        if turn.plan.is_some() || (turn.is_answered() && !goes_on) {
            self.next = Some(Asked { who: Who::Main, step: turn.plan });
        }
        true
    }

    fn hear(&mut self, asked: Asked, reply: &Reply) {
        let number = self.calls;
        self.calls += 1;
        let seen = asked.step.map(|step| self.seen(step));
        let answer = Answer::of_reply(reply);
        let divergence = match asked.who {
            Who::Main => self.hear_main(asked.step, &answer),
            Who::Sub(task) => self.hear_sub(task, asked.step, &answer),
        };
        match (asked.step, seen) {
            (Some(step), Some(seen)) => {
                self.reached.insert(step, StepOutcome { step, reply: Some(number), seen, divergence });
            }
            _ => self.extra_calls += 1,
        }
    }

    /// Compares the history before a step with that of the gold.
    fn seen(&self, step: u32) -> Seen {
        let is_here = |turn: &Turn| turn.plan == Some(step) || turn.decisions.contains(&step);
        if !self.turn().is_some_and(is_here) {
            return Seen::OtherTurn;
        }
        let gold = self.scenario.decisions.iter().filter(|one| one.is_asked && one.step < step);
        let gold = gold.map(|one| one.step).filter(|step| self.scenario.label(*step, Suffix::Result).is_some());
        if self.told_other || !gold.eq(self.told.iter().copied()) { Seen::OtherResults } else { Seen::AsInGold }
    }

    fn hear_main(&mut self, step: Option<u32>, answer: &Answer) -> Option<Divergence> {
        let text = answer.text.as_deref().unwrap_or_default();
        self.tell(spoken(text));
        let extraction = extract(text);
        if let Some(plan) = extraction.plan() {
            self.tasks = tasks(plan, &self.done);
        }
        let gold = self.scenario.label(step?, Suffix::Message)?.content.text()?;
        let gold = extract(gold);
        let agents = |tasks: &[Task]| -> Vec<String> {
            tasks.iter().filter(|task| task.state == TaskState::Open).map(|task| task.agent.clone()).collect()
        };
        let is_gold = match (extraction.plan(), gold.plan()) {
            (Some(_), Some(gold)) => agents(&self.tasks) == agents(&tasks(gold, &self.done)),
            // An unreadable gold plan asks for nothing, so any plan agrees with it.
            (_, None) => true,
            (None, Some(_)) => false,
        };
        (!is_gold).then_some(Divergence::Plan)
    }

    fn hear_sub(&mut self, at: usize, step: Option<u32>, answer: &Answer) -> Option<Divergence> {
        let text = answer.text.as_deref().unwrap_or_default();
        let task = self.tasks.get_mut(at)?;
        task.query = None;
        let agent = task.agent.clone();
        let is_rejection = matches!(decided(answer), Ok(Decided::Rejection(_)));
        let is_call = !is_rejection && !answer.calls.is_empty();
        task.state = if is_rejection { TaskState::Waiting } else { TaskState::Done };
        if !is_rejection {
            self.done.insert(task.key());
        }
        let mut results_told = BTreeSet::new();
        if is_call {
            let card = self.data.agents(self.scenario.language).card(&agent)?;
            for returned in results(self.scenario, card, step, &answer.calls) {
                self.tell(&returned.text);
                match returned.step {
                    Some(step) => {
                        results_told.insert(step);
                    }
                    None => self.told_other = true,
                }
            }
            self.told.extend(&results_told);
        } else {
            self.tell(spoken(text));
        }
        let gold_calls = self.scenario.gold(step?).is_some_and(|gold| !gold.calls.is_empty());
        if gold_calls != is_call {
            Some(Divergence::Decision)
        } else if is_call && results_told != step.into_iter().collect() {
            Some(Divergence::Result)
        } else {
            None
        }
    }

    fn tell(&mut self, text: &str) {
        if !text.is_empty() {
            self.history.push(ChatMessage::new(ChatRole::Assistant, Arc::<str>::from(text)));
        }
    }
}

/// Returns the text after the last thinking block.
fn spoken(text: &str) -> &str {
    text.rsplit_once("</think>").map_or(text, |(_, spoken)| spoken).trim()
}
