//! Simulated models for every role, so that the whole benchmark runs without a real one: an agent, a user, tools and judges that know the
//! gold, or get it wrong with a given probability.

mod agent;
mod judge;
mod noise;
mod simulators;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use regatta_proto::{ChatRequest, ChatRole, Role, SessionSeed, rng};

use super::data::Entry;
use super::prompts::OfficialJudges;
use regatta_benchmarks::Persona;

pub(crate) use self::judge::reply as judge_reply;

/// What a model that plays `role` answers in the session of `entry` to `request`; `judges` says how judges are asked
/// officially, where that is known.
pub(crate) fn reply(
    entry: &Entry,
    judges: Option<&OfficialJudges>,
    role: Role,
    persona: Persona,
    seed: SessionSeed,
    request: &ChatRequest,
) -> String {
    let last = request.messages.iter().rfind(|message| message.role == ChatRole::User);
    let asked = last.map(|message| &*message.content).unwrap_or_default();
    match role {
        Role::Agent => agent::reply(entry, persona, seed, request),
        Role::User => simulators::user(entry, persona, seed, asked),
        Role::Environment => simulators::environment(entry, persona, seed, asked),
        Role::Judge => judge::reply(asked, judges, persona, seed).unwrap_or_default(),
    }
}

/// How often a persona errs, with the draws for one of its replies: equal requests of one session are answered alike.
struct Mistakes {
    probability: f64,
    draws: ChaCha8Rng,
}

impl Mistakes {
    fn of(persona: Persona, seed: SessionSeed, purpose: &str) -> Self {
        let probability = match persona {
            Persona::Oracle => 0.0,
            Persona::Noisy(probability) => probability,
        };
        Self { probability, draws: rng(seed.0, purpose) }
    }

    /// Whether it errs here, `share` being how much rarer this mistake is than others. Never for the oracle.
    fn happens(&mut self, share: f64) -> bool {
        // A comparison with a draw from 0..1 is never true for 0 and never panics, whatever the number.
        self.draws.random::<f64>() < self.probability * share
    }

    fn pick(&mut self, of: usize) -> usize {
        self.draws.random_range(0..of.max(1))
    }
}
