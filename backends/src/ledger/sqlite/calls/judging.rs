//! Questions to judges, and the sessions that wait for verdicts.

use std::collections::HashMap;
use std::time::Duration;

use regatta_proto::{Answerer, CellIndex, Digest, ItemIndex, ModelRef, SweepId, Verdict};
use rusqlite::Transaction;

use crate::ledger::sqlite::{SqliteLedger, judging, planning, settling};
use crate::ledger::{
    AwaitingSession, Claimed, Judged, LedgerError, OpenQuestion, Settlement, Silence, StaleQuestions, Term,
};

impl SqliteLedger {
    pub(crate) async fn verdicts(
        &self,
        answerer: Answerer,
        questions: &[Digest],
    ) -> Result<HashMap<Digest, Verdict>, LedgerError> {
        let questions = questions.to_vec();
        self.0.read("read verdicts", move |tx| judging::verdicts(tx, answerer, &questions)).await
    }

    pub(crate) async fn save_judged(&self, judged: Vec<Judged>) -> Result<usize, LedgerError> {
        let presence = self.1.clone();
        self.0.write("save verdicts", move |tx| judging::save(tx, &judged, &presence)).await
    }

    pub(crate) async fn claim_questions(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        answerer: Answerer,
        questions: &[Digest],
    ) -> Result<Claimed, LedgerError> {
        let (sweep, judge, questions, presence) = (sweep.clone(), judge.clone(), questions.to_vec(), self.1.clone());
        let claiming = move |tx: &Transaction<'_>| judging::claim(tx, &sweep, &judge, answerer, &questions, &presence);
        self.0.write("claim questions", claiming).await
    }

    pub(crate) async fn release_questions(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        claimed: &Claimed,
    ) -> Result<(), LedgerError> {
        let (sweep, judge, claimed, presence) = (sweep.clone(), judge.clone(), claimed.clone(), self.1.clone());
        self.0.write("release questions", move |tx| judging::release(tx, &sweep, &judge, &claimed, &presence)).await
    }

    pub(crate) async fn confirm_questions(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        claimed: &Claimed,
    ) -> Result<(), LedgerError> {
        self.1.confirm(sweep, judge, claimed);
        Ok(())
    }

    pub(crate) async fn stale_questions(
        &self,
        sweep: &SweepId,
        within: Duration,
    ) -> Result<StaleQuestions, LedgerError> {
        let (sweep, presence) = (sweep.clone(), self.1.clone());
        self.0
            .read("look for questions of before a resume", move |tx| {
                if !judging::has_stale(tx, &sweep)? {
                    return Ok(StaleQuestions::None);
                }
                let generation = planning::generation(tx, &sweep)?;
                let is_judging = presence.is_judging_before(&sweep, generation, within);
                Ok(if is_judging { StaleQuestions::UnderWay } else { StaleQuestions::Lost })
            })
            .await
    }

    pub(crate) async fn release_stale_questions(&self, sweep: &SweepId, term: Term) -> Result<bool, LedgerError> {
        let sweep = sweep.clone();
        let release = move |tx: &Transaction<'_>| judging::release_stale(tx, &sweep).map(|()| true);
        self.write_as_leader(term, "release questions of before a resume", release).await
    }

    pub(crate) async fn silent_questions(
        &self,
        sweep: &SweepId,
        judges: &[ModelRef],
        silence: Silence,
        at_most: u32,
    ) -> Result<Vec<OpenQuestion>, LedgerError> {
        let (sweep, judges, presence) = (sweep.clone(), judges.to_vec(), self.1.clone());
        self.0
            .read("look for questions that nobody tells of", move |tx| {
                let mut silent = judging::silent(tx, &sweep, &presence, silence)?;
                silent.retain(|open| judges.contains(&open.judge));
                silent.truncate(at_most as usize);
                Ok(silent)
            })
            .await
    }

    pub(crate) async fn release_silent_questions(
        &self,
        sweep: &SweepId,
        questions: &[OpenQuestion],
        silence: Silence,
        term: Term,
    ) -> Result<Option<u64>, LedgerError> {
        let (sweep, questions, presence) = (sweep.clone(), questions.to_vec(), self.1.clone());
        self.0
            .write("release questions that nobody tells of", move |tx| {
                if !presence.is_leading(term) {
                    return Ok(None);
                }
                judging::release_silent(tx, &sweep, &questions, &presence, silence).map(Some)
            })
            .await
    }

    pub(crate) async fn is_judging(&self, sweep: &SweepId, within: Duration) -> Result<bool, LedgerError> {
        Ok(self.1.is_judging(sweep, within))
    }

    pub(crate) async fn awaiting(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        questions: &[Digest],
    ) -> Result<Vec<AwaitingSession>, LedgerError> {
        let (sweep, judge, questions) = (sweep.clone(), judge.clone(), questions.to_vec());
        self.0.read("read waiting sessions", move |tx| judging::awaiting(tx, &sweep, &judge, &questions)).await
    }

    pub(crate) async fn awaiting_after(
        &self,
        sweep: &SweepId,
        after: Option<(CellIndex, ItemIndex)>,
        at_most: u32,
    ) -> Result<Vec<AwaitingSession>, LedgerError> {
        let sweep = sweep.clone();
        self.0.read("read waiting sessions", move |tx| judging::awaiting_after(tx, &sweep, after, at_most)).await
    }

    pub(crate) async fn settle(&self, settlements: Vec<Settlement>) -> Result<u64, LedgerError> {
        self.0.write("settle sessions", move |tx| settling::settle(tx, &settlements)).await
    }
}
