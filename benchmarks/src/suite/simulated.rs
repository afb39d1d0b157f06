//! Simulated models, which answer from the gold of a data set.

use regatta_proto::{ChatRequest, ItemIndex, Reply, Role, SessionSeed, Setting};

use crate::{Dataset, Persona};

/// A reply of a simulated model that the benchmark failed to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the benchmark failed to play this model; the log of this process says why")]
pub struct Unplayed;

/// Replies of simulated models, so that sessions run without any model. Optional: where a benchmark knows no replies, models say nothing and
/// no request is recognised.
pub trait Simulated: Dataset {
    /// Returns the reply of a simulated model that plays `role` to `request` in the session of `item`: a text, tool
    /// calls, or both. The id of each call is unique in the session. Simulated replies have no reasoning and no log
    /// probabilities. A reply without text and calls where the benchmark knows none, as by default.
    fn simulate(
        &self,
        item: ItemIndex,
        setting: &Setting,
        role: Role,
        persona: Persona,
        seed: SessionSeed,
        request: &ChatRequest,
    ) -> Reply {
        let _ = (item, setting, role, persona, seed, request);
        Reply::said("")
    }

    /// Returns the reply as [`simulate`](Self::simulate) does, for those who answer in a model's place.
    ///
    /// # Errors
    /// When there is none because something of the benchmark failed, which has said why: no reply of a model stands for that.
    fn try_simulate(
        &self,
        item: ItemIndex,
        setting: &Setting,
        role: Role,
        persona: Persona,
        seed: SessionSeed,
        request: &ChatRequest,
    ) -> Result<Reply, Unplayed> {
        Ok(self.simulate(item, setting, role, persona, seed, request))
    }

    /// Finds the item whose session `request` belongs to, for callers that do not name it; the first one when several
    /// match, and `None` when none does, as by default.
    fn recognise(&self, request: &ChatRequest) -> Option<ItemIndex> {
        let _ = request;
        None
    }

    /// Returns a simulated judge's reply to `prompt`, the last message of the judge's request. `None` if `prompt` is
    /// not one of this benchmark's.
    fn simulate_judge(&self, prompt: &str, persona: Persona, seed: SessionSeed) -> Option<String> {
        let _ = (prompt, persona, seed);
        None
    }

    /// Returns a correct reply of the agent to `request` in the session of `item`, for people who inspect the
    /// session; others may be correct too. `None` where none is known.
    fn right_reply(&self, item: ItemIndex, setting: &Setting, request: &ChatRequest) -> Option<Reply> {
        // The oracle draws random numbers for the ids of its calls alone, so any seed will do.
        let seed = SessionSeed(0);
        let reply = self.simulate(item, setting, Role::Agent, Persona::Oracle, seed, request);
        (reply.answer_bytes() > 0).then_some(reply)
    }
}
