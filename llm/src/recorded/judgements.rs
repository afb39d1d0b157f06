//! Recorded judgements: a judge's replies in the order of its tries.

use std::collections::HashMap;

use regatta_proto::Verdict;

use crate::acceptance::Acceptance;

/// Replies by kind and subject, independent of the wording of the question.
#[derive(Debug, Clone, Default)]
pub(super) struct Judgements(HashMap<(String, Vec<String>), (Vec<String>, usize)>);

impl Judgements {
    /// Adds the record in line `number`.
    pub(super) fn enter(
        &mut self,
        kind: String,
        about: Vec<String>,
        replies: Vec<String>,
        number: usize,
    ) -> Result<(), String> {
        if replies.is_empty() {
            return Err("`responses` must hold at least one reply".to_owned());
        }
        let (recorded, line) = self.0.entry((kind, about)).or_insert_with(|| (replies.clone(), number));
        if *recorded == replies {
            return Ok(());
        }
        Err(format!("line {line} holds other replies to the same question"))
    }

    /// The replies up to the first that is accepted. When they run out, the last one is repeated up to the limit, as if the judge did not
    /// change its mind.
    pub(super) fn verdict(
        &self,
        kind: &str,
        about: &[String],
        accept: &Acceptance,
        replies_max: u8,
    ) -> Result<Verdict, String> {
        let missing = || format!("no judgement {kind:?} about {about:?} is recorded");
        let (recorded, _) = self.0.get(&(kind.to_owned(), about.to_vec())).ok_or_else(missing)?;
        let last = recorded.last().ok_or_else(missing)?;
        let mut replies = Vec::new();
        for reply in recorded.iter().chain(std::iter::repeat(last)).take(usize::from(replies_max.max(1))) {
            replies.push(reply.clone());
            if accept.takes(reply) {
                break;
            }
        }
        Ok(Verdict::Replies { replies })
    }
}
