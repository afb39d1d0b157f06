//! Budgets: before a try is sent, the most that it can cost is reserved from each of its accounts; afterwards the real cost is settled.
//! Every sweep with known prices has an account, with or without a limit, because the cost of calls in flight in a process that died is
//! recorded nowhere else.
//!
//! The fleet's store of permits keeps the accounts. Each process has one budget lease for each account that it draws on, and
//! reports totals to the store: spent, possibly billed without a report, reserved for calls, and the part of that in flight. So no worker
//! can spend money that another has reserved, a budget is never exceeded, and no more can have been billed than the store knows of,
//! whichever process dies when. Money that a lease does not need returns to the store within moments, so that others can use the last of
//! it.

mod budget_lease;
mod lease_state;
mod reservation;

use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rand_chacha::ChaCha8Rng;
use regatta_proto::{AccountId, ChatRequest, Digest, ErrorClass, Money, Price, Try, WorkerId};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::CallMetrics;
use crate::permits::store::PermitStore;
use budget_lease::BudgetLease;
pub(crate) use lease_state::Paid;
pub(crate) use reservation::Reservation;
pub use reservation::ReservationState;

/// Tokens that an answer is assumed to have at most if the request sets no limit.
pub const OUTPUT_TOKENS_MAX: u32 = 16_384;

/// The most that one try of `request` can cost: each byte of the prompt counts as a token, images and files are the largest, and the answer
/// uses its whole limit.
#[must_use]
pub fn worst_case(request: &ChatRequest, price: &Price) -> Money {
    let prompt = request.prompt_bytes().saturating_add(request.media_tokens());
    price.at_most(prompt, u64::from(request.sampling.max_tokens.unwrap_or(OUTPUT_TOKENS_MAX)))
}

/// The budget leases of a process: one for each account that its calls draw on, shared by all its endpoints.
pub struct BudgetLeases {
    store: Arc<dyn PermitStore>,
    holder: WorkerId,
    metrics: Arc<CallMetrics>,
    budget_leases: Mutex<BTreeMap<AccountId, Arc<BudgetLease>>>,
    /// Ends the tasks that report to the store.
    closing: CancellationToken,
    tasks: TaskTracker,
}

impl BudgetLeases {
    /// Leases that are taken from `store` in the name of `holder`.
    #[must_use]
    pub fn new(store: Arc<dyn PermitStore>, holder: WorkerId, metrics: Arc<CallMetrics>) -> Arc<Self> {
        Arc::new(Self {
            store,
            holder,
            metrics,
            budget_leases: Mutex::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        })
    }

    /// Reports the final totals to the store and returns all money that is not reserved for calls in flight. To be called when no call is
    /// in progress; without it, the store waits until the reservations expire.
    pub fn close<'a>(&'a self) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.closing.cancel();
            self.tasks.close();
            self.tasks.wait().await;
        })
    }

    /// Reserves `at_most` from each of `accounts`; waits while others hold the money and may return it.
    ///
    /// # Errors
    /// When not enough money can return; names the account.
    pub(crate) async fn reserve(&self, accounts: &[AccountId], at_most: Money) -> Result<Reservation, UsedUp> {
        let mut reservation = Reservation::new(at_most);
        // The account of a single model goes first, so that calls waiting for it do not hold the money of the whole sweep.
        for of_one_model in [true, false] {
            for account in accounts.iter().filter(|account| account.model.is_some() == of_one_model) {
                reservation.reserve(account, self.lease(account)).await?;
            }
        }
        Ok(reservation)
    }

    fn lease(&self, account: &AccountId) -> Arc<BudgetLease> {
        let mut budget_leases = self.budget_leases.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lease) = budget_leases.get(account) {
            return Arc::clone(lease);
        }
        let lease = Arc::new(BudgetLease::new());
        let settling = budget_lease::Settling {
            lease: Arc::clone(&lease),
            store: Arc::clone(&self.store),
            account: account.clone(),
            holder: self.holder.clone(),
            metrics: Arc::clone(&self.metrics),
            closing: self.closing.clone(),
            rng: self.rng(account),
        };
        self.tasks.spawn(settling.run());
        // Never removed, because its totals are those of everything that this process has spent.
        budget_leases.insert(account.clone(), Arc::clone(&lease));
        lease
    }
}

impl BudgetLeases {
    /// A random stream for each worker and account.
    fn rng(&self, account: &AccountId) -> ChaCha8Rng {
        let name = Digest::of_parts([self.holder.as_str().as_bytes(), whose(account).as_bytes()]);
        let mut seed = [0; 8];
        seed.copy_from_slice(&name.bytes()[..8]);
        regatta_proto::rng(u64::from_le_bytes(seed), "llm/settle")
    }
}

impl Drop for BudgetLeases {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

impl fmt::Debug for BudgetLeases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BudgetLeases({})", self.holder)
    }
}

/// An account that does not allow a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsedUp {
    account: AccountId,
    at_most: Money,
    may_come: Money,
}

impl UsedUp {
    /// `true` if the call could still be paid: its reservation went to others, and it may wait again.
    pub(crate) fn may_come_back(&self) -> bool {
        self.may_come >= self.at_most
    }

    /// The entry that ends the call.
    pub(crate) fn into_try(self) -> Try {
        let whose = whose(&self.account);
        refused(format!(
            "{whose} is used up: the call may cost {}, and {} is left at most",
            self.at_most, self.may_come
        ))
    }
}

/// The entry that ends a call without a known price, if an account has to pay for it.
pub(crate) fn unpriced(account: &AccountId, model: &str) -> Try {
    refused(format!("the price of {model} is unknown, so {} does not allow it", whose(account)))
}

fn whose(account: &AccountId) -> String {
    match &account.model {
        Some(model) => format!("the budget of {model} in sweep {}", account.sweep),
        None => format!("the budget of sweep {}", account.sweep),
    }
}

fn refused(detail: String) -> Try {
    Try::not_sent(ErrorClass::Budget, detail)
}

#[cfg(test)]
mod tests;
