//! Verdicts that a sweep keeps from another one.

use std::collections::BTreeMap;

use regatta_backends::{Judged, Ledger};
use regatta_catalog::Sweep;
use regatta_proto::{AttemptId, CostSum, Digest, JudgeOutcome, ModelRef, Usage, Verdict};
use regatta_report::PAID_ELSEWHERE;

use super::{Known, answerer};
use crate::scorer::ScorerError;

/// Verdicts of one judge from elsewhere that are written at once.
const KEPT_AT_ONCE: usize = 512;

/// The bill for verdicts that a sweep keeps from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bill {
    /// The sweep has it too.
    Carried,
    /// The other sweep's alone.
    Elsewhere,
}

impl Known {
    /// Writes every verdict `into` the ledger of `sweep`, as of the judges that gave them. They cost nothing here: their `bill` is another one.
    pub(crate) async fn keep(&self, sweep: &Sweep, into: &Ledger, bill: Bill) -> Result<(), ScorerError> {
        let mut by_judge: BTreeMap<&ModelRef, Vec<(Digest, Verdict)>> = BTreeMap::new();
        for (put, verdict) in &self.verdicts {
            by_judge.entry(&put.to).or_default().push((put.digest, verdict.clone()));
        }
        let mut number = 0;
        for (judge, mut verdicts) in by_judge {
            verdicts.sort_by_key(|(digest, _)| *digest);
            for chunk in verdicts.chunks(KEPT_AT_ONCE) {
                number += 1;
                let outcome = kept(sweep, judge, chunk, (number, bill))?;
                into.save_judged(vec![Judged { answerer: answerer(sweep, judge)?, outcome }]).await?;
            }
        }
        Ok(())
    }
}

/// The report of `judge` that these verdicts are kept by.
fn kept(
    sweep: &Sweep,
    judge: &ModelRef,
    verdicts: &[(Digest, Verdict)],
    (number, bill): (u32, Bill),
) -> Result<JudgeOutcome, ScorerError> {
    let end = match bill {
        Bill::Carried => " (kept verdicts)",
        Bill::Elsewhere => PAID_ELSEWHERE,
    };
    Ok(JudgeOutcome {
        sweep: sweep.id.clone(),
        lock: sweep.digest,
        judge: judge.clone(),
        served: format!("{}{end}", judge.model),
        verdicts: verdicts.to_vec(),
        unanswered: Vec::new(),
        attempt: AttemptId::new(format!("kept-{number}")).map_err(regatta_catalog::CatalogError::from)?,
        usage: Usage::default(),
        cost: CostSum::default(),
    })
}
