//! Values of scores that verdicts of judges change, found by scoring the same sessions with judges of several minds.

use std::collections::{BTreeMap, BTreeSet};

use regatta_benchmarks::{Persona, Scores, Scoring, Simulated, Suite, Verdicts};
use regatta_proto::{Digest, Evaluator, ItemIndex, Question, SessionSeed, Setting, Transcript, Verdict};

use super::driving::drive;

/// The judge that a suite simulates, when it is right. It panics at a prompt that the suite does not recognise as one of its own.
pub struct SimulatedJudge<'s>(pub &'s dyn Simulated);

impl Verdicts for SimulatedJudge<'_> {
    fn answer(&self, question: &Question) -> Option<Verdict> {
        let Question::Judgement { prompt, .. } = question else { return None };
        let reply = self.0.simulate_judge(prompt, Persona::Oracle, SessionSeed(1));
        let reply = reply.unwrap_or_else(|| panic!("the suite recognises no judgement in the prompt {prompt:?}"));
        Some(Verdict::Replies { replies: vec![reply] })
    }
}

/// Judges that differ: the simulated one of the suite, right, mostly wrong, and wrong each second time by two seeds.
const MINDS: [(Persona, u64); 4] =
    [(Persona::Oracle, 1), (Persona::Noisy(1.0), 1), (Persona::Noisy(0.5), 2), (Persona::Noisy(0.5), 3)];
/// Similarities of texts that an encoder finds alike, or not.
const MICRO: [i32; 2] = [100_000, 900_000];

/// A judge of one mind.
struct Mind<'s> {
    suite: &'s dyn Simulated,
    persona: Persona,
    seed: u64,
}

impl Verdicts for Mind<'_> {
    fn answer(&self, question: &Question) -> Option<Verdict> {
        match question {
            Question::Similarity { left, right } => {
                let micro = |one: &String, other: &String| {
                    let drawn = Digest::of_parts([&self.seed.to_le_bytes(), one.as_bytes(), other.as_bytes()]);
                    MICRO[usize::from(drawn.bytes()[0] % 2)]
                };
                let row = |one: &String| right.iter().map(|other| micro(one, other)).collect();
                Some(Verdict::Similarity { micro: left.iter().map(row).collect() })
            }
            Question::Judgement { prompt, .. } => {
                let reply = self.suite.simulate_judge(prompt, self.persona, SessionSeed(self.seed))?;
                Some(Verdict::Replies { replies: vec![reply] })
            }
        }
    }
}

/// Scores each session of `settings`, played by right and by wrong agents, with judges of several minds, and returns the values that differ
/// between these.
///
/// # Panics
/// If a session cannot be scored, or a value differs that `suite` does not declare as judged.
pub fn judged_values(
    suite: &dyn Suite,
    settings: &[Setting],
    evaluators: &[Evaluator],
) -> BTreeSet<(Evaluator, String)> {
    let mut found = BTreeSet::new();
    for setting in settings {
        for item in suite.select(setting, &[], None).unwrap() {
            for agent in [Persona::Oracle, Persona::Noisy(0.5)] {
                let transcript = drive(suite, item, setting, agent, 7);
                let scored = MINDS.map(|mind| flat(score(suite, setting, item, evaluators, &transcript, mind)));
                found.extend(differing(&scored));
            }
        }
    }
    for (evaluator, value) in &found {
        assert!(suite.is_judged(*evaluator, value), "judges change {value} of {evaluator}, which is not declared");
    }
    found
}

fn score(
    suite: &dyn Suite,
    setting: &Setting,
    item: ItemIndex,
    evaluators: &[Evaluator],
    transcript: &Transcript,
    (persona, seed): (Persona, u64),
) -> Scores {
    match suite.score_session(item, setting, evaluators, transcript, &Mind { suite, persona, seed }) {
        Scoring::Scored(scores) => scores,
        other => panic!("item {item} of {setting}: {other:?}"),
    }
}

fn flat(scores: Scores) -> BTreeMap<(Evaluator, String), f64> {
    let of = |(evaluator, score): (Evaluator, regatta_benchmarks::Score)| {
        score.values.into_iter().map(move |(name, value)| ((evaluator, name), value))
    };
    scores.into_iter().flat_map(of).collect()
}

/// Keys of the values that are not the same in all of `scored`, or not in all.
fn differing(scored: &[BTreeMap<(Evaluator, String), f64>]) -> BTreeSet<(Evaluator, String)> {
    let keys: BTreeSet<&(Evaluator, String)> = scored.iter().flat_map(BTreeMap::keys).collect();
    let differs = |key: &&(Evaluator, String)| scored.windows(2).any(|pair| pair[0].get(*key) != pair[1].get(*key));
    keys.into_iter().filter(differs).cloned().collect()
}
