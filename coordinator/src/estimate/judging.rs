//! Estimate of judges' calls and their cost.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::AddAssign;

use regatta_benchmarks::{Persona, Scoring, Suite, Verdicts};
use regatta_catalog::Sweep;
use regatta_proto::{
    BATCH, BenchmarkLock, Cell, ChatRequest, Circumstances, Digest, EndpointKind, EndpointSpec, ItemIndex, Judge, Lane,
    ModelSpec, Money, Question, Sampling, SessionSeed, SweepLock, Transcript, Usage, Verdict,
};
use serde::Serialize;

use super::{BYTES_A_TOKEN, OUTPUT_TOKENS_MAX, TOKENS_AN_IMAGE, play};

/// Personas that play the sessions: gold leaves nothing to judge in some benchmarks, noise nothing in others. What is asked more counts.
const PERSONAS: [Persona; 2] = [Persona::Oracle, Persona::Noisy(0.5)];
/// Times that scoring is asked again with the answers to what it asked before.
const ROUNDS_MAX: usize = 16;
/// Similarity of two texts of which nothing is known, in millionths.
const SIMILARITY: i32 = 500_000;
/// Bytes of a judgement's reply where no simulated judge says one.
const REPLY_BYTES: u64 = 400;

/// Calls to judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct JudgeCalls {
    /// Questions, as often as they are put to somebody.
    pub calls: u64,
    /// Prompt tokens.
    pub input_tokens: u64,
    /// Generated tokens.
    pub output_tokens: u64,
    /// Cost of these if the first reply can be taken; `None` when a price is unknown.
    pub cost: Option<Money>,
    /// Most that they can cost: a token a byte, and every reply as long and as often as it may be.
    pub at_most: Option<Money>,
}

impl JudgeCalls {
    /// Nobody is asked anything.
    pub const NONE: Self =
        Self { calls: 0, input_tokens: 0, output_tokens: 0, cost: Some(Money::ZERO), at_most: Some(Money::ZERO) };

    /// `question` to one model, which replies with so many bytes.
    #[must_use]
    pub fn of(question: &Question, to: &ModelSpec, lock: &SweepLock, reply_bytes: Option<u64>) -> Self {
        let endpoint = lock.endpoints.get(&to.id.endpoint);
        let prompt = prompt_bytes(question);
        let (images, image_tokens_max) = images(question);
        let (reply, most, tries) = match question {
            Question::Similarity { .. } => (0, 0, 1),
            Question::Judgement { replies_max, .. } => {
                let most = u64::from(to.max_tokens.unwrap_or(OUTPUT_TOKENS_MAX));
                (reply_bytes.unwrap_or(REPLY_BYTES), most, u64::from((*replies_max).max(1)))
            }
        };
        let usage = Usage {
            input: prompt.div_ceil(BYTES_A_TOKEN) + images * TOKENS_AN_IMAGE,
            output: reply.div_ceil(BYTES_A_TOKEN),
            ..Usage::default()
        };
        let is_free = endpoint.is_some_and(|endpoint| is_free(endpoint.kind));
        let price = if is_free { None } else { lock.judge(&to.id).and_then(|judge| judge.price) };
        let free = is_free.then_some(Money::ZERO);
        let circumstances = Circumstances { variant: is_batch(endpoint).then_some(BATCH), at: None };
        Self {
            calls: 1,
            input_tokens: usage.input,
            output_tokens: usage.output,
            cost: price.as_ref().map_or(free, |price| price.cost(&usage, &circumstances)),
            at_most: price
                .map(|price| Money(price.at_most(prompt + image_tokens_max, most).0.saturating_mul(tries)))
                .or(free),
        }
    }
}

impl AddAssign for JudgeCalls {
    fn add_assign(&mut self, more: Self) {
        let plus = |one: Option<Money>, other: Option<Money>| one.zip(other).map(|(one, other)| one + other);
        self.calls += more.calls;
        self.input_tokens += more.input_tokens;
        self.output_tokens += more.output_tokens;
        self.cost = plus(self.cost, more.cost);
        self.at_most = plus(self.at_most, more.at_most);
    }
}

/// `true` if nobody is paid for what it answers.
pub(super) const fn is_free(kind: EndpointKind) -> bool {
    matches!(kind, EndpointKind::Encoder | EndpointKind::Recorded)
}

fn is_batch(endpoint: Option<&EndpointSpec>) -> bool {
    endpoint.is_some_and(|endpoint| endpoint.lane == Lane::Batch)
}

fn prompt_bytes(question: &Question) -> u64 {
    match question {
        Question::Similarity { left, right } => left.iter().chain(right).map(|text| text.len() as u64).sum(),
        Question::Judgement { before, prompt, .. } => {
            before.iter().map(|message| message.content.len() as u64).sum::<u64>() + prompt.len() as u64
        }
    }
}

/// Number of the images that a judge is shown, and the most tokens that providers count for them.
fn images(question: &Question) -> (u64, u64) {
    match question {
        Question::Similarity { .. } => (0, 0),
        Question::Judgement { before, .. } => {
            let request = ChatRequest::new(before.clone(), Sampling::default());
            (request.images().count() as u64, request.media_tokens())
        }
    }
}

/// Judges' calls about the sessions of `cell`. `None` where nobody knows: answers of somebody else's agent are not simulated.
pub(super) fn judge_calls(sweep: &Sweep, cell: &Cell) -> Option<JudgeCalls> {
    let mut all = JudgeCalls::NONE;
    let (Some(suite), Some(lock)) = (sweep.suite(cell), sweep.benchmark(cell)) else { return Some(all) };
    let Some(judge) = &lock.judge else { return Some(all) };
    if cell.setting.external().is_some() {
        return None;
    }
    let mut add = |judge: &Judge, items: &mut dyn Iterator<Item = &ItemIndex>| {
        let rehearsal = Rehearsal { suite: suite.as_ref(), cell, lock, judge, sweep };
        for item in items {
            let asked = PERSONAS.map(|persona| rehearsal.asked(*item, persona));
            if let Some(most) = asked.into_iter().max_by_key(|asked| asked.calls) {
                all += most;
            }
        }
    };
    add(judge, &mut sweep.selected(cell).iter());
    if let (Some(audit), Some(audited)) = (&lock.audit, sweep.audited(cell)) {
        add(&audit.judge, &mut audited.iter());
    }
    Some(all)
}

/// Sessions that are played to see what judges are asked.
struct Rehearsal<'a> {
    suite: &'a dyn Suite,
    cell: &'a Cell,
    lock: &'a BenchmarkLock,
    judge: &'a Judge,
    sweep: &'a Sweep,
}

impl Rehearsal<'_> {
    /// Questions about the session of `item`, if a simulated judge answers.
    fn asked(&self, item: ItemIndex, persona: Persona) -> JudgeCalls {
        let setting = &self.cell.setting;
        let transcript: Transcript = play(self.suite, setting, item, persona, &self.cell.model, |_, _, _| {});
        let (mut all, mut known) = (JudgeCalls::NONE, Guesses::default());
        for _ in 0..ROUNDS_MAX {
            let scoring = self.suite.score_session(item, setting, &self.lock.evaluators, &transcript, &known);
            let questions = match scoring {
                Scoring::Needs(questions) => questions,
                Scoring::Scored(_) | Scoring::Unfit(_) | Scoring::Failed(_) => break,
            };
            let mut is_new = false;
            for question in questions {
                if let Entry::Vacant(unknown) = known.0.entry(question.digest()) {
                    is_new = true;
                    unknown.insert(self.put(&question, &mut all));
                }
            }
            if !is_new {
                break;
            }
        }
        all
    }

    /// Counts what is put to whom for a verdict on `question`, and gives one.
    fn put(&self, question: &Question, all: &mut JudgeCalls) -> Verdict {
        let members = self.judge.members();
        let count = |model: &ModelSpec, reply| JudgeCalls::of(question, model, &self.sweep.lock, reply);
        match question {
            Question::Similarity { left, right } => {
                // Figures of a model: a panel's first member gives them.
                members.iter().take(1).for_each(|model| *all += count(model, None));
                Verdict::Similarity { micro: vec![vec![SIMILARITY; right.len()]; left.len()] }
            }
            Question::Judgement { prompt, .. } => {
                let reply = self.suite.simulate_judge(prompt, Persona::Oracle, SessionSeed(0));
                let bytes = reply.as_ref().map(|reply| reply.len() as u64);
                let replies = vec![reply.unwrap_or_default()];
                let times = members.iter().flat_map(|model| (0..self.judge.repeats()).map(move |_| model));
                let mut said = Vec::new();
                for model in times {
                    *all += count(model, bytes);
                    said.push(replies.clone());
                }
                match self.judge.rule() {
                    Some(rule) => Verdict::Panel { rule, members: said },
                    None => Verdict::Replies { replies },
                }
            }
        }
    }
}

/// Answers that a simulated judge gives.
#[derive(Default)]
struct Guesses(HashMap<Digest, Verdict>);

impl Verdicts for Guesses {
    fn answer(&self, question: &Question) -> Option<Verdict> {
        self.0.get(&question.digest()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::{ChatMessage, ChatRole, Image};

    use super::*;

    #[test]
    fn an_image_that_a_judge_is_shown_counts_as_one_that_a_model_is_shown() {
        let question = |images: Vec<Image>| Question::Judgement {
            kind: "rubric".to_owned(),
            about: Vec::new(),
            before: vec![ChatMessage { images, ..ChatMessage::new(ChatRole::User, "Look.") }],
            prompt: "Is it right?".to_owned(),
            swapped: None,
            accept: Vec::new(),
            replies_max: 1,
        };
        let image = Image::of_base64("iVBORw0KGgo=").unwrap();
        let shown = question(vec![image.clone(), image]);
        assert_eq!(images(&shown), (2, 100_000));
        assert_eq!(prompt_bytes(&shown), prompt_bytes(&question(Vec::new())), "the file is no text");
        assert_eq!(images(&question(Vec::new())), (0, 0));
    }
}
