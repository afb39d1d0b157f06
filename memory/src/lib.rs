//! One budget of bytes for everything that a process holds on behalf of sessions: answers that are read, requests of agents, their output,
//! transcripts until they are published, reports until they are recorded.
//!
//! A task that reads from a socket asks before it reads on ([`HeldBytes::grow`]), so that where there is no room nothing is read, and
//! the sender waits too. The rules are a pure state machine (`pool`), in these sentences:
//!
//! - A **holder** is one session, or one request that belongs to none. It holds bytes that it reads, and bytes that it keeps once they are
//!   read. No holder has more than [`ByteBudget::largest`], a quarter of the budget: who would is refused.
//! - Half of the budget is shared: at most three eighths are for long reads and for what is kept, the rest is for short ones (up to 1/256 of
//!   the budget). Reads wait in the order of their holders' age, short ones apart; a session that begins waits for all of them.
//! - Where a share is used up, one read at a time goes on beyond it, so that something always ends. This takes a quarter at most.
//! - What a session keeps stays until it is published. Where that overdraws its share, the session that keeps most is told to leave: it
//!   publishes what it has, and goes on when there is room again. What it reads meanwhile takes the last quarter. Sessions that cannot go on
//!   elsewhere stay ([`ByteHolder::stay`]); what these keep has limits of its own, and may exceed the budget.
//! - A session, or a message that is about to be decoded, begins when there is room for what it brings ([`ByteBudget::enter`]), one after
//!   another. One that brings more than there is room for begins alone: it is here, or with the broker, and cannot be refused.
//!
//! So nobody waits for ever: a read that may go on needs nothing but its sender, and a session that is to leave nothing but the broker. A
//! read whose sender may wait for another read must not be counted by [`HeldBytes::grow`]: as the one that goes on it would never end.

mod budget;
mod json;
mod machine;
mod metrics;
mod pool;

pub use budget::{ByteBudget, ByteHolder, HeldBytes, TooLarge};
pub use json::{ParsedBytes, parsed_bytes};
pub use machine::{default_bytes, memory_bytes};
pub use metrics::ByteMetrics;
