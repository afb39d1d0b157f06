//! Tells of the sessions of a batch as attempts that have begun. A live attempt is told of in whole every few seconds; a batch is only named,
//! since it has thousands of lines, and its name counts by what was told of them.

use std::convert::Infallible;
use std::time::Duration;

use regatta_proto::{Money, Report};
use tokio::time::sleep;

use super::collecting::opened;
use super::following::Followed;
use super::standing::Standing;
use crate::publisher::{Origin, Publication};

/// Time after which the lines of a batch are told of again for the first time. A ledger that fails over to a replica may lose the last seconds;
/// this is later than that, and sooner than a session of which nothing is known any more counts as lost.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
/// Pause between later times. No ledger loses more than its newest rows, and thousands of lines are written each time.
const PAUSE: Duration = Duration::from_secs(20 * 60);

impl Followed<'_> {
    /// Tells of the sessions of the intent as attempts that have begun: it may wait for money, or be looked for, for hours. Who gathered them
    /// has told of them too, unless it died first.
    pub(super) async fn tell_of_intent(&self, standing: Standing) {
        let at_most = |position| if standing == Standing::InDoubt { self.at_most(position) } else { Some(Money::ZERO) };
        self.publish(opened(self.lane, self.job, at_most)).await;
    }

    /// Tells of the lines of a batch that its provider has: now, a minute later, and then every twenty minutes.
    pub(super) async fn keep_telling(&self) -> Infallible {
        let mut pause = FIRST_PAUSE;
        loop {
            self.publish(self.begun()).await;
            sleep(pause).await;
            pause = PAUSE;
        }
    }

    /// Reports of the lines of a batch that its provider has.
    pub(super) fn begun(&self) -> Vec<Report> {
        opened(self.lane, self.job, |position| self.at_most(position))
    }

    /// Worst-case cost of a line; `None` where its price is unknown.
    pub(super) fn at_most(&self, position: usize) -> Option<Money> {
        self.asked.get(position).and_then(|asked| asked.call().at_most())
    }

    async fn publish(&self, reports: Vec<Report>) {
        self.lane.publisher.leave(Publication { reports, jobs: Vec::new(), origin: Origin::Nobody }).await;
    }
}
