//! Looks up verdicts in the response cache before the endpoint is asked for the rest.

use std::collections::HashMap;

use regatta_proto::{AskedQuestion, CacheMode, Digest, ErrorClass, Verdict};
use tokio_util::sync::CancellationToken;

use crate::answer::{Answers, Trouble};
use crate::cache::Found;
use crate::call::{Interrupted, Payer};
use crate::chat::Caller;

impl Caller {
    /// Answers questions, from the cache where possible; a cached verdict costs nothing.
    pub(crate) async fn answer_or_replay(
        &self,
        model: &str,
        questions: &[AskedQuestion],
        payer: Payer<'_>,
        interrupt: &CancellationToken,
    ) -> Result<Answers, Interrupted> {
        if payer.cache == CacheMode::Off {
            return self.answer(model, questions, payer, interrupt).await;
        }
        let mut known: HashMap<Digest, Result<Verdict, Trouble>> = HashMap::new();
        let mut unknown = Vec::new();
        for asked in questions {
            match self.cache.find_verdict(payer.cache, &self.cache.verdict_key(model, asked)).await {
                Found::Kept(verdict) => drop(known.insert(asked.digest, Ok(verdict))),
                Found::Ask => unknown.push(asked.clone()),
                Found::Missing(reason) => {
                    known.insert(asked.digest, Err(Trouble { class: ErrorClass::CacheMiss, reason }));
                }
            }
        }
        let (fresh, is_interrupted) = if unknown.is_empty() {
            (Answers { served: format!("{model} (cached responses)"), ..Answers::default() }, false)
        } else {
            match self.answer(model, &unknown, payer, interrupt).await {
                Ok(fresh) => (fresh, false),
                Err(Interrupted(fresh)) => (fresh, true),
            }
        };
        for asked in &unknown {
            if let Some((_, verdict)) = fresh.verdicts.iter().find(|(digest, _)| *digest == asked.digest) {
                self.cache.keep(payer.cache, &self.cache.verdict_key(model, asked), verdict).await;
            }
        }
        let (served, usage, cost) = (fresh.served, fresh.usage, fresh.cost);
        known.extend(fresh.verdicts.into_iter().map(|(digest, verdict)| (digest, Ok(verdict))));
        known.extend(
            fresh
                .unanswered
                .into_iter()
                .map(|one| (one.asked.digest, Err(Trouble { class: one.class, reason: one.reason }))),
        );
        let mut answers = Answers { served, usage, cost, ..Answers::default() };
        for asked in questions {
            // Equal questions have equal answers.
            if let Some(answer) = known.get(&asked.digest) {
                answers.enter(asked, answer.clone());
            }
        }
        if is_interrupted { Err(Interrupted::after(answers)) } else { Ok(answers) }
    }
}
