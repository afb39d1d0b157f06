//! Causes of a failed session, by rule (docs/benchmarks/autoslurp.md §7.6): several causes may be true, and none.

use regatta_proto::Exchange;
use regatta_pycompat::{self as python, Json};

use super::compare::{PART_OF_DAY, TIMES, counterparts};
use super::external::{Service, is_something};
use super::intent::{Agreement, Said};
use super::local::{is_one_of, success};
use super::reason::Reason;
use super::slots::Slot;
use super::tokens::tokens;
use super::{Decisive, Judged};
use crate::data::{Utterance, is_external};
use crate::members::{INTENT, LOCATION, TIME};
use crate::run::Run;
use crate::servers::{DATE_FORMAT, SERVERS, Server, TIME_FORMAT, server_of};

/// Names of the causes, in the order of the paper's Table 3.
pub(crate) const CAUSES: [&str; 6] = ["intent", "time", "location", "url", "manager", "function_call"];

/// Causes of a failure, true or false each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Causes {
    /// The intent agent was wrong, and the request shows it.
    intent: bool,
    /// A date or time went wrong after the intent agent had named it.
    time: bool,
    /// A place went wrong after the intent agent had named it.
    location: bool,
    /// Server, intent or a slot's name were wrong although the intent agent had that right.
    url: bool,
    /// A member that was needed was not asked, nothing was requested, or there was no end.
    manager: bool,
    /// There were requests, and none was carried out.
    function_call: bool,
}

impl Causes {
    /// The causes of a session that failed.
    pub(super) fn of(
        utterance: &Utterance,
        gold: &[Slot],
        run: &Run,
        judged: &Judged,
        said: Option<&Said>,
        agreement: Agreement,
    ) -> Self {
        let failed = Failed { utterance, gold, run, judged, said };
        Self {
            intent: matches!(judged.reason, Reason::WrongIntent | Reason::UnsupportedIntent)
                || (!agreement.strict && failed.shows_error_of_intent()),
            time: failed.is_lost_later(is_time) || failed.has_unreadable_time(),
            location: failed.is_lost_later(is_place),
            url: failed.is_sent_elsewhere(),
            manager: failed.is_managed_badly(),
            function_call: !run.requests.is_empty() && !run.requests.iter().any(is_carried_out),
        }
    }

    /// With their names, in the order of [`CAUSES`].
    pub(super) fn named(self) -> [(&'static str, bool); 6] {
        let [intent, time, location, url, manager, function_call] = CAUSES;
        [
            (intent, self.intent),
            (time, self.time),
            (location, self.location),
            (url, self.url),
            (manager, self.manager),
            (function_call, self.function_call),
        ]
    }
}

/// A session that failed.
#[derive(Clone, Copy)]
struct Failed<'a> {
    utterance: &'a Utterance,
    gold: &'a [Slot],
    run: &'a Run,
    judged: &'a Judged,
    said: Option<&'a Said>,
}

impl<'a> Failed<'a> {
    /// Errors in slots, each as its kind and the name of the slot, such as `missing` and `date`.
    fn errors(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.judged.comparison.errors.iter().filter_map(|error| error.split_once(':'))
    }

    fn service(self) -> Option<Service> {
        self.utterance.is_external().then(|| Service::of(&self.utterance.intent)).flatten()
    }

    /// Slot that the intent agent said under this name, or under one that stands for it.
    fn said_of(self, name: &str) -> Option<&'a Slot> {
        let slots = &self.said?.slots;
        counterparts(name).find_map(|name| slots.iter().find(|(said, _)| said == name))
    }

    /// True if the intent agent named a slot for which `is` is true.
    fn has_named(self, is: impl Fn(&str) -> bool) -> bool {
        self.said.is_some_and(|said| said.slots.iter().any(|(name, _)| is(name)))
    }

    /// True if the wrong part of the intent agent's text is what was requested.
    fn shows_error_of_intent(self) -> bool {
        let Some(said) = self.said else { return false };
        let Some(intent) = said.intent.as_deref() else { return false };
        if !is_one_of(intent, &self.utterance.intent) {
            return match &self.judged.decisive {
                Some(Decisive { intent: echoed, .. }) => echoed == intent,
                None => self.run.requests.iter().any(|request| self.leads_to(intent, &request.url)),
            };
        }
        let is_of_gold = |name: &str| self.gold.iter().any(|(gold, _)| gold == name);
        self.errors().any(|(kind, name)| match kind {
            "missing" => self.said_of(name).is_none(),
            "extra" => self.said_of(name).is_some() && !is_of_gold(name),
            _ => self.said_of(name).is_some_and(|(_, said)| {
                self.gold.iter().filter(|(gold, _)| gold == name).all(|(_, value)| tokens(value) != tokens(said))
            }),
        })
    }

    /// True if an intent leads to a request to `url`: to its server or service, or from the simulated servers to any other host.
    fn leads_to(self, intent: &str, url: &str) -> bool {
        match server_of(url) {
            Some(server) => server.intent(intent).is_some(),
            None if !is_external(intent) => false,
            None => {
                !self.utterance.is_external() || Service::of(intent).is_some_and(|service| service.is_asked_at(url))
            }
        }
    }

    /// True if a slot of a kind went wrong although the intent agent had named it.
    fn is_lost_later(self, is: impl Fn(&str) -> bool + Copy) -> bool {
        self.errors().any(|(_, name)| is(name) && (self.said_of(name).is_some() || self.has_named_like(name, is)))
    }

    /// Dates are told apart from times; the names of times, and those of places, stand for each other.
    fn has_named_like(self, name: &str, is: impl Fn(&str) -> bool) -> bool {
        self.has_named(|said| is(said) && (said == "date") == (name == "date"))
    }

    /// True if the server could not read a date or time that the intent agent had named.
    fn has_unreadable_time(self) -> bool {
        let said = self.judged.decisive.as_ref().map(|decisive| decisive.response.as_str());
        self.judged.reason == Reason::FormatError
            && match said {
                Some(DATE_FORMAT) => self.has_named(|name| name == "date"),
                Some(TIME_FORMAT) => self.has_named(|name| is_time(name) && name != "date"),
                _ => false,
            }
    }

    /// True if the request did not go where a right intent leads, asked for something else, or named other slots than were said.
    fn is_sent_elsewhere(self) -> bool {
        let gold = &self.utterance.intent;
        if !self.said.and_then(|said| said.intent.as_deref()).is_some_and(|said| is_one_of(said, gold)) {
            return false;
        }
        let requests = &self.run.requests;
        if let Some(service) = self.service() {
            let is_asked = requests.iter().any(|request| service.is_asked_at(&request.url));
            return service != Service::Talk && !requests.is_empty() && !is_asked;
        }
        let knows = |server: &Server| gold.split([',', ';']).any(|intent| server.intent(intent.trim()).is_some());
        let is_known = SERVERS.iter().any(knows);
        let Some(decisive) = &self.judged.decisive else {
            let mut asked = requests.iter().filter_map(|request| server_of(&request.url));
            return is_known && !requests.is_empty() && !asked.any(knows);
        };
        let is_lost = |(kind, name): (&str, &str)| match kind {
            "missing" => self.said_of(name).is_some(),
            "extra" => self.said_of(name).is_none(),
            _ => false,
        };
        (is_known && !knows(decisive.server))
            || !decisive.intent.as_str().is_some_and(|echoed| is_one_of(echoed, gold))
            || self.errors().any(is_lost)
    }

    fn is_managed_badly(self) -> bool {
        let has = |is: fn(&str) -> bool| self.gold.iter().any(|(name, _)| is(name));
        let needed = [(INTENT, true), (TIME, has(is_time)), (LOCATION, has(is_place))];
        let is_skipped = self.run.members.as_ref().is_some_and(|spoke| {
            needed.iter().any(|(member, is_needed)| *is_needed && !spoke.iter().any(|name| name.as_str() == *member))
        });
        let is_idle = self.run.requests.is_empty() && self.service() != Some(Service::Talk);
        is_skipped || is_idle || self.run.hit_limit
    }
}

fn is_time(name: &str) -> bool {
    name == "date" || name == PART_OF_DAY || TIMES.contains(&name)
}

fn is_place(name: &str) -> bool {
    name.contains("place_name")
}

/// True if a server or service did what the request asks for, or said so.
fn is_carried_out(request: &Exchange) -> bool {
    if server_of(&request.url).is_some() {
        return success(request).is_some();
    }
    let answer = (request.status == 200).then(|| python::parse(&request.response)).flatten();
    answer.and_then(Json::into_object).is_some_and(|answer| {
        let is_refused = matches!(answer.get("success"), Some(Json::Bool(false)));
        !is_refused && !answer.get("error").is_some_and(is_something)
    })
}
