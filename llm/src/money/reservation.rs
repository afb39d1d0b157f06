//! A reservation: the money of one try, from its reservation to its settlement.

use std::sync::Arc;

use regatta_proto::{AccountId, Money};

use super::UsedUp;
use super::budget_lease::BudgetLease;
use super::lease_state::{Paid, Stage};

/// State of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReservationState {
    /// The money is reserved, and the try waits for a permit.
    Reserved,
    /// The try may be sent: the accounts count it as possibly spent if this process dies.
    Cleared,
    /// The try is in flight, so all of the money may have been spent.
    Sent,
    /// The leases have recorded the real cost.
    Settled,
}

impl ReservationState {
    /// All states, in the order in which they follow each other.
    pub const ALL: &'static [Self] = &[Self::Reserved, Self::Cleared, Self::Sent, Self::Settled];

    /// Name used in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Cleared => "cleared",
            Self::Sent => "sent",
            Self::Settled => "settled",
        }
    }

    /// `true` if `to` may follow; a reservation makes no other transition.
    #[must_use]
    pub const fn may_become(self, to: Self) -> bool {
        match self {
            Self::Reserved => matches!(to, Self::Cleared | Self::Settled),
            Self::Cleared => matches!(to, Self::Sent | Self::Settled),
            Self::Sent => matches!(to, Self::Settled),
            Self::Settled => false,
        }
    }

    /// Payment of a reservation that is dropped in this state; `None` if it has been paid.
    const fn given_up(self) -> Option<Paid> {
        match self {
            Self::Reserved | Self::Cleared => Some(Paid::Known(Money::ZERO)),
            Self::Sent => Some(Paid::Unknown),
            Self::Settled => None,
        }
    }
}

/// Money that is reserved for one try. Dropped before the try was sent, it is released; dropped afterwards without being settled, all of it
/// counts as possibly spent.
#[derive(Debug)]
pub(crate) struct Reservation {
    parts: Vec<Part>,
    pub(super) at_most: Money,
    state: ReservationState,
}

/// A reservation's share in one account.
#[derive(Debug)]
struct Part {
    account: AccountId,
    lease: Arc<BudgetLease>,
    reached: Stage,
}

impl Reservation {
    /// A reservation of `at_most` from no account yet.
    pub(super) const fn new(at_most: Money) -> Self {
        Self { parts: Vec::new(), at_most, state: ReservationState::Reserved }
    }

    /// Reserves the amount from `account` too.
    pub(super) async fn reserve(&mut self, account: &AccountId, lease: Arc<BudgetLease>) -> Result<(), UsedUp> {
        let taken = lease.take(Stage::Reserve, self.at_most).await;
        taken.map_err(|may_come| UsedUp { account: account.clone(), at_most: self.at_most, may_come })?;
        self.parts.push(Part { account: account.clone(), lease, reached: Stage::Reserve });
        Ok(())
    }

    /// Waits until the store of every account counts the try as possibly in flight. No try is sent before, because no other process would
    /// know of it if this one died.
    ///
    /// # Errors
    /// When the store took this process for dead meanwhile, and the money is gone.
    pub(crate) async fn clear(&mut self) -> Result<(), UsedUp> {
        for part in &mut self.parts {
            let taken = part.lease.take(Stage::Send, self.at_most).await;
            taken.map_err(|may_come| UsedUp { account: part.account.clone(), at_most: self.at_most, may_come })?;
            part.reached = Stage::Send;
        }
        self.step(ReservationState::Cleared);
        Ok(())
    }

    /// Marks the try as sent.
    pub(crate) fn sent(&mut self) {
        self.step(ReservationState::Sent);
    }

    /// Ends the try.
    pub(crate) fn settle(mut self, paid: Paid) {
        self.pay(paid);
    }

    fn step(&mut self, to: ReservationState) {
        assert!(
            self.state.may_become(to),
            "a reservation that is {} was to become {}",
            self.state.as_str(),
            to.as_str()
        );
        self.state = to;
    }

    fn pay(&mut self, paid: Paid) {
        self.step(ReservationState::Settled);
        for part in self.parts.drain(..) {
            part.lease.settle(self.at_most, part.reached, paid);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(paid) = self.state.given_up() {
            self.pay(paid);
        }
    }
}

#[cfg(test)]
mod tests {
    use regatta_tests::drawing::{Transitions, drawn};

    use super::*;

    /// A reservation of nothing in this state.
    fn standing(state: ReservationState) -> Reservation {
        Reservation { parts: Vec::new(), at_most: Money::ZERO, state }
    }

    #[test]
    fn a_reservation_takes_the_drawn_steps_and_no_others() {
        let pairs =
            ReservationState::ALL.iter().flat_map(|from| ReservationState::ALL.iter().map(move |to| (*from, *to)));
        let possible = pairs.filter(|(from, to)| from.may_become(*to));
        let named: Transitions =
            possible.map(|(from, to)| (from.as_str().to_owned(), to.as_str().to_owned())).collect();
        assert_eq!(named, drawn("reservation").unwrap());
        for from in ReservationState::ALL {
            for to in ReservationState::ALL {
                let took = std::panic::catch_unwind(|| {
                    let mut reservation = std::mem::ManuallyDrop::new(standing(*from));
                    reservation.step(*to);
                    reservation.state
                });
                assert_eq!(took.ok(), from.may_become(*to).then_some(*to), "{from:?} to {to:?}");
            }
        }
    }

    #[test]
    fn only_what_was_sent_may_have_been_spent_when_it_is_given_up() {
        let paid: Vec<Option<Paid>> = ReservationState::ALL.iter().map(|state| state.given_up()).collect();
        let nothing = Some(Paid::Known(Money::ZERO));
        assert_eq!(paid, [nothing, nothing, Some(Paid::Unknown), None]);
    }
}
