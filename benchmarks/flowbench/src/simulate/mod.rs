//! Simulated models for every role, so that the whole benchmark runs without a real one: agent, user, tools and
//! judges that answer with the gold, or err with a given probability.

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

/// Returns the reply of a model that plays `role` in the session of `entry` to `request`; `judges` are the official
/// prompts of judges, where they are known.
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

/// Error rate of a persona, with the random draws for one reply: equal requests of a session always get the same answer.
struct Mistakes {
    probability: f64,
    draws: ChaCha8Rng,
}

impl Mistakes {
    fn of(persona: Persona, seed: SessionSeed, purpose: &str) -> Self {
        Self { probability: persona.error_probability(), draws: rng(seed.0, purpose) }
    }

    /// Draws if a mistake happens here; `share` scales the persona's probability. Never `true` for the oracle.
    fn happens(&mut self, share: f64) -> bool {
        // The comparison is never true for 0 and accepts any number, where a Bernoulli distribution would panic.
        self.draws.random::<f64>() < self.probability * share
    }

    fn pick(&mut self, of: usize) -> usize {
        self.draws.random_range(0..of.max(1))
    }
}
