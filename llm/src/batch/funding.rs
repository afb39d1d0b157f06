//! Money of batches under a budget: the most that a batch can cost is reserved before it is handed in, and its real cost told when it is
//! collected.
//!
//! A batch has no purse of a process, because it outlives processes. It is a holder of its own at the store of permits, by its own name:
//! whoever takes it a step further speaks for it, and says the same whoever it is. What a holder has reserved stays counted when nobody
//! speaks for it for a while, so that no batch can cost what others were promised.

use futures::future::BoxFuture;
use regatta_proto::{AccountId, AccountReply, AccountRequest, Money, WorkerId};

use super::BatchClient;
use crate::permits::store::StoreError;

/// Whether there is money for a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Funds {
    /// It is reserved.
    Reserved,
    /// There is not enough, and nothing is reserved.
    Short {
        /// Which account lacks it.
        account: AccountId,
        /// What it has left.
        left: Money,
        /// What it may have left at most, once others have said what they really spent.
        may_come: Money,
    },
}

/// What a batch tells the accounts that pay for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spending {
    /// What it cost, as far as told.
    pub spent: Money,
    /// On top, what it may have cost at most without that being told.
    pub maybe_spent: Money,
    /// What is reserved for what of it is still at the provider.
    pub in_flight: Money,
}

impl BatchClient {
    /// Reserves `at_most` for the batch `id` from each of `accounts`. Repeating it changes nothing.
    ///
    /// # Errors
    /// When the store does not answer; then parts may be reserved.
    pub fn reserve<'a>(
        &'a self,
        id: &'a str,
        accounts: &'a [AccountId],
        at_most: Money,
    ) -> BoxFuture<'a, Result<Funds, StoreError>> {
        Box::pin(async move {
            // A single model's account goes first: it is the one that is more likely to lack the money.
            for of_one_model in [true, false] {
                for account in accounts.iter().filter(|account| account.model.is_some() == of_one_model) {
                    let AccountReply { reserved, left, may_come, .. } =
                        self.ask(id, account, &Spending::default(), at_most).await?;
                    if reserved < at_most {
                        self.tell(id, accounts, &Spending::default()).await?;
                        return Ok(Funds::Short { account: account.clone(), left: left + reserved, may_come });
                    }
                }
            }
            Ok(Funds::Reserved)
        })
    }

    /// Tells each of `accounts` how the batch `id` stands. Repeating it changes nothing; with nothing spent and nothing in flight, what was
    /// reserved is free again.
    ///
    /// # Errors
    /// When the store does not answer. What was reserved stays so.
    pub fn tell<'a>(
        &'a self,
        id: &'a str,
        accounts: &'a [AccountId],
        spending: &'a Spending,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            for account in accounts {
                self.ask(id, account, spending, spending.in_flight).await?;
            }
            Ok(())
        })
    }

    async fn ask(
        &self,
        id: &str,
        account: &AccountId,
        spending: &Spending,
        wanted: Money,
    ) -> Result<AccountReply, StoreError> {
        let Spending { spent, maybe_spent, in_flight } = *spending;
        let holder = WorkerId::new(format!("batch-{id}")).map_err(|error| StoreError(error.to_string()))?;
        let request = AccountRequest {
            account: account.clone(),
            holder,
            spent,
            maybe_spent,
            in_flight,
            // Whoever follows the batch next finds it handed in, or not: all of it may be.
            sent: in_flight,
            to_send: wanted,
            wanted,
            least: Money::ZERO,
        };
        self.permits.settle(&request).await
    }
}
