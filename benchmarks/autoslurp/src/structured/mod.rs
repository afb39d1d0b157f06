//! The evaluator that reads requests and answers, not logs (docs/benchmarks/autoslurp.md §7): deterministic, without a judge, and Regatta's
//! own.
//!
//! The evaluator reads no more than a run holds; every step is linear in it, except for the slots of one answer, of which a server echoes
//! each once.

mod causes;
mod compare;
mod drawing;
mod external;
mod intent;
mod local;
mod moment;
mod reason;
mod slots;
mod tokens;

mod aggregate;
mod case;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde_json::{Value, json};

pub(crate) use self::aggregate::{PART_EXTERNAL, PART_LOCAL, part_of, tabulate};
pub(crate) use self::case::{run as read_run, score as score_case};
pub(crate) use self::causes::CAUSES;
use self::causes::Causes;
use self::compare::Comparison;
pub(crate) use self::drawing::drawing;
use self::intent::Agreement;
use self::reason::Reason;
pub(crate) use self::slots::{Slot, gold as gold_slots};
use super::data::Utterance;
use super::run::Run;
use super::servers::Server;
use regatta_benchmarks::Score;

/// `true` if no intent can be read in what the intent agent said.
pub(crate) fn names_no_intent(output: &str) -> bool {
    intent::read(output).intent.is_none()
}

/// Names of flat values. Unless it says otherwise, every session has each of them, 0 or 1.
pub(crate) mod value {
    /// Carried out.
    pub(crate) const SUCCESS: &str = "success";
    /// Carried out, texts of slots being compared leniently.
    pub(crate) const LENIENT: &str = "lenient";
    /// The same as [`SUCCESS`], for items of other people's services alone.
    pub(crate) const SUCCESS_EXTERNAL: &str = "success_external";
    /// The same as [`SUCCESS`], for items of the simulated servers alone.
    pub(crate) const SUCCESS_LOCAL: &str = "success_local";
    /// The intent agent's intent and slots are those of the gold.
    pub(crate) const INTENT_STRICT: &str = "intent_strict";
    /// The intent agent's intent and the values of its slots are those of the gold, whatever it calls the slots.
    pub(crate) const INTENT_VALUES: &str = "intent_values";
    /// Not carried out; denominator of the shares of causes.
    pub(crate) const FAILED: &str = "failed";
    /// Failed with none of the causes.
    pub(crate) const FAIL_NONE: &str = "fail_none";
    /// Prefix of the names of causes.
    pub(crate) const FAIL: &str = "fail_";
    /// Prefix of the names of reasons; exactly one of them is 1.
    pub(crate) const REASON: &str = "reason_";
}

/// Judgement of the requests and the answer.
#[derive(Debug, Default)]
struct Judged {
    reason: Reason,
    decisive: Option<Decisive>,
    comparison: Comparison,
}

/// The answer of a simulated server that decides.
#[derive(Debug)]
struct Decisive {
    server: &'static Server,
    /// The intent that it echoes.
    intent: Value,
    /// The slots that it echoes, in its order.
    slots: Vec<Slot>,
    /// Message of the server.
    response: String,
}

impl Judged {
    fn passes(&self) -> bool {
        self.reason == Reason::Ok
    }

    /// True if nothing is wrong but values of slots that are nearly right.
    fn passes_leniently(&self) -> bool {
        self.passes() || (self.reason == Reason::Slots && self.comparison.lenient.is_empty())
    }
}

/// Score of `run`, the session of `utterance` on the day `today`.
pub(crate) fn score(utterance: &Utterance, today: Date, run: &Run) -> Score {
    let gold = slots::gold(&utterance.slots);
    let judged = if utterance.is_external() {
        external::judge(&utterance.intent, run)
    } else {
        local::judge(&utterance.intent, &gold, today, run)
    };
    let said = run.intent_output.as_deref().map(intent::read);
    let agreement = Agreement::of(&utterance.intent, &gold, said.as_ref());
    let causes = if judged.passes() {
        Causes::default()
    } else {
        Causes::of(utterance, &gold, run, &judged, said.as_ref(), agreement)
    };
    let mut values = values(utterance, &judged, agreement, causes);
    if run.intent_output.is_none() && run.members.is_none() {
        // Nobody knows what its intent agent said, or whether it has one.
        values.retain(|name, _| name != value::INTENT_STRICT && name != value::INTENT_VALUES);
    }
    Score { values, detail: detail(utterance, &judged, said.as_ref(), agreement) }
}

/// The score of a session that a model made impossible: nothing was done, and it is nobody's in the team.
pub(crate) fn failure(utterance: &Utterance) -> Score {
    let judged = Judged {
        reason: if external::is_talk(&utterance.intent) { Reason::NoFinal } else { Reason::NoRequest },
        ..Judged::default()
    };
    let agreement = Agreement::default();
    Score {
        values: values(utterance, &judged, agreement, Causes::default()),
        detail: detail(utterance, &judged, None, agreement),
    }
}

fn values(utterance: &Utterance, judged: &Judged, agreement: Agreement, causes: Causes) -> BTreeMap<String, f64> {
    let number = |truth: bool| f64::from(u8::from(truth));
    let passes = judged.passes();
    let success_of_kind = if utterance.is_external() { value::SUCCESS_EXTERNAL } else { value::SUCCESS_LOCAL };
    let mut values = BTreeMap::from(
        [
            (value::SUCCESS, passes),
            (value::LENIENT, judged.passes_leniently()),
            (success_of_kind, passes),
            (value::INTENT_STRICT, agreement.strict),
            (value::INTENT_VALUES, agreement.values),
            (value::FAILED, !passes),
            (value::FAIL_NONE, !passes && causes == Causes::default()),
        ]
        .map(|(name, truth)| (name.to_owned(), number(truth))),
    );
    values.extend(causes.named().map(|(cause, truth)| (format!("{}{cause}", value::FAIL), number(truth))));
    let reasons = Reason::ALL.map(|reason| (format!("{}{}", value::REASON, reason.as_str()), reason == judged.reason));
    values.extend(reasons.map(|(name, truth)| (name, number(truth))));
    values
}

/// The item's entry in golden files.
fn detail(utterance: &Utterance, judged: &Judged, said: Option<&intent::Said>, agreement: Agreement) -> Value {
    let class = if utterance.is_external() { PART_EXTERNAL } else { PART_LOCAL };
    let mut detail = json!({
        "class": class,
        "pass": judged.passes(),
        "pass_lenient": judged.passes_leniently(),
        "reason": judged.reason.as_str(),
        "errors": judged.comparison.errors,
        "intent_agent": {
            "pred_intent": said.and_then(|said| said.intent.as_deref()),
            "strict": agreement.strict,
            "ignore_slot_names": agreement.values,
        },
    });
    if let (Some(decisive), Some(detail)) = (&judged.decisive, detail.as_object_mut()) {
        detail.insert("server".to_owned(), json!(decisive.server.name));
        detail.insert("intent".to_owned(), decisive.intent.clone());
        detail.insert("response".to_owned(), json!(decisive.response));
        detail.insert("errors_lenient".to_owned(), json!(judged.comparison.lenient));
        detail.insert("unreachable_slots".to_owned(), json!(judged.comparison.unreachable));
    }
    detail
}
