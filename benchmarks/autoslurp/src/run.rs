//! Record of a session, whoever ran it.

use std::collections::BTreeSet;

use regatta_proto::{Exchange, MemberName};

/// The input of all evaluators. Policies make it from the replies of their models, the bridge from what an external agent did, and golden
/// cases hold it ready.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Run {
    /// Standard output, as the framework of the paper prints it: what the official evaluators read.
    pub(crate) log: String,
    /// Requests that were made, in order.
    pub(crate) requests: Vec<Exchange>,
    /// Final answer to the person; `None` without one.
    pub(crate) final_text: Option<String>,
    /// Last text of the intent agent; `None` without one.
    pub(crate) intent_output: Option<String>,
    /// Members that spoke; `None` where that is unknown.
    pub(crate) members: Option<BTreeSet<MemberName>>,
    /// True if it ended at a limit of its own (rounds, steps, time) and not because it was done.
    pub(crate) hit_limit: bool,
    /// `true` if it ended, or went another way, because the framework could not read what one of its models said.
    pub(crate) is_unreadable: bool,
}
