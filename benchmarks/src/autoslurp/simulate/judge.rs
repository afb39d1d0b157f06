//! A simulated judge of the official evaluators (SPEC, section 7.3).

use regatta_proto::SessionSeed;

use crate::Persona;

/// What a judge of this `persona` replies to the user message `prompt`; `None` when it is neither of the two judgements.
pub(crate) fn reply(prompt: &str, persona: Persona, seed: SessionSeed) -> Option<String> {
    let _ = (prompt, persona, seed);
    None
}
