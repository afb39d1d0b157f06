//! One coordinator of a deployment leads: it alone dispatches, reconciles and ends sweeps. The others serve the API and stand by.
//!
//! The lead is a lease in the ledger, by the ledger's clock, under a term that every change of a leader carries: one that stood still, or was
//! cut off, finds that its changes have no effect any more. What it would publish it claims before, and publishes only within its lease,
//! which this process reckons by its own monotonic clock from before it asked.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use regatta_backends::Term;
use tokio::time::Instant;

use crate::{Coordinator, CoordinatorError};

/// Duration of a lead without renewal: a standby takes over this long after the leader's last renewal.
const LEASE: Duration = Duration::from_secs(10);
/// Age at which a lead is renewed.
const RENEWED_AFTER: Duration = Duration::from_secs(2);
/// Time for which a process whose lead has run out does not ask for it again. A step of its round took longer than the lease, perhaps since it
/// alone is cut off from the broker, and it wakes up just when its lease ends; those that stand by ask several times within this, unless the
/// ledger is away from them.
const GIVES_WAY: Duration = Duration::from_secs(2);

/// This process's view of its lead.
#[derive(Debug, Default)]
pub(crate) struct Leading(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    lead: Option<(Term, Instant)>,
    /// Until when another may take the lead that this process has let run out.
    gives_way_until: Option<Instant>,
    /// The rounds of dispatching of this process take the lead and renew it.
    dispatches: bool,
    /// True once the log says that another process leads.
    stands_by: bool,
}

impl Coordinator {
    /// The term under which this process leads now.
    ///
    /// # Errors
    /// [`CoordinatorError::NotLeading`] while another does, or when the ledger fails.
    pub(crate) async fn lead(&self) -> Result<Term, CoordinatorError> {
        if let Some((term, asked)) = self.leading.get().filter(|(_, asked)| asked.elapsed() < RENEWED_AFTER) {
            debug_assert!(asked.elapsed() < LEASE, "a lead is renewed before it ends");
            return Ok(term);
        }
        // Where the queue dies with this process, nobody stands by.
        if self.config.queue_survives {
            let reached = self.reach_broker().await;
            if self.leading.runs_out() {
                tracing::warn!("the lead has run out; leaving it to another coordinator, if there is one");
                self.ledger.resign(&self.config.id).await?;
            }
            if self.leading.gives_way() {
                return Err(CoordinatorError::NotLeading);
            }
            reached?;
        }
        let asked = Instant::now();
        let term = self.ledger.lead(&self.config.id, LEASE).await?;
        self.leading.set(term.map(|term| (term, asked)));
        term.ok_or(CoordinatorError::NotLeading)
    }

    /// Asks the broker whether it answers, where this process holds the lead: one that alone is cut off must not renew it, however soon or late
    /// its calls fail. It waits for the answer until the lead runs out.
    async fn reach_broker(&self) -> Result<(), CoordinatorError> {
        let Some(ends) = self.leading.dispatches_until() else { return Ok(()) };
        Ok(tokio::time::timeout_at(ends, self.queue.reach()).await.unwrap_or(Ok(()))?)
    }

    /// Renews the lead under `term`, under which was read what is about to be acted on.
    ///
    /// # Errors
    /// [`CoordinatorError::NotLeading`] while another leads, or has led since: what was read may be as it was before; or when the ledger
    /// fails.
    pub(crate) async fn lead_on(&self, term: Term) -> Result<(), CoordinatorError> {
        if self.lead().await? == term { Ok(()) } else { Err(CoordinatorError::NotLeading) }
    }

    /// Gives the lead up, if this process has it: another coordinator need not wait for the end of the lease. To be called when nothing is
    /// dispatched any more.
    ///
    /// # Errors
    /// When the ledger fails; the lease ends by itself then.
    pub async fn resign(&self) -> Result<(), CoordinatorError> {
        self.ledger.resign(&self.config.id).await?;
        if self.leading.take().is_some() {
            tracing::info!("gave up the lead");
        }
        Ok(())
    }

    /// The same for work beside dispatching, as that on schedules. It does not renew the lead of a process that dispatches: one whose
    /// dispatching hangs, because it alone is cut off from the broker, would lead for ever.
    ///
    /// # Errors
    /// [`CoordinatorError::NotLeading`] while another does, or when the ledger fails.
    pub(crate) async fn lead_beside_dispatching(&self) -> Result<Term, CoordinatorError> {
        if self.leading.dispatches() {
            return self.leading.term().ok_or(CoordinatorError::NotLeading);
        }
        self.lead().await
    }

    /// Checks that the lead under `term` has not run out while this process did something else, or stood still.
    ///
    /// # Errors
    /// [`CoordinatorError::NotLeading`] when it has.
    pub(crate) fn still_lead(&self, term: Term) -> Result<(), CoordinatorError> {
        self.leads_until(term).map(drop)
    }

    /// End of the lead under `term`, unless it is renewed: what is published later may have been published by the next leader.
    ///
    /// # Errors
    /// [`CoordinatorError::NotLeading`] when it is over.
    pub(crate) fn leads_until(&self, term: Term) -> Result<Instant, CoordinatorError> {
        let held = self.leading.get().filter(|(held, asked)| *held == term && asked.elapsed() < LEASE);
        held.map(|(_, asked)| asked + LEASE).ok_or(CoordinatorError::NotLeading)
    }
}

impl Leading {
    /// Term of this process's lead, as far as it knows and if the lead has not run out.
    pub(crate) fn term(&self) -> Option<Term> {
        self.get().filter(|(_, asked)| asked.elapsed() < LEASE).map(|(term, _)| term)
    }

    /// From now on the lead is renewed by rounds of dispatching alone.
    pub(crate) fn begin_dispatching(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).dispatches = true;
    }

    fn dispatches(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).dispatches
    }

    /// End of a lead that rounds of dispatching hold, while it has not run out.
    fn dispatches_until(&self) -> Option<Instant> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ends = state.lead.map(|(_, asked)| asked + LEASE);
        ends.filter(|ends| state.dispatches && Instant::now() < *ends)
    }

    /// `true` once for each lead that this process has let run out in its rounds of dispatching. It is left to others for a while then.
    fn runs_out(&self) -> bool {
        let (now, mut state) = (Instant::now(), self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let has_run_out = state.dispatches && state.lead.take_if(|(_, asked)| now >= *asked + LEASE).is_some();
        if has_run_out {
            state.gives_way_until = Some(now + GIVES_WAY);
        }
        has_run_out
    }

    /// `true` while a lead that has run out is left to others. Then it is not known yet whether another leads.
    pub(crate) fn gives_way(&self) -> bool {
        let until = self.0.lock().unwrap_or_else(PoisonError::into_inner).gives_way_until;
        until.is_some_and(|until| Instant::now() < until)
    }

    fn get(&self) -> Option<(Term, Instant)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).lead
    }

    fn take(&self) -> Option<(Term, Instant)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).lead.take()
    }

    fn set(&self, lead: Option<(Term, Instant)>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (state.lead, lead) {
            (None, Some((term, _))) => tracing::info!(term = term.0, "leading"),
            (Some(_), None) => tracing::warn!("another coordinator has taken the lead; standing by"),
            (None, None) if !state.stands_by => tracing::info!("another coordinator leads; standing by"),
            _ => {}
        }
        (state.lead, state.stands_by) = (lead, lead.is_none());
    }
}
