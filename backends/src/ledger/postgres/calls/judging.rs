//! Questions to judges, and the sessions that wait for verdicts.

use std::collections::HashMap;
use std::time::Duration;

use regatta_proto::{Answerer, CellIndex, Digest, ItemIndex, ModelRef, SweepId, Verdict};

use crate::ledger::postgres::pool::{Fault, read, write};
use crate::ledger::postgres::{PostgresLedger, held, judging, settling, silence};
use crate::ledger::{
    AwaitingSession, Claimed, Judged, LedgerError, OpenQuestion, Settlement, Silence, StaleQuestions, Term,
};

impl PostgresLedger {
    pub(crate) async fn verdicts(
        &self,
        answerer: Answerer,
        questions: &[Digest],
    ) -> Result<HashMap<Digest, Verdict>, LedgerError> {
        read!(self.0, "read verdicts", client => judging::verdicts(client, answerer, questions))
    }

    pub(crate) async fn save_judged(&self, judged: Vec<Judged>) -> Result<usize, LedgerError> {
        write!(self.0, "save verdicts", tx => judging::save(tx, &judged))
    }

    pub(crate) async fn claim_questions(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        answerer: Answerer,
        questions: &[Digest],
    ) -> Result<Claimed, LedgerError> {
        write!(self.0, "claim questions", tx => judging::claim(tx, sweep, judge, answerer, questions))
    }

    pub(crate) async fn release_questions(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        claimed: &Claimed,
    ) -> Result<(), LedgerError> {
        write!(self.0, "release questions", tx => judging::release(tx, sweep, judge, claimed))
    }

    pub(crate) async fn confirm_questions(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        claimed: &Claimed,
    ) -> Result<(), LedgerError> {
        write!(self.0, "note that questions are asked", tx => silence::confirm(tx, sweep, judge, claimed))
    }

    pub(crate) async fn stale_questions(
        &self,
        sweep: &SweepId,
        within: Duration,
    ) -> Result<StaleQuestions, LedgerError> {
        read!(self.0, "look for questions of before a resume", client => judging::stale(client, sweep, within))
    }

    pub(crate) async fn release_stale_questions(&self, sweep: &SweepId, term: Term) -> Result<bool, LedgerError> {
        write!(self.0, "release questions of before a resume", tx => judging::release_stale(tx, sweep, term))
    }

    pub(crate) async fn silent_questions(
        &self,
        sweep: &SweepId,
        judges: &[ModelRef],
        silence: Silence,
        at_most: u32,
    ) -> Result<Vec<OpenQuestion>, LedgerError> {
        read!(self.0, "look for questions that nobody tells of", client => silence::silent(client, sweep, judges, silence, at_most))
    }

    pub(crate) async fn release_silent_questions(
        &self,
        sweep: &SweepId,
        questions: &[OpenQuestion],
        silence: Silence,
        term: Term,
    ) -> Result<Option<u64>, LedgerError> {
        write!(self.0, "release questions that nobody tells of", tx => silence::release(tx, sweep, questions, silence, term))
    }

    pub(crate) async fn is_judging(&self, sweep: &SweepId, within: Duration) -> Result<bool, LedgerError> {
        read!(self.0, "read who waits for judges", client => held::is_judging(client, sweep, within))
    }

    pub(crate) async fn awaiting(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        questions: &[Digest],
    ) -> Result<Vec<AwaitingSession>, LedgerError> {
        read!(self.0, "read waiting sessions", client => judging::awaiting(client, sweep, judge, questions))
    }

    pub(crate) async fn awaiting_after(
        &self,
        sweep: &SweepId,
        after: Option<(CellIndex, ItemIndex)>,
        at_most: u32,
    ) -> Result<Vec<AwaitingSession>, LedgerError> {
        read!(self.0, "read waiting sessions", client => judging::awaiting_after(client, sweep, after, at_most))
    }

    pub(crate) async fn settle(&self, settlements: Vec<Settlement>) -> Result<u64, LedgerError> {
        write!(self.0, "settle sessions", tx => settling::settle(tx, &settlements))
    }
}
