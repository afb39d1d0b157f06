//! One leading coordinator that keeps the queues of ten thousand workers filled: messages and ledger operations a second, and when it is what
//! everybody waits for.
//!
//! When a queue is topped up, by how much and in which shards is the coordinator's own code (`Window`, `shard_items`, `SHARDS_AT_ONCE`). The
//! steps of a round and of a shard are those of its `rounds` and `dispatch`, one after another; each takes the time that [`Costs`] states.
//!
//! ```text
//! cargo run --release -p regatta-coordinator --example dispatching    # the table of docs/scale.md
//! ```
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

mod leader;
mod queue;
#[cfg(test)]
mod tests;

use leader::{Fleet, Outcome, run};

/// Costs of the steps, in microseconds. None of them is measured: a round trip is half a millisecond, as in two zones of one region; what the
/// servers do takes as long again, or, where a disk has to confirm it, two milliseconds.
#[derive(Debug, Clone, Copy)]
struct Costs {
    /// A question to the ledger.
    read_us: u64,
    /// A transaction of the ledger.
    write_us: u64,
    /// Making and sending one message.
    message_us: u64,
    /// Until the broker has confirmed what was sent to a quorum queue.
    confirm_us: u64,
    /// From the end of a session until it is recorded, with its batch.
    recorded_us: u64,
}

impl Default for Costs {
    fn default() -> Self {
        Self { read_us: 1_000, write_us: 4_000, message_us: 20, confirm_us: 5_000, recorded_us: 500_000 }
    }
}

const FLEETS: [Fleet; 9] = [
    Fleet::of(1_000, 1),
    Fleet::of(10_000, 1),
    Fleet::of(10_000, 10),
    Fleet::of(10_000, 100),
    Fleet { calls: 10, ..Fleet::of(10_000, 10) },
    Fleet { slots: 10, ..Fleet::of(10_000, 10) },
    Fleet { has_budget: true, ..Fleet::of(1_000, 10) },
    Fleet { has_budget: true, ..Fleet::of(10_000, 10) },
    Fleet { has_budget: true, calls: 10, ..Fleet::of(10_000, 10) },
];

fn main() {
    println!("{:?}", Costs::default());
    println!("{}", Outcome::HEAD);
    for fleet in FLEETS {
        println!("{}", run(&fleet, &Costs::default()));
    }
}
