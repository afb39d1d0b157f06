//! State of an endpoint. Its routes, bills, deliveries and batches are in files of their own.

use std::sync::Arc;

use regatta_proto::{Clock, Simulation};
use regatta_serving::ResponseStore;

use crate::batches::store::Batches;
use crate::counters::Tally;
use crate::limits::Limits;
use crate::script::Script;
use crate::seen::Seen;
use crate::session::ServedSuite;

/// Responses that requests of all clients can refer to, and conversations beside them.
const MAX_RESPONSES: usize = 1024;
/// Bytes of both.
const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// State that all requests share.
pub(crate) struct Endpoint {
    pub(crate) simulation: Simulation,
    pub(crate) suites: Vec<ServedSuite>,
    pub(crate) script: Option<Script>,
    /// The `created` time of every answer, in seconds since 1970: the start of the endpoint, so that answers do not depend on their time.
    pub(crate) created: i64,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Limits,
    pub(crate) seen: Seen,
    /// Counts of judgements without a session.
    pub(crate) judged: Seen,
    pub(crate) tally: Tally,
    pub(crate) batches: Batches,
    /// Responses and conversations that requests can refer to.
    pub(crate) responses: ResponseStore,
}

impl Endpoint {
    pub(crate) fn new(
        simulation: Simulation,
        suites: Vec<ServedSuite>,
        script: Option<Script>,
        clock: Arc<dyn Clock>,
        batches: Batches,
    ) -> Self {
        Self {
            limits: Limits::new(&simulation),
            simulation,
            suites,
            script,
            created: clock.now().as_second(),
            clock,
            seen: Seen::new(),
            judged: Seen::new(),
            tally: Tally::default(),
            batches,
            responses: ResponseStore::new(MAX_RESPONSES, MAX_RESPONSE_BYTES, None),
        }
    }
}
