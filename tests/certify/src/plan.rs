//! Schedule of faults: a function of the seed.

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal),+ $(,)?) => {
        /// A way to hurt a deployment.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Fault {
            $($(#[doc = $doc])+ $variant),+
        }

        impl Fault {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// As written on the command line and in certificates.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

faults! {
    /// SIGKILL to a worker; another one starts.
    KillWorker = "kill-worker",
    /// SIGTERM to a worker; another one starts.
    DrainWorker = "drain-worker",
    /// SIGSTOP to a worker, SIGCONT when its leases are over.
    PauseWorker = "pause-worker",
    /// SIGKILL to the coordinator that leads; it starts again.
    KillLeader = "kill-leader",
    /// SIGSTOP to the coordinator that leads, SIGCONT when the other one leads: two believe for a moment that they do.
    PauseLeader = "pause-leader",
    /// SIGKILL to a scorer; another one starts.
    KillScorer = "kill-scorer",
    /// SIGKILL to RabbitMQ, as by a power failure; it starts again.
    KillBroker = "kill-broker",
    /// SIGQUIT to PostgreSQL; it starts again and recovers.
    KillDatabase = "kill-database",
    /// A worker's connection to the broker is cut for a while.
    CutWorkerFromBroker = "cut-worker-from-broker",
    /// A worker's connection to the database of permits is cut for a while.
    CutWorkerFromDatabase = "cut-worker-from-database",
    /// The leader's connection to the ledger is cut for a while.
    CutLeaderFromDatabase = "cut-leader-from-database",
    /// The leader's connection to the broker is cut for longer than its lease.
    CutLeaderFromBroker = "cut-leader-from-broker",
    /// The ledger does what scorers ask, but its answers are lost.
    LoseLedgerAnswers = "lose-ledger-answers",
    /// The bucket stores what scorers write, but its answers are lost.
    LoseBucketAnswers = "lose-bucket-answers",
    /// The bucket is away.
    CutBucket = "cut-bucket",
    /// Every packet between the roles and their stores takes longer.
    SlowNetwork = "slow-network",
    /// The database refuses to write.
    ReadOnlyDatabase = "read-only-database",
    /// The database has no space left for what is written.
    FullDatabase = "full-database",
    /// The bucket has no space left for what is written.
    FullBucket = "full-bucket",
    /// Scorers' connections to the broker are cut for a while.
    CutScorersFromBroker = "cut-scorers-from-broker",
    /// Scorers' connections to the ledger are cut for a while.
    CutScorersFromDatabase = "cut-scorers-from-database",
    /// Somebody else locks the ledger's sessions.
    LockHolder = "lock-holder",
    /// The endpoint refuses every call with 429.
    Refusals = "refusals",
    /// The endpoint accepts calls and does not answer.
    HungEndpoint = "hung-endpoint",
    /// Somebody cancels the sweep and resumes it at once.
    CancelAndResume = "cancel-and-resume",
    /// Somebody empties the queues of the live sweep's jobs while workers are cut off, so that what they hold is lost too.
    PurgeJobs = "purge-jobs",
}

impl Fault {
    /// The fault of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|fault| fault.name() == name)
    }

    /// Longest time, in seconds, from the end of the fault until each session that it met in a call is recorded or calls again; where messages
    /// were thrown away, until each of their sessions is recorded.
    #[must_use]
    pub const fn recovery_max_s(self) -> u64 {
        match self {
            // Lost messages can only be told from slow ones by waiting.
            Self::PurgeJobs => 180,
            // What was refused counts in its minute, and refusals lower the part of the limits that is used.
            Self::Refusals => 90,
            // Slots of what is gone are free after ten seconds. One worker may have taken twice as many sessions as calls are allowed at once, of
            // which it makes a third: the last one waits for twenty seconds, and longer on a busy machine.
            Self::KillWorker
            | Self::DrainWorker
            | Self::PauseWorker
            | Self::KillLeader
            | Self::PauseLeader
            | Self::KillScorer
            | Self::KillBroker
            | Self::KillDatabase
            | Self::CutWorkerFromBroker
            | Self::CutWorkerFromDatabase
            | Self::CutLeaderFromDatabase
            | Self::CutLeaderFromBroker
            | Self::LoseLedgerAnswers
            | Self::LoseBucketAnswers
            | Self::CutBucket
            | Self::SlowNetwork
            | Self::ReadOnlyDatabase
            | Self::FullDatabase
            | Self::FullBucket
            | Self::CutScorersFromBroker
            | Self::CutScorersFromDatabase
            | Self::LockHolder
            | Self::HungEndpoint
            | Self::CancelAndResume => 45,
        }
    }

    /// `true` if another coordinator leads while the one that had led is alive and may believe that it still does.
    const fn leaves_two_leaders(self) -> bool {
        matches!(self, Self::PauseLeader | Self::CutLeaderFromDatabase | Self::CutLeaderFromBroker)
    }

    /// Time during which it leaves nobody to record anything.
    pub(crate) const fn standstill(self) -> Standstill {
        match self {
            Self::PurgeJobs | Self::Refusals => Standstill::UntilRecovered,
            Self::KillBroker => Standstill::UntilUndone { then_ms: 0 },
            // No slot is granted until all workers have told what they have under way.
            Self::KillDatabase => Standstill::UntilUndone { then_ms: 10_000 },
            Self::KillWorker
            | Self::DrainWorker
            | Self::PauseWorker
            | Self::KillLeader
            | Self::PauseLeader
            | Self::KillScorer
            | Self::CutWorkerFromBroker
            | Self::CutWorkerFromDatabase
            | Self::CutLeaderFromDatabase
            | Self::CutLeaderFromBroker
            | Self::LoseLedgerAnswers
            | Self::LoseBucketAnswers
            | Self::CutBucket
            | Self::SlowNetwork
            | Self::ReadOnlyDatabase
            | Self::FullDatabase
            | Self::FullBucket
            | Self::CutScorersFromBroker
            | Self::CutScorersFromDatabase
            | Self::LockHolder
            | Self::HungEndpoint
            | Self::CancelAndResume => Standstill::None,
        }
    }
}

/// Time during which a fault leaves nobody to record anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standstill {
    /// Others go on meanwhile, or it lasts for moments.
    None,
    /// While the fault lasts, and so many milliseconds more.
    UntilUndone { then_ms: u64 },
    /// Until it has recovered, which has a limit of its own.
    UntilRecovered,
}

/// A fault and when it strikes: at this part of all sessions, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Strike {
    pub(crate) fault: Fault,
    pub(crate) at_permille: u32,
}

/// `count` faults of `among`, spread over the sweeps. Seeds that are next to each other begin with different faults, so that a few seeds have all.
/// In every odd seed of at least three faults coordinators overlap.
pub(crate) fn plan(seed: u64, count: usize, among: &[Fault]) -> Vec<Strike> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let overlapping: Vec<Fault> = among.iter().copied().filter(|fault| fault.leaves_two_leaders()).collect();
    let mut faults: Vec<Fault> = Vec::with_capacity(count);
    for number in 0..count {
        let in_turn = among[((seed as usize).wrapping_mul(count) + number) % among.len()];
        // Every third one is drawn, so that faults also meet in other orders.
        let drawn = match number % 3 == 2 {
            true if seed % 2 == 1 && !overlapping.is_empty() => overlapping.choose(&mut rng).copied(),
            true => among.choose(&mut rng).copied(),
            false => None,
        };
        faults.push(drawn.unwrap_or(in_turn));
    }
    let part = 700 / count.max(1) as u32;
    faults
        .into_iter()
        .enumerate()
        .map(|(number, fault)| Strike {
            fault,
            at_permille: 50 + number as u32 * part + rng.random_range(0..part.max(1)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_is_a_plan_and_a_few_seeds_have_every_fault() {
        assert_eq!(plan(3, 4, Fault::ALL), plan(3, 4, Fault::ALL));
        let seen: BTreeSet<Fault> =
            (0..20).flat_map(|seed| plan(seed, 4, Fault::ALL)).map(|strike| strike.fault).collect();
        assert_eq!(seen.len(), Fault::ALL.len());
    }

    #[test]
    fn coordinators_overlap_in_every_other_seed_at_least() {
        let overlap = |seed: &u64| plan(*seed, 4, Fault::ALL).iter().any(|strike| strike.fault.leaves_two_leaders());
        assert!((1..=99).step_by(2).all(|seed| overlap(&seed)));
        let only = [Fault::KillWorker, Fault::KillBroker];
        assert!(plan(1, 4, &only).iter().all(|strike| only.contains(&strike.fault)), "but for what is left out");
    }

    #[test]
    fn faults_strike_one_after_the_other_and_leave_time_to_recover() {
        for seed in 0..50 {
            let strikes = plan(seed, 5, Fault::ALL);
            assert!(strikes.windows(2).all(|two| two[0].at_permille < two[1].at_permille + 1), "{strikes:?}");
            assert!(strikes.iter().all(|strike| strike.at_permille < 800), "{strikes:?}");
        }
    }

    #[test]
    fn names_are_unique_and_read_back() {
        for fault in Fault::ALL {
            assert_eq!(Fault::of_name(fault.name()), Some(*fault));
        }
    }
}
