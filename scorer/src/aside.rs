//! Reports of sweeps that cannot be read: they are set aside, so that those of all others are recorded meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use regatta_backends::{Delivery, Outage, Receipt};
use regatta_proto::{Digest, Report, SweepId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Scorer;
use crate::gone::sweep_of;

/// Pause between two warnings about one sweep; every report of it is set aside once within that time.
const WARNED_EVERY: Duration = Duration::from_secs(60);
/// Time for which a sweep that could not be read is not read again: its data may be gigabytes.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(5);
/// Longest pause before reports are published again where they are set aside.
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(10);

/// Sweeps that this scorer could not read lately, by the digest of their lock.
#[derive(Default)]
pub(crate) struct Unreadable(Mutex<BTreeMap<Digest, Trouble>>);

struct Trouble {
    reason: String,
    read_at: Instant,
    /// Reports that were set aside since the last warning.
    reports: u64,
    warned_at: Option<Instant>,
}

impl Unreadable {
    fn is_fresh(&self, lock: &Digest) -> bool {
        let troubles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        troubles.get(lock).is_some_and(|trouble| trouble.read_at.elapsed() < READ_AGAIN_AFTER)
    }

    fn could_be_read(&self, lock: &Digest) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(lock);
    }

    fn could_not_be_read(&self, lock: Digest, reason: String) {
        let mut troubles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let read_at = Instant::now();
        let trouble =
            troubles.entry(lock).or_insert(Trouble { reason: String::new(), read_at, reports: 0, warned_at: None });
        (trouble.reason, trouble.read_at) = (reason, read_at);
    }

    /// Counts a report of `sweep` that is set aside.
    fn counts(&self, lock: &Digest) {
        let mut troubles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(trouble) = troubles.get_mut(lock) {
            trouble.reports += 1;
        }
    }

    /// Warns of `sweep`, unless that was done within the last minute.
    fn warn(&self, sweep: &SweepId, lock: &Digest) {
        let mut troubles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(trouble) = troubles.get_mut(lock) else { return };
        if trouble.warned_at.is_some_and(|at| at.elapsed() < WARNED_EVERY) {
            return;
        }
        tracing::warn!(
            %sweep,
            reports = trouble.reports,
            "set aside the reports of a sweep that cannot be read: {}. They are tried again every minute, and nothing of them is lost: bring \
             back what is missing (a version of the object, a backup), or run the scorers in the version that planned the sweep",
            trouble.reason
        );
        (trouble.warned_at, trouble.reports) = (Some(Instant::now()), 0);
    }
}

/// A batch by what can be done with it now.
pub(crate) struct Sorted {
    pub(crate) reports: Vec<Report>,
    /// Receipts of `reports`, and of those that were dropped.
    pub(crate) receipts: Vec<Receipt>,
    /// Reports that are to be set aside.
    pub(crate) unreadable: Vec<(Report, Receipt)>,
}

impl Scorer {
    /// Sorts out the reports of sweeps that cannot be read, and drops those of sweeps that were removed. A sweep whose store is away is not among
    /// them: it is waited for.
    pub(crate) async fn sort_out(&self, batch: Vec<Delivery<Report>>, stop: &CancellationToken) -> Sorted {
        let (mut sorted, mut known) =
            (Sorted { reports: Vec::new(), receipts: Vec::new(), unreadable: Vec::new() }, BTreeMap::new());
        let removed = if self.config.shares_queue { self.removed(&batch).await } else { BTreeSet::new() };
        for Delivery { message: mut report, receipt, .. } in batch {
            if sweep_of(&report).is_some_and(|sweep| removed.contains(sweep)) {
                sorted.receipts.push(receipt);
                continue;
            }
            let may_be_recorded = match &mut report {
                _ if !self.config.shares_queue => true,
                Report::Echo { sweep, waited, .. } => {
                    // What came before it in this batch is set aside with it.
                    let follows = |(report, _): &(Report, Receipt)| sweep_of(report) == Some(&*sweep);
                    if sorted.unreadable.iter().any(follows) {
                        *waited = false;
                        false
                    } else {
                        self.may_be_answered(sweep, waited, stop).await
                    }
                }
                Report::Session(_) | Report::Judge(_) | Report::Rejudge { .. } | Report::Tabulate { .. } => {
                    match lock_of(&report) {
                        Some((_, lock)) => match known.get(lock) {
                            Some(known) => *known,
                            None => {
                                let is_readable = self.is_readable(lock).await;
                                known.insert(*lock, is_readable);
                                is_readable
                            }
                        },
                        None => true,
                    }
                }
                Report::HandedOver { .. } | Report::Progress(_) => true,
            };
            if may_be_recorded {
                sorted.reports.push(report);
                sorted.receipts.push(receipt);
            } else {
                sorted.unreadable.push((report, receipt));
            }
        }
        self.gone.warn(removed);
        sorted
    }

    /// `true` if the sweep with this lock can be read, or if its store is away.
    async fn is_readable(&self, lock: &Digest) -> bool {
        if self.unreadable.is_fresh(lock) {
            return false;
        }
        match self.catalog.sweep(lock).await {
            Ok(_) => {
                self.unreadable.could_be_read(lock);
                true
            }
            Err(error) if error.is_outage() => true,
            Err(error) => {
                self.unreadable.could_not_be_read(*lock, regatta_proto::causes(&error));
                false
            }
        }
    }

    /// `true` if all that was reported of `sweep` before its question is recorded, as far as it was set aside. A question that was set
    /// aside after its sweep could be read has `waited` for all that was set aside before.
    async fn may_be_answered(&self, sweep: &SweepId, waited: &mut bool, stop: &CancellationToken) -> bool {
        // Without an answer of a store the question is tried as any other report, and waits for that store.
        let Ok(Some(row)) = self.ledger.sweep(sweep).await else { return true };
        if !self.is_readable(&row.lock).await {
            *waited = false;
            return false;
        }
        let is_free = *waited || self.is_nothing_set_aside(stop).await;
        *waited = true;
        is_free
    }

    /// `true` if no report is set aside. Asks until the broker says so or not: a question that is set aside because the broker was away for a
    /// moment waits for a minute, and so does its whole sweep.
    async fn is_nothing_set_aside(&self, stop: &CancellationToken) -> bool {
        let mut outage = Outage::new(RETRY_FIRST, RETRY_MAX);
        loop {
            let error = match self.queue.reports_set_aside().await {
                Ok(count) => return count == 0,
                Err(error) => error,
            };
            let failed = outage.fails();
            if failed.is_told {
                let error = regatta_proto::causes(&error);
                tracing::warn!(
                    error,
                    tries = failed.tries,
                    "failed to count the reports that are set aside, trying again"
                );
            }
            tokio::select! {
                biased;
                () = tokio::time::sleep(failed.pause) => {}
                () = stop.cancelled() => return false,
            }
        }
    }

    /// Sets `reports` aside, and acknowledges them where they came from; tries until it works. `false` when it was time to stop first.
    pub(crate) async fn set_aside(&self, unreadable: Vec<(Report, Receipt)>, stop: &CancellationToken) -> bool {
        if unreadable.is_empty() {
            return true;
        }
        let (reports, receipts): (Vec<Report>, Vec<Receipt>) = unreadable.into_iter().unzip();
        let mut outage = Outage::new(RETRY_FIRST, RETRY_MAX);
        while let Err(error) = self.queue.set_aside_reports(reports.clone()).await {
            let failed = outage.fails();
            if failed.is_told {
                tracing::error!(
                    error = regatta_proto::causes(&error),
                    reports = reports.len(),
                    tries = failed.tries,
                    "failed to set reports aside, trying again"
                );
            }
            tokio::select! {
                biased;
                () = tokio::time::sleep(failed.pause) => {}
                () = stop.cancelled() => return false,
            }
        }
        Receipt::ack_all(receipts).await;
        self.metrics.set_aside.inc_by(reports.len() as u64);
        let mut sweeps = BTreeMap::new();
        for (sweep, lock) in reports.iter().filter_map(lock_of) {
            self.unreadable.counts(lock);
            sweeps.insert(lock, sweep);
        }
        for (lock, sweep) in sweeps {
            self.unreadable.warn(sweep, lock);
        }
        true
    }
}

/// The sweep of a report that cannot be recorded without its sweep's lock, and that lock.
fn lock_of(report: &Report) -> Option<(&SweepId, &Digest)> {
    match report {
        Report::Session(outcome) => Some((&outcome.key.sweep, &outcome.lock)),
        Report::Judge(outcome) => Some((&outcome.sweep, &outcome.lock)),
        Report::Rejudge { sweep, lock } | Report::Tabulate { sweep, lock, .. } => Some((sweep, lock)),
        Report::HandedOver { .. } | Report::Progress(_) | Report::Echo { .. } => None,
    }
}
