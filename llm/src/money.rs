//! Money goes through accounts: before a try is sent, the most it can cost is reserved from each of them; afterwards the real cost is
//! settled. Every sweep whose prices are known has one, with its budget or without an end: what a process that dies had under way is known
//! from nowhere else.
//!
//! The fleet's store of permits keeps the accounts. Each process has one purse for each account it draws on, and tells the store totals:
//! what it has spent, what may have been billed without being told, what is reserved for calls, and what of it is under way. So no worker
//! can spend what another has reserved, a budget is never overrun, and no more can have been billed than the store knows of, whatever dies
//! when. What a purse does not need goes back to the store within moments, so that others can use the last money.

mod funds;
mod purse;
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
use purse::Purse;
pub use reservation::ReservationState;
pub(crate) use reservation::{Paid, Reservation};

/// Tokens that an answer is assumed to have at most, where the request sets no limit.
pub const OUTPUT_TOKENS_MAX: u32 = 16_384;

/// What one try of `request` can cost at most: a token is at least one byte of the prompt, and the answer fills its limit.
#[must_use]
pub fn worst_case(request: &ChatRequest, price: &Price) -> Money {
    price.at_most(request.prompt_bytes(), u64::from(request.sampling.max_tokens.unwrap_or(OUTPUT_TOKENS_MAX)))
}

/// The purses of a process: one for each account that its calls draw on, shared by all its endpoints.
pub struct Purses {
    store: Arc<dyn PermitStore>,
    holder: WorkerId,
    metrics: Arc<CallMetrics>,
    purses: Mutex<BTreeMap<AccountId, Arc<Purse>>>,
    /// Ends the tasks that talk to the store.
    closing: CancellationToken,
    tasks: TaskTracker,
}

impl Purses {
    /// Purses that are filled from `store` in the name of `holder`.
    #[must_use]
    pub fn new(store: Arc<dyn PermitStore>, holder: WorkerId, metrics: Arc<CallMetrics>) -> Arc<Self> {
        Arc::new(Self {
            store,
            holder,
            metrics,
            purses: Mutex::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        })
    }

    /// Tells the store the final totals and gives back what is not reserved for calls in flight. To be called when no call is under way
    /// any more; without it, the store waits for the reservations to end by themselves.
    pub fn close<'a>(&'a self) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.closing.cancel();
            self.tasks.close();
            self.tasks.wait().await;
        })
    }

    /// Reserves `at_most` from each of `accounts`; waits while others hold the money and may give it back.
    ///
    /// # Errors
    /// When not enough can come back any more; says which account.
    pub(crate) async fn reserve(&self, accounts: &[AccountId], at_most: Money) -> Result<Reservation, UsedUp> {
        let mut reservation = Reservation::new(at_most);
        // A single model's account goes first: while its calls wait for it, they shall not hold the money of the whole sweep.
        for of_one_model in [true, false] {
            for account in accounts.iter().filter(|account| account.model.is_some() == of_one_model) {
                reservation.reserve(account, self.purse(account)).await?;
            }
        }
        Ok(reservation)
    }

    fn purse(&self, account: &AccountId) -> Arc<Purse> {
        let mut purses = self.purses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(purse) = purses.get(account) {
            return Arc::clone(purse);
        }
        let purse = Arc::new(Purse::new());
        let settling = purse::Settling {
            purse: Arc::clone(&purse),
            store: Arc::clone(&self.store),
            account: account.clone(),
            holder: self.holder.clone(),
            metrics: Arc::clone(&self.metrics),
            closing: self.closing.clone(),
            rng: self.rng(account),
        };
        self.tasks.spawn(settling.run());
        // Kept as long as the process lives: its totals are those of everything this process has ever spent.
        purses.insert(account.clone(), Arc::clone(&purse));
        purse
    }
}

impl Purses {
    /// Another stream for each worker and account.
    fn rng(&self, account: &AccountId) -> ChaCha8Rng {
        let name = Digest::of_parts([self.holder.as_str().as_bytes(), whose(account).as_bytes()]);
        let mut seed = [0; 8];
        seed.copy_from_slice(&name.bytes()[..8]);
        regatta_proto::rng(u64::from_le_bytes(seed), "llm/settle")
    }
}

impl Drop for Purses {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

impl fmt::Debug for Purses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Purses({})", self.holder)
    }
}

/// An account does not allow a call any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsedUp {
    account: AccountId,
    at_most: Money,
    may_come: Money,
}

impl UsedUp {
    /// `true` if the call could still be paid: what it had reserved went to others, and it may stand in line again.
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

/// The entry that ends a call whose price nobody knows, where an account has to pay for it.
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
