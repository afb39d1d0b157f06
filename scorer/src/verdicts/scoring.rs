//! Sessions, scored with all verdicts that are known.

use regatta_benchmarks::Scoring;
use regatta_catalog::Sweep;
use regatta_proto::{Cell, ItemIndex, Judge, Transcript};

use super::{Known, puts};
use crate::audits::SessionScoring;
use crate::pace::Turns;
use crate::scorer::{Scorer, ScorerError};

/// Looks into the ledger for one batch of sessions; a benchmark asks again only for what it then knows to be needed.
pub(crate) const LOOKS_MAX: usize = 16;

/// One session to be scored.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) item: ItemIndex,
    pub(crate) transcript: &'a Transcript,
}

impl Subject<'_> {
    /// The score that counts: by the judge of the benchmark.
    pub(crate) fn score(&self, sweep: &Sweep, known: &Known) -> Option<Scoring> {
        self.score_by(sweep.benchmark(self.cell)?.judge.as_ref(), sweep, known)
    }

    /// The judge of the audit, if the session is audited.
    pub(crate) fn auditor<'s>(&self, sweep: &'s Sweep) -> Option<&'s Judge> {
        let is_audited = sweep.audited(self.cell)?.contains(&self.item);
        sweep.benchmark(self.cell)?.audit.as_ref().filter(|_| is_audited).map(|audit| &audit.judge)
    }

    /// The judges that score the session: that of its benchmark, and that of the audit.
    pub(crate) fn judges<'s>(&self, sweep: &'s Sweep) -> impl Iterator<Item = &'s Judge> + use<'s> {
        let judge = sweep.benchmark(self.cell).and_then(|benchmark| benchmark.judge.as_ref());
        judge.into_iter().chain(self.auditor(sweep))
    }

    /// The score by `judge`.
    pub(crate) fn score_by(&self, judge: Option<&Judge>, sweep: &Sweep, known: &Known) -> Option<Scoring> {
        let benchmark = sweep.benchmark(self.cell)?;
        let verdicts = known.of(judge);
        let suite = sweep.suite(self.cell)?;
        Some(suite.score_session(self.item, &self.cell.setting, &benchmark.evaluators, self.transcript, &verdicts))
    }
}

/// Scores `subjects` by all their judges, with `known` and every further verdict that the ledger has; `None` for a cell that the sweep does not
/// have.
pub(crate) async fn score_all<'s>(
    scorer: &Scorer,
    sweep: &'s Sweep,
    subjects: &[Subject<'_>],
    known: &mut Known,
) -> Result<Vec<Option<SessionScoring<'s>>>, ScorerError> {
    let judge_of = |subject: &Subject<'_>| sweep.benchmark(subject.cell).and_then(|benchmark| benchmark.judge.as_ref());
    let by_judge: Vec<(Subject<'_>, Option<&Judge>)> =
        subjects.iter().map(|subject| (*subject, judge_of(subject))).collect();
    let auditors: Vec<Option<&Judge>> = subjects.iter().map(|subject| subject.auditor(sweep)).collect();
    let by_audit = subjects.iter().zip(&auditors).filter(|(_, auditor)| auditor.is_some());
    let by_all: Vec<(Subject<'_>, Option<&Judge>)> =
        by_judge.iter().copied().chain(by_audit.map(|(subject, auditor)| (*subject, *auditor))).collect();
    let mut scorings = score_by(scorer, sweep, &by_all, known).await?;
    let mut audits = scorings.split_off(subjects.len()).into_iter();
    let together = |((scoring, (_, judge)), auditor): ((Option<Scoring>, _), &Option<&'s Judge>)| {
        let audit = auditor.and_then(|auditor| Some((auditor, audits.next().flatten()?)));
        Some(SessionScoring::of((judge, scoring?), audit))
    };
    Ok(scorings.into_iter().zip(by_judge).zip(&auditors).map(together).collect())
}

/// Scores each of `subjects` by its judge.
async fn score_by(
    scorer: &Scorer,
    sweep: &Sweep,
    subjects: &[(Subject<'_>, Option<&Judge>)],
    known: &mut Known,
) -> Result<Vec<Option<Scoring>>, ScorerError> {
    let (mut scorings, mut turns) = (Vec::with_capacity(subjects.len()), Turns::begin(&scorer.stopwatch));
    for (subject, judge) in subjects {
        scorings.push(turns.score(|| subject.score_by(*judge, sweep, known)).await);
    }
    for _ in 0..LOOKS_MAX {
        let mut wanted = Vec::new();
        for ((_, judge), scoring) in subjects.iter().zip(&scorings) {
            if let (Some(Scoring::Needs(questions)), Some(judge)) = (scoring, judge) {
                wanted.extend(questions.iter().flat_map(|question| puts(judge, question)));
            }
        }
        if !known.look_up(scorer, sweep, wanted).await? {
            break;
        }
        for ((subject, judge), scoring) in subjects.iter().zip(&mut scorings) {
            if matches!(scoring, Some(Scoring::Needs(_))) {
                *scoring = turns.score(|| subject.score_by(*judge, sweep, known)).await;
            }
        }
    }
    Ok(scorings)
}
