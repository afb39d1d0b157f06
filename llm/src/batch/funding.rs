//! Budgets of batches: the most that a batch can cost is reserved before it is submitted, and its real cost is settled when it is
//! collected.
//!
//! A batch takes no lease of a process, because it outlives processes. It is a holder of its own at the store of permits, under its own
//! name. Every process that advances the batch reports in that name, with the same totals. A holder's reservation stays counted while no
//! process reports, so a batch cannot cost money that others were promised.
//!
//! Of several processes that have the job of one batch (a broker may store it twice), one at a time may submit it: whoever has claimed the
//! reservation, under a name that nobody else has.

use futures::future::BoxFuture;
use regatta_proto::{AccountId, AccountReply, AccountRequest, AttemptId, Claimed, Money, WorkerId};

use super::BatchClient;
use crate::permits::store::StoreError;

/// Result of a request for a batch's money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Funding {
    /// The money is reserved.
    Reserved,
    /// The money does not suffice, and nothing is reserved.
    Short {
        /// The account that lacks it.
        account: AccountId,
        /// Unreserved money of the account.
        left: Money,
        /// Most money that the account can have once all reservations are settled.
        may_come: Money,
    },
    /// Another has claimed the reservation, and may have submitted the batch. Nothing is changed.
    Claimed(Claimed),
    /// An account was told before what the batch has cost, or may have: it is over, and nothing is reserved.
    Settled,
}

/// Costs of a batch, as reported to the accounts that pay for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spending {
    /// Cost of the lines that were billed, as far as known.
    pub spent: Money,
    /// Upper bound of further costs that the provider may have billed without reporting them.
    pub maybe_spent: Money,
    /// Money reserved for the lines that are still at the provider.
    pub in_flight: Money,
}

impl BatchClient {
    /// Reserves `at_most` for the batch `id` from each of `accounts`, so that it may be submitted by whoever has the name `claim`.
    /// Idempotent.
    ///
    /// # Errors
    /// When the store does not answer; then parts may be reserved.
    pub fn reserve<'a>(
        &'a self,
        id: &'a str,
        accounts: &'a [AccountId],
        at_most: Money,
        claim: &'a AttemptId,
    ) -> BoxFuture<'a, Result<Funding, StoreError>> {
        Box::pin(async move {
            for account in in_order(accounts) {
                let AccountReply { reserved, left, may_come, claimed, was_overtaken, .. } =
                    self.ask(id, account, &Spending::default(), [at_most; 2], Some(claim)).await?;
                if let Some(claimed) = claimed {
                    self.give_up(id, accounts, Money::ZERO, claim).await?;
                    return Ok(Funding::Claimed(claimed));
                }
                if was_overtaken {
                    self.give_up(id, accounts, Money::ZERO, claim).await?;
                    return Ok(Funding::Settled);
                }
                if reserved < at_most {
                    self.give_up(id, accounts, Money::ZERO, claim).await?;
                    return Ok(Funding::Short { account: account.clone(), left: left + reserved, may_come });
                }
            }
            Ok(Funding::Reserved)
        })
    }

    /// Gives up the name `claim` under which the batch `id` might have been submitted, and all money but `kept`. Returns the claim of another
    /// name that stands, where nothing is changed. Idempotent.
    ///
    /// # Errors
    /// When the store does not answer; then parts may be given up.
    pub fn give_up<'a>(
        &'a self,
        id: &'a str,
        accounts: &'a [AccountId],
        kept: Money,
        claim: &'a AttemptId,
    ) -> BoxFuture<'a, Result<Option<Claimed>, StoreError>> {
        Box::pin(async move {
            let (mut claimed, spending) = (None, Spending { in_flight: kept, ..Spending::default() });
            for account in accounts {
                let reply = self.ask(id, account, &spending, [Money::ZERO, kept], Some(claim)).await?;
                claimed = claimed.or(reply.claimed);
            }
            Ok(claimed)
        })
    }

    /// Claims the batch `id`, which is not to be submitted any more, for good under the name `claim`: whoever wants to reserve money for it learns
    /// that name. Returns the claim of another name that stands, where nothing is changed. Idempotent.
    ///
    /// # Errors
    /// When the store does not answer; the claim may stand all the same.
    pub fn claim_for_good<'a>(
        &'a self,
        id: &'a str,
        accounts: &'a [AccountId],
        claim: &'a AttemptId,
    ) -> BoxFuture<'a, Result<Option<Claimed>, StoreError>> {
        Box::pin(async move {
            // The first is asked by everybody before any other.
            let Some(account) = in_order(accounts).next() else { return Ok(None) };
            let request = request(id, account, &Spending::default(), [Money::ZERO; 2], Some(claim))?;
            let reply = self.permits.settle(&AccountRequest { claims_for_good: true, ..request }).await?;
            Ok(reply.claimed)
        })
    }

    /// Reports the costs of the batch `id` to each of `accounts`. Idempotent. With nothing spent and nothing in flight, the reservation is
    /// released. With a `claim`, only if no other name has claimed it, and that name is heard of again.
    ///
    /// # Errors
    /// When the store does not answer. The reservation stays.
    pub fn tell<'a>(
        &'a self,
        id: &'a str,
        accounts: &'a [AccountId],
        spending: &'a Spending,
        claim: Option<&'a AttemptId>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            for account in accounts {
                self.ask(id, account, spending, [spending.in_flight; 2], claim).await?;
            }
            Ok(())
        })
    }

    async fn ask(
        &self,
        id: &str,
        account: &AccountId,
        spending: &Spending,
        money: [Money; 2],
        claim: Option<&AttemptId>,
    ) -> Result<AccountReply, StoreError> {
        self.permits.settle(&request(id, account, spending, money, claim)?).await
    }
}

/// `accounts` in the order in which they are asked: that of a single model goes first, because it is the one that is more likely to lack the
/// money.
fn in_order(accounts: &[AccountId]) -> impl Iterator<Item = &AccountId> {
    let of = |of_one_model: bool| accounts.iter().filter(move |account| account.model.is_some() == of_one_model);
    of(true).chain(of(false))
}

fn request(
    id: &str,
    account: &AccountId,
    spending: &Spending,
    [to_send, wanted]: [Money; 2],
    claim: Option<&AttemptId>,
) -> Result<AccountRequest, StoreError> {
    let Spending { spent, maybe_spent, in_flight } = *spending;
    let holder = WorkerId::new(format!("batch-{id}")).map_err(|error| StoreError(error.to_string()))?;
    Ok(AccountRequest {
        account: account.clone(),
        holder,
        spent,
        maybe_spent,
        in_flight,
        // The next process may find the batch submitted or not, so all that may be sent counts as sent.
        sent: in_flight.min(to_send),
        to_send,
        wanted,
        least: Money::ZERO,
        claim: claim.cloned(),
        claims_for_good: false,
    })
}
