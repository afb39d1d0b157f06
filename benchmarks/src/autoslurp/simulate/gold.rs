//! What a model that knows the gold of an utterance says as each agent, in pieces that know no policy: the policies put them into the forms
//! that their agents speak.

use jiff::civil::Date;
use regatta_proto::SessionSeed;

use crate::Persona;
use crate::autoslurp::data::Utterance;

/// A slot: name and value.
pub(crate) type Slot = (String, String);

/// What is to be said and done for one utterance. Each piece belongs to one member, and is right or wrong by itself: a cast that has the intent
/// agent played by a worse model spoils the intent alone.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gold {
    domain: String,
    intent: String,
    slots: Vec<Slot>,
}

impl Gold {
    /// The gold of `utterance` on the day `today`, without mistakes.
    pub(crate) fn of(utterance: &Utterance, today: Date) -> Self {
        let _ = today;
        Self { domain: utterance.domain.clone(), intent: utterance.intent.clone(), slots: Vec::new() }
    }

    /// The same as a model of this `persona` has it in the session of `seed`: each piece is wrong with its probability.
    pub(crate) fn perturbed(self, persona: Persona, seed: SessionSeed) -> Self {
        let _ = (persona, seed);
        self
    }

    /// For the url, execution and request agents: the same, when the intent agent has said `output`. Who has heard another intent or other slots
    /// goes by these.
    pub(crate) fn heard(self, output: &str) -> Self {
        let _ = output;
        self
    }

    /// Whether a step of a policy's own, as the manager's choice of who is next, goes wrong: `step` names it, and equal steps of one session go
    /// alike. Never for the oracle.
    pub(crate) fn slips(&self, step: &str) -> bool {
        let _ = step;
        false
    }

    /// The domain that the intent agent says.
    pub(crate) fn domain(&self) -> &str {
        &self.domain
    }

    /// The intent that the intent agent says.
    pub(crate) fn intent(&self) -> &str {
        &self.intent
    }

    /// The slots that the intent agent says, with values as spoken.
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// What the intent agent says: `domain:X,intent:Y,slot:value,…`.
    pub(crate) fn intent_text(&self) -> String {
        String::new()
    }

    /// The same as one JSON object: `{"domain": …, "intent": …, "slots": {…}}`.
    pub(crate) fn intent_json(&self) -> String {
        String::new()
    }

    /// Whether there is a time or a date for the time agent.
    pub(crate) fn needs_time(&self) -> bool {
        false
    }

    /// Whether there is a place for the location agent.
    pub(crate) fn needs_location(&self) -> bool {
        false
    }

    /// What the time agent says: `slot:value,…`, with dates as `2025-05-28` and times as `10:00` where the gold can be read.
    pub(crate) fn time_text(&self) -> String {
        String::new()
    }

    /// What the location agent says: `slot:value,…`.
    pub(crate) fn location_text(&self) -> String {
        String::new()
    }

    /// The URL to GET next, when the requests so far were answered with `answers` (bodies, whatever stands before the first `{` aside);
    /// `None` when there is nothing to be requested any more, or at all.
    pub(crate) fn next_url(&self, answers: &[&str]) -> Option<String> {
        let _ = answers;
        None
    }

    /// The same for AgentLite's `request(url, query)`: a local server's URL stands without parameters, which are the JSON object `query`.
    pub(crate) fn next_post(&self, answers: &[&str]) -> Option<(String, String)> {
        let _ = answers;
        None
    }

    /// What the person is told in the end, by the bodies that came back.
    pub(crate) fn answer(&self, answers: &[&str]) -> String {
        let _ = answers;
        String::new()
    }
}
