//! Stops calls with configuration errors: after a few identical refusals of the key, or of a model, without any answer before, further
//! calls are not sent. Nor are they while the account behind the key has no money.
//!
//! A 401 is about the key, so it holds the endpoint; a 403 and a 404 are about the model, so they hold the model. After one answer neither
//! is ever held, because later refusals are temporary. Money is another matter: it is there at first and then gone. A few refusals for want of
//! it in a row, whatever was answered before, hold the endpoint, until a call that goes through is answered. Opening the endpoint again, as a
//! resume does, resets the state. From time to time one call goes through all the same, so that an endpoint which stays open notices when its
//! operator has corrected the configuration.
//!
//! This is the state of one process. The fleet's store keeps failures for a month, and a resume could not undo those. So each worker finds
//! out for itself, at the cost of the calls that it has in flight when the first refusals arrive.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use regatta_proto::{EndpointName, ErrorClass, Try};
use tokio::time::Instant;

use crate::errors::{Failure, rule};

/// Consecutive identical refusals after which no more calls are sent.
const REFUSALS: u32 = 3;
/// Time without calls before one is sent as a probe.
const LOOK_AFTER: Duration = Duration::from_secs(60);

/// Holds an endpoint whose key is refused, and models that are refused.
#[derive(Debug)]
pub(crate) struct Holding {
    endpoint: EndpointName,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    key: Line,
    /// Refusals for want of money at the provider. It never counts as having answered, because every call costs anew.
    credit: Line,
    models: HashMap<String, Line>,
}

/// Consecutive refusals of one key or model.
#[derive(Debug, Default)]
struct Line {
    has_answered: bool,
    refusals: u32,
    /// The common class and status of the refusals.
    kind: Option<(ErrorClass, Option<u16>)>,
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    class: ErrorClass,
    detail: String,
    look_at: Instant,
}

impl Line {
    fn answered(&mut self) {
        *self = Self { has_answered: true, ..Self::default() };
    }

    /// Resets the count after another kind of failure.
    fn broken(&mut self) {
        *self = Self { has_answered: self.has_answered, ..Self::default() };
    }

    /// Counts a refusal. Returns `true` if it is the one that starts the hold.
    fn refused(&mut self, failure: &Failure, now: Instant) -> bool {
        if self.has_answered {
            return false;
        }
        let kind = Some((failure.class, failure.status));
        self.refusals = if self.kind == kind { self.refusals.saturating_add(1) } else { 1 };
        self.kind = kind;
        if self.refusals < REFUSALS {
            return false;
        }
        let is_new = self.held.is_none();
        self.held = Some(Held { class: failure.class, detail: failure.detail.to_string(), look_at: now + LOOK_AFTER });
        is_new
    }

    fn held(&self, now: Instant) -> Option<&Held> {
        self.held.as_ref().filter(|held| now < held.look_at)
    }

    /// Lets one call probe, and holds the others.
    fn looked_at(&mut self, now: Instant) {
        if let Some(held) = &mut self.held {
            held.look_at = now + LOOK_AFTER;
        }
    }
}

impl Holding {
    pub(crate) fn new(endpoint: EndpointName) -> Self {
        Self { endpoint, state: Mutex::default() }
    }

    /// The entry that ends a call of `model` unsent, if the call is held.
    pub(crate) fn refusal(&self, model: &str) -> Option<Try> {
        let (now, state) = (Instant::now(), self.locked());
        let held = state.key.held(now).or_else(|| state.credit.held(now));
        let held = held.or_else(|| state.models.get(model)?.held(now))?;
        Some(self.not_sent(model, held))
    }

    /// Like [`Holding::refusal`] for a call about to be sent, but lets one through that may probe.
    pub(crate) fn last_refusal(&self, model: &str) -> Option<Try> {
        let refusal = self.refusal(model);
        if refusal.is_none() {
            let (now, mut state) = (Instant::now(), self.locked());
            state.key.looked_at(now);
            state.credit.looked_at(now);
            if let Some(line) = state.models.get_mut(model) {
                line.looked_at(now);
            }
        }
        refusal
    }

    /// Records an answer to a call of `model`.
    pub(crate) fn answered(&self, model: &str) {
        let mut state = self.locked();
        state.key.answered();
        state.credit = Line::default();
        line(&mut state, model).answered();
    }

    /// Records a failed call of `model`.
    pub(crate) fn failed(&self, model: &str, failure: &Failure) {
        match failure.class {
            ErrorClass::Auth | ErrorClass::NotFound => self.refused(model, failure),
            // The model was asked, so the key and its name are right.
            ErrorClass::ContextLength | ErrorClass::ContentFilter => self.answered(model),
            ErrorClass::Quota => {
                self.broken(model);
                self.out_of_credit(failure);
            }
            ErrorClass::RateLimited | ErrorClass::Server | ErrorClass::BadResponse | ErrorClass::BadRequest => {
                self.broken(model);
                self.locked().credit.broken();
            }
            ErrorClass::Connection
            | ErrorClass::Timeout
            | ErrorClass::Poison
            | ErrorClass::Budget
            | ErrorClass::CacheMiss => {}
        }
    }

    fn broken(&self, model: &str) {
        let mut state = self.locked();
        state.key.broken();
        line(&mut state, model).broken();
    }

    fn out_of_credit(&self, failure: &Failure) {
        if self.locked().credit.refused(failure, Instant::now()) {
            tracing::error!(
                endpoint = %self.endpoint,
                "the account behind endpoint {} has no money left, as {REFUSALS} calls in a row were told: further calls are not sent ({})",
                self.endpoint,
                failure.detail
            );
        }
    }

    fn refused(&self, model: &str, failure: &Failure) {
        let (now, mut state) = (Instant::now(), self.locked());
        let is_about_key = failure.class == ErrorClass::Auth && failure.status != Some(403);
        let line = if is_about_key { &mut state.key } else { line(&mut state, model) };
        if !line.refused(failure, now) {
            return;
        }
        let what = if is_about_key { "the key".to_owned() } else { format!("model {model}") };
        tracing::error!(
            endpoint = %self.endpoint,
            "endpoint {} has refused {what} {REFUSALS} times and answered nothing: further calls are not sent ({})",
            self.endpoint,
            failure.detail
        );
    }

    fn not_sent(&self, model: &str, held: &Held) -> Try {
        let word = rule(held.class).word;
        let endpoint = &self.endpoint;
        let reason = if held.class == ErrorClass::Quota {
            format!(
                "the account behind endpoint {endpoint} has no money left ({word}, {REFUSALS} times or more in a row); top it up and resume"
            )
        } else {
            format!(
                "endpoint {endpoint} has answered nothing of {model} but {word}, {REFUSALS} times or more; correct it and resume"
            )
        };
        Try::not_sent(held.class, format!("not sent: {reason} ({})", held.detail))
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn line<'s>(state: &'s mut State, model: &str) -> &'s mut Line {
    state.models.entry(model.to_owned()).or_default()
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn holding() -> Holding {
        Holding::new("main".parse().unwrap())
    }

    fn failure(class: ErrorClass, status: u16) -> Failure {
        Failure { status: Some(status), ..Failure::unanswered(class, "no".to_owned()) }
    }

    fn held_after(failures: &[(ErrorClass, u16)]) -> bool {
        let holding = holding();
        failures.iter().for_each(|(class, status)| holding.failed("m", &failure(*class, *status)));
        holding.refusal("m").is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn only_identical_refusals_in_a_row_hold() {
        use ErrorClass::*;
        assert!(!held_after(&[(Auth, 401); 2]));
        assert!(held_after(&[(Auth, 401); 3]) && held_after(&[(Auth, 403); 3]) && held_after(&[(NotFound, 404); 3]));
        assert!(!held_after(&[(NotFound, 404), (NotFound, 302), (NotFound, 404)]));
        assert!(!held_after(&[(Auth, 401), (Auth, 401), (RateLimited, 429), (Auth, 401)]));
        assert!(held_after(&[(Auth, 401), (Auth, 401), (Connection, 0), (Auth, 401)]), "nothing was said in between");
        assert!(!held_after(&[(BadRequest, 400); 9]));
        assert!(!held_after(&[(Auth, 401), (Auth, 401), (Quota, 402), (Auth, 401)]));
    }

    #[tokio::test(start_paused = true)]
    async fn an_account_without_money_holds_all_models_whatever_was_answered_before() {
        let holding = holding();
        holding.answered("m");
        (0..2).for_each(|_| holding.failed("m", &failure(ErrorClass::Quota, 402)));
        assert_eq!(holding.refusal("m"), None, "twice may be a call that asks for too much");
        holding.failed("other", &failure(ErrorClass::Quota, 402));
        let refusal = holding.refusal("m").unwrap();
        assert_eq!(refusal.class, ErrorClass::Quota);
        assert!(
            refusal.detail.contains("has no money left (quota, 3 times or more in a row); top it up"),
            "{refusal:?}"
        );
        assert!(holding.refusal("third").is_some());
        advance(LOOK_AFTER).await;
        assert_eq!(holding.last_refusal("m"), None, "one call looks");
        assert!(holding.last_refusal("m").is_some());
        holding.answered("m");
        assert_eq!((holding.refusal("m"), holding.refusal("third")), (None, None), "it was topped up");
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_answered_in_between_shows_that_there_is_money() {
        let holding = holding();
        for _ in 0..9 {
            (0..2).for_each(|_| holding.failed("dear", &failure(ErrorClass::Quota, 402)));
            holding.answered("cheap");
        }
        assert_eq!(holding.refusal("dear"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_ever_been_answered_is_not_held() {
        for first in [ErrorClass::ContentFilter, ErrorClass::ContextLength] {
            assert!(!held_after(&[
                (first, 400),
                (ErrorClass::Auth, 401),
                (ErrorClass::Auth, 401),
                (ErrorClass::Auth, 401)
            ]));
        }
        let holding = holding();
        holding.answered("m");
        for class in [ErrorClass::Auth, ErrorClass::NotFound] {
            (0..9).for_each(|_| holding.failed("m", &failure(class, 403)));
        }
        assert_eq!(holding.refusal("m"), None);
        (0..3).for_each(|_| holding.failed("other", &failure(ErrorClass::NotFound, 404)));
        assert_eq!(holding.refusal("other").unwrap().class, ErrorClass::NotFound, "another model is another matter");
        (0..9).for_each(|_| holding.failed("other", &failure(ErrorClass::Auth, 401)));
        assert_eq!(holding.refusal("m"), None, "the key has been good");
    }

    #[tokio::test(start_paused = true)]
    async fn one_call_a_minute_looks_and_an_answer_ends_it() {
        let holding = holding();
        (0..3).for_each(|_| holding.failed("m", &failure(ErrorClass::Auth, 401)));
        assert!(holding.last_refusal("m").is_some());
        advance(LOOK_AFTER).await;
        assert_eq!(holding.last_refusal("m"), None);
        assert!(holding.last_refusal("m").is_some(), "the others wait for what it finds");
        holding.failed("m", &failure(ErrorClass::Auth, 401));
        assert!(holding.refusal("m").is_some());
        advance(LOOK_AFTER).await;
        assert_eq!(holding.last_refusal("m"), None);
        holding.answered("m");
        assert_eq!(holding.refusal("m"), None);
    }
}
