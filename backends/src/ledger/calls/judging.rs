//! Questions to judges, and the sessions that wait for verdicts.

use std::collections::HashMap;
use std::time::Duration;

use regatta_proto::{Answerer, CellIndex, Digest, ItemIndex, ModelRef, SweepId, Verdict};

use super::{LedgerFuture, each};
use crate::ledger::{
    AwaitingSession, Claimed, Judged, Ledger, OpenQuestion, Settlement, Silence, StaleQuestions, Term,
};

/// Judging: calls of the scorer, and of the coordinator about questions that nobody answers.
impl Ledger {
    /// The stored answers of `answerer` to any of `questions`, from all sweeps.
    ///
    /// # Errors
    /// When the store fails.
    pub fn verdicts<'a>(
        &'a self,
        answerer: Answerer,
        questions: &'a [Digest],
    ) -> LedgerFuture<'a, HashMap<Digest, Verdict>> {
        each!(self.verdicts(answerer, questions))
    }

    /// Stores judges' answers and costs (the first answer to a question wins), and releases the questions, answered or not, for further
    /// claims. Idempotent; returns how many of the reports it had not stored before.
    ///
    /// # Errors
    /// When the store fails.
    pub fn save_judged(&self, judged: Vec<Judged>) -> LedgerFuture<'_, usize> {
        each!(self.save_judged(judged))
    }

    /// Claims `questions` for this sweep and judge, and returns those that were not claimed yet and that `answerer` has not answered, in
    /// the given order; the caller has to ask them in jobs of the generation that is returned. Record the sessions that wait for them
    /// first, because an answer may arrive at once. They are to be asked within [`ASKED_WITHIN`](crate::ledger::ASKED_WITHIN) of this call,
    /// or released. Claims are of one sweep: two that ask the same at once both do.
    ///
    /// # Errors
    /// When the store fails.
    pub fn claim_questions<'a>(
        &'a self,
        sweep: &'a SweepId,
        judge: &'a ModelRef,
        answerer: Answerer,
        questions: &'a [Digest],
    ) -> LedgerFuture<'a, Claimed> {
        each!(self.claim_questions(sweep, judge, answerer, questions))
    }

    /// Releases questions that their claimer could not ask. Those that somebody else has claimed since are left alone.
    ///
    /// # Errors
    /// When the store fails.
    pub fn release_questions<'a>(
        &'a self,
        sweep: &'a SweepId,
        judge: &'a ModelRef,
        claimed: &'a Claimed,
    ) -> LedgerFuture<'a, ()> {
        each!(self.release_questions(sweep, judge, claimed))
    }

    /// Takes note that the broker has the jobs of questions that were claimed, so that they are in no doubt. Those that somebody else has
    /// claimed since are left alone.
    ///
    /// # Errors
    /// When there is no such sweep, or the store fails.
    pub fn confirm_questions<'a>(
        &'a self,
        sweep: &'a SweepId,
        judge: &'a ModelRef,
        claimed: &'a Claimed,
    ) -> LedgerFuture<'a, ()> {
        each!(self.confirm_questions(sweep, judge, claimed))
    }

    /// Looks for questions that were claimed before `sweep` was last resumed; a worker that waits for answers has told so within the last
    /// `within`.
    ///
    /// # Errors
    /// When there is no such sweep, or the store fails.
    pub fn stale_questions<'a>(&'a self, sweep: &'a SweepId, within: Duration) -> LedgerFuture<'a, StaleQuestions> {
        each!(self.stale_questions(sweep, within))
    }

    /// Lets the questions be claimed again that were claimed before `sweep` was last resumed; `false` if `term` is over, which changes
    /// nothing.
    ///
    /// # Errors
    /// When there is no such sweep, or the store fails.
    pub fn release_stale_questions<'a>(&'a self, sweep: &'a SweepId, term: Term) -> LedgerFuture<'a, bool> {
        each!(self.release_stale_questions(sweep, term))
    }

    /// Up to `at_most` questions to `judges`, of the present generation of `sweep`, about which there is `silence`. None while a worker holds
    /// questions that names none.
    ///
    /// # Errors
    /// When there is no such sweep, or the store fails.
    pub fn silent_questions<'a>(
        &'a self,
        sweep: &'a SweepId,
        judges: &'a [ModelRef],
        silence: Silence,
        at_most: u32,
    ) -> LedgerFuture<'a, Vec<OpenQuestion>> {
        each!(self.silent_questions(sweep, judges, silence, at_most))
    }

    /// Lets those of `questions` be claimed again that are still as [`Self::silent_questions`] says, and returns how many; `None` if `term` is over,
    /// which changes nothing.
    ///
    /// # Errors
    /// When there is no such sweep, or the store fails.
    pub fn release_silent_questions<'a>(
        &'a self,
        sweep: &'a SweepId,
        questions: &'a [OpenQuestion],
        silence: Silence,
        term: Term,
    ) -> LedgerFuture<'a, Option<u64>> {
        each!(self.release_silent_questions(sweep, questions, silence, term))
    }

    /// `true` if a worker has told within the last `within` that it waits for answers of the judges of `sweep`.
    ///
    /// # Errors
    /// When the store fails.
    pub fn is_judging<'a>(&'a self, sweep: &'a SweepId, within: Duration) -> LedgerFuture<'a, bool> {
        each!(self.is_judging(sweep, within))
    }

    /// Sessions that wait for an answer of `judge` to any of `questions`, ordered by cell and item.
    ///
    /// # Errors
    /// When the store fails.
    pub fn awaiting<'a>(
        &'a self,
        sweep: &'a SweepId,
        judge: &'a ModelRef,
        questions: &'a [Digest],
    ) -> LedgerFuture<'a, Vec<AwaitingSession>> {
        each!(self.awaiting(sweep, judge, questions))
    }

    /// The first `at_most` sessions of a sweep that wait for verdicts, ordered by cell and item, after the given one.
    ///
    /// # Errors
    /// When the store fails.
    pub fn awaiting_after<'a>(
        &'a self,
        sweep: &'a SweepId,
        after: Option<(CellIndex, ItemIndex)>,
        at_most: u32,
    ) -> LedgerFuture<'a, Vec<AwaitingSession>> {
        each!(self.awaiting_after(sweep, after, at_most))
    }

    /// Settles waiting sessions, and returns the number that were still waiting; others are left unchanged.
    ///
    /// # Errors
    /// When the store fails.
    pub fn settle(&self, settlements: Vec<Settlement>) -> LedgerFuture<'_, u64> {
        each!(self.settle(settlements))
    }
}
