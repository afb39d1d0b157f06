//! Settings of a coordinator.

use std::time::Duration;

use jiff::SignedDuration;
use regatta_proto::WorkerId;

/// Settings of a coordinator.
#[derive(Debug, Clone)]
pub struct CoordinatorConfig {
    /// Name of this process among the coordinators of a deployment; no other may have it.
    pub id: WorkerId,
    /// Sessions that may be outstanding per queue; more where its endpoint has more of them in hand at once.
    pub window: u32,
    /// Pause between two looks at the ledger.
    pub tick: Duration,
    /// Pause between two broadcasts of the same control message.
    pub rebroadcast: Duration,
    /// Quiet time after which jobs in doubt after a crash are dispatched again. Longer than the broker takes to notice that a worker is cut
    /// off, up to a minute, and the next one to tell of what it was given then. A sweep is quiet while nothing of it moves and no job waits.
    pub doubtful_after: Duration,
    /// Quiet time after which sessions that are outstanding are asked after, and warned of if no worker tells of one; again each time that
    /// the quiet time has doubled. Workers take longer than a moment to tell of a session that they begin.
    pub missed_after: Duration,
    /// Quiet time after which dispatched jobs that no worker tells of count as lost; for the same reasons.
    pub lost_after: Duration,
    /// A session of which a worker has told within this time is under way. Workers tell of each at least every ten seconds; the broker may
    /// take a minute to notice that one is cut off, and gives what it held to another then.
    pub running_within: Duration,
    /// Time that workers have to give back what they may still spend when nothing is left to run. One that does not is dead, and what it may
    /// have had under way counts as possibly spent.
    pub leases_return_within: Duration,
    /// Time for which stored objects that nothing refers to are kept after their last use, longer than an upload takes with the submission that
    /// it is for. `None` keeps them for good: only who knows that the bucket and its prefix are of this deployment alone can have any removed.
    pub keep_unused: Option<SignedDuration>,
    /// Days for which the leader keeps cached responses after they were written. `None` keeps them for good: nobody but people knows which run is to be
    /// replayed later.
    pub cached_days: Option<u32>,
    /// Most memory that the data of a submission may take once it is parsed, in bytes; `None` is any.
    pub data_memory: Option<u64>,
    /// True if jobs survive this process (RabbitMQ), false if not (memory).
    pub queue_survives: bool,
}

impl Default for CoordinatorConfig {
    #[expect(clippy::expect_used, reason = "it is a name, as a test finds out")]
    fn default() -> Self {
        Self {
            id: WorkerId::new("coordinator").expect("a name"),
            window: 4096,
            tick: Duration::from_millis(200),
            rebroadcast: Duration::from_secs(2),
            doubtful_after: Duration::from_secs(75),
            missed_after: Duration::from_secs(5),
            lost_after: Duration::from_secs(75),
            running_within: Duration::from_secs(100),
            leases_return_within: Duration::from_secs(5),
            keep_unused: None,
            cached_days: None,
            data_memory: None,
            queue_survives: true,
        }
    }
}
