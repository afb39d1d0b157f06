//! Simulated models, so that the whole benchmark runs without a real one: agents and a judge that answer with the
//! gold, or err with a given probability.

mod arguments;
mod decision;
mod draft;
mod judge;
mod mistakes;
mod planning;
mod recognise;

#[cfg(test)]
mod tests;

use regatta_proto::{Finish, Reply, SessionSeed};

use super::data::{Data, Scenario};
use mistakes::Mistakes;
use regatta_benchmarks::Persona;

pub(crate) use self::judge::reply as judge_reply;
pub(crate) use self::recognise::Requests;

/// Returns a model's reply at a step of a scenario: the gold verbatim, or with mistakes drawn from `seed`. Empty at a
/// step at which no model is asked.
pub(crate) fn reply(data: &Data, scenario: &Scenario, step: u32, persona: Persona, seed: SessionSeed) -> Reply {
    let purpose = format!("orchestrationbench/{}/{step}", scenario.name());
    let mut mistakes = Mistakes::of(persona, seed, &purpose);
    if scenario.planning.contains(&step) {
        let text = planning::text(data, scenario, step, &mut mistakes);
        Reply::of_text(Some(&text), Finish::Stop)
    } else {
        decision::reply(data, scenario, step, &mut mistakes)
    }
}
