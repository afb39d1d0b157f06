//! Questions as they are put to the models of a judge.
//!
//! A judge is one model, or a panel: then every judgement goes to each member, as often as the panel repeats, and all of it together is
//! the verdict. What goes to a member is known by a digest of its own where the member has parameters, or is asked again or in the other
//! order, so that no verdict is taken for that of another.

use std::collections::BTreeMap;

use regatta_proto::{AskedQuestion, Digest, Judge, ModelRef, ModelSpec, Question, json_bytes};

use super::Known;

/// One question to one model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Put {
    pub(crate) to: ModelRef,
    /// Key of the answer: a digest of the question and of the parameters and repeat with which it is asked.
    pub(crate) digest: Digest,
}

/// One time that a question is put to a model.
pub(crate) struct Asking {
    pub(crate) put: Put,
    /// True if the two compared texts are shown in the other order.
    pub(crate) swapped: bool,
    /// Times that the same member is asked this before, from 0.
    pub(super) repeat: u8,
}

/// To whom `question` is put for one verdict of `judge`, how, and as what. Similarities are figures of a model, not opinions: a panel's
/// first member alone gives them.
pub(crate) fn askings(judge: &Judge, question: &Question) -> Vec<Asking> {
    let digest = question.digest();
    let mut members = judge.members();
    let (repeats, swaps) = match question {
        Question::Similarity { .. } => {
            members.truncate(1);
            (1, false)
        }
        Question::Judgement { swapped, .. } => (judge.repeats(), judge.swaps() && swapped.is_some()),
    };
    let asking = |member: &ModelSpec, repeat| {
        let swapped = swaps && repeat % 2 == 1;
        Asking {
            put: Put { to: member.id.clone(), digest: asked_as(&digest, member, repeat, swapped) },
            swapped,
            repeat,
        }
    };
    members.iter().flat_map(|member| (0..repeats).map(move |repeat| asking(member, repeat))).collect()
}

/// To whom `question` is put for one verdict of `judge`, and as what.
pub(crate) fn puts(judge: &Judge, question: &Question) -> Vec<Put> {
    askings(judge, question).into_iter().map(|asking| asking.put).collect()
}

/// Key of the answer of `member` to the question at the `repeat`-th time, from 0, in the other order if `swapped`. It is the question's own
/// digest for the first time in the given order with default parameters.
fn asked_as(question: &Digest, member: &ModelSpec, repeat: u8, swapped: bool) -> Digest {
    let parameters = (member.temperature, member.top_p, member.max_tokens, member.thinking);
    if repeat == 0 && parameters == (None, None, None, None) {
        return *question;
    }
    let parameters = json_bytes(&parameters);
    let parts = [b"asked/1".as_slice(), question.bytes(), &parameters, &[repeat]];
    Digest::of_parts(parts.into_iter().chain(swapped.then_some(b"swapped".as_slice())))
}

/// Questions on their way to models, by model and by what they are asked as.
pub(crate) type Open = BTreeMap<ModelRef, BTreeMap<Digest, AskedQuestion>>;

/// Enters what is put to whom for a verdict of `judge` on each of `questions`, without what is answered already. Returns all that was
/// entered.
pub(crate) fn enter(open: &mut Open, judge: &Judge, questions: &[Question], known: &Known) -> Vec<Put> {
    let mut entered = Vec::new();
    for question in questions {
        for Asking { put, swapped, .. } in
            askings(judge, question).into_iter().filter(|asking| !known.holds(&asking.put))
        {
            // Whoever answers needs to know nothing of orders: it is asked another prompt.
            let other = swapped.then(|| question.in_other_order()).flatten();
            let asked = AskedQuestion { digest: put.digest, question: other.unwrap_or_else(|| question.clone()) };
            open.entry(put.to.clone()).or_default().insert(put.digest, asked);
            entered.push(put);
        }
    }
    entered
}
