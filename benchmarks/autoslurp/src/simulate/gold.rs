//! Texts and requests of a model that knows the gold of an utterance, for each agent, in pieces that know no policy: the policies put them
//! into the forms that their agents speak.

use jiff::civil::Date;
use regatta_benchmarks::Persona;
use regatta_proto::SessionSeed;

use super::mistakes::{Mistakes, Slips};
use super::plan::{Form, Plan, server_for};
use super::said::{Said, listed, pairs};
use super::{Slot, answering, resolved, wrong};
use crate::data::Utterance;

/// The right text and request of each member for one utterance. Each piece belongs to one member, and is right or wrong by itself: a cast
/// that has the intent agent played by a worse model spoils the intent alone.
///
/// The policies make it anew for each reply: [`Gold::of`] the utterance, [`Gold::perturbed`] as the model that replies has it, and [`Gold::heard`]
/// with what other members have said before, for those who go by it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gold {
    text: String,
    today: Date,
    /// The gold, or what the intent agent was heard to say.
    said: Said,
    /// The slots as they go into requests.
    slots: Vec<Slot>,
    slips: Slips,
    persona: Persona,
    seed: SessionSeed,
}

/// Earlier texts of other members, word for word. A member without a text counts as right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Heard<'a> {
    /// Text of the intent agent.
    pub(crate) intent: Option<&'a str>,
    /// Text of the time agent.
    pub(crate) time: Option<&'a str>,
    /// Text of the location agent.
    pub(crate) location: Option<&'a str>,
}

impl Gold {
    /// The gold of `utterance` on the day `today`, without mistakes. Requests hold the slots as the official evaluator resolves them, no better:
    /// what can be reached is then what the data set allows (docs/benchmarks/autoslurp.md §2.3).
    pub(crate) fn of(utterance: &Utterance, today: Date) -> Self {
        let intent = utterance.intent.clone();
        let mut said = Said { domain: utterance.domain.clone(), intent, slots: resolved::spoken(&utterance.slots) };
        if said.domain.is_empty() {
            said.domain = domain_of(&said);
        }
        Self {
            text: utterance.text.clone(),
            today,
            said,
            slots: resolved::on_day(&utterance.slots, today),
            slips: Slips::default(),
            persona: Persona::Oracle,
            seed: SessionSeed(0),
        }
    }

    /// The same as a model of this `persona` has it in the session of `seed`: each piece is wrong with its probability.
    pub(crate) fn perturbed(self, persona: Persona, seed: SessionSeed) -> Self {
        Self { slips: Slips::of(persona, seed), persona, seed, ..self }
    }

    /// The same for who goes by what others have said: another intent or other slots make another request, and so do other times and places.
    pub(crate) fn heard(mut self, heard: &Heard<'_>) -> Self {
        let is_gold = |output: &str| output.contains(&self.said.text());
        if let Some(mut said) = heard.intent.filter(|output| !is_gold(output)).and_then(Said::read) {
            if said.domain.is_empty() {
                said.domain = domain_of(&said);
            }
            self.slots = resolved::on_day(&resolved::as_in_data(&said.slots), self.today);
            self.said = said;
        }
        for (text, is_theirs) in [(heard.time, is_time as fn(&str) -> bool), (heard.location, is_place)] {
            let mut told = pairs(text.unwrap_or_default());
            for (name, value) in self.slots.iter_mut().filter(|(name, _)| is_theirs(name)) {
                if let Some(at) = told.iter().position(|(other, _)| other == name) {
                    *value = told.remove(at).1;
                }
            }
        }
        self
    }

    /// True if a step of a policy's own, as the manager's choice of the next member, goes wrong: `step` names it, and equal steps of one
    /// session go alike. Never for the oracle.
    pub(crate) fn slips(&self, step: &str) -> bool {
        Mistakes::of(self.persona, self.seed, &format!("step/{step}")).happens()
    }

    /// Prediction of the intent agent.
    pub(crate) fn said(&self) -> Said {
        self.slips.intent.map_or_else(|| self.said.clone(), |slip| wrong::said(&self.said, slip))
    }

    /// Text of the intent agent: `domain:X,intent:Y,slot:value,…`.
    pub(crate) fn intent_text(&self) -> String {
        self.said().text()
    }

    /// True if there is a time or a date for the time agent.
    pub(crate) fn needs_time(&self) -> bool {
        self.said.slots.iter().any(|(name, _)| is_time(name))
    }

    /// True if the time agent has to know what day it is.
    pub(crate) fn needs_date(&self) -> bool {
        self.said.slots.iter().any(|(name, _)| name.starts_with("date"))
    }

    /// True if there is a place for the location agent.
    pub(crate) fn needs_location(&self) -> bool {
        self.said.slots.iter().any(|(name, _)| is_place(name))
    }

    /// Text of the time agent: `slot:value,…`, with dates as `2025-05-28` and times as `10:00` where the gold can be read.
    pub(crate) fn time_text(&self) -> String {
        let times = self.slots_that(is_time);
        let times = self.slips.time.map_or_else(|| times.clone(), |slip| wrong::times(&times, slip));
        if times.is_empty() { "There is no time to work out.".to_owned() } else { listed(&times) }
    }

    /// Text of the location agent: `slot:value,…`.
    pub(crate) fn location_text(&self) -> String {
        let places = self.slots_that(is_place);
        let places = self.slips.location.map_or_else(|| places.clone(), |slip| wrong::places(&places, slip));
        if places.is_empty() { "There is no place to work out.".to_owned() } else { listed(&places) }
    }

    /// The URL to GET next, when the requests so far were answered with `answers` (bodies, whatever stands before the first `{` aside);
    /// `None` when there is nothing to be requested any more, or at all.
    pub(crate) fn next_url(&self, answers: &[&str]) -> Option<String> {
        self.requested()?.next(answers, Form::Get).map(|call| call.url())
    }

    /// The same for AgentLite's `request(url, query)`: a local server's URL stands without parameters, which are the JSON object `query`.
    pub(crate) fn next_post(&self, answers: &[&str]) -> Option<(String, String)> {
        self.requested()?.next(answers, Form::Post).map(|call| call.posted())
    }

    /// Final answer to the user, from the bodies of the servers' answers, in the order of the requests.
    pub(crate) fn answer(&self, answers: &[&str]) -> String {
        match self.slips.answer {
            Some(slip) => wrong::answer(slip),
            None => answering::reply(&self.plan(), answers),
        }
    }

    fn plan(&self) -> Plan {
        Plan::of(&self.said, &self.slots, &self.text)
    }

    fn requested(&self) -> Option<Plan> {
        match self.slips.request {
            Some(slip) => wrong::plan(self.plan(), slip),
            None => Some(self.plan()),
        }
    }

    fn slots_that(&self, are: impl Fn(&str) -> bool) -> Vec<Slot> {
        self.slots.iter().filter(|(name, _)| are(name)).cloned().collect()
    }
}

/// The domain of an intent, for files that do not say it.
fn domain_of(said: &Said) -> String {
    const SERVICES: [(&str, &str); 6] = [
        ("weather", "weather"),
        ("news_query", "news"),
        ("stock", "stock"),
        ("currency", "currency"),
        ("greet", "greet"),
        ("qa", "qa"),
    ];
    let service = SERVICES.into_iter().find(|(word, _)| said.intent.contains(word)).map(|(_, domain)| domain);
    let domain = service.or_else(|| server_for(said).map(|server| server.name));
    domain.unwrap_or("qa").to_owned()
}

/// Slots that the time agent works on; a time zone is none.
fn is_time(name: &str) -> bool {
    matches!(name, "date" | "date2" | "time" | "time2" | "from_time" | "to_time" | "timeofday")
}

/// Slots that the location agent works on; rooms of the house are left alone.
fn is_place(name: &str) -> bool {
    name.contains("place_name")
}
