//! Endpoints: wire formats, retries, permits, prices, provenance.
//!
//! [`Endpoint`] is the interface to models: [`Endpoint::chat`] for a conversation, [`Endpoint::answer`] for an evaluator's questions.
//! Similarities are computed from vectors (`judge`), judgements are asked of a chat model (`judgement`). The classes of errors are defined
//! in `errors`, the rules of retries in `retry`, the limits of concurrency and rate in `permits`, and budgets in `money`. A new wire format
//! is a folder in `wire`; a new kind of judge is a variant of `Service` in `endpoint`.

mod acceptance;
mod answer;
mod batch;
#[cfg_attr(not(feature = "bedrock"), path = "no_bedrock.rs")]
mod bedrock;
mod breaker;
mod cache;
mod call;
mod chat;
mod client;
mod embedding;
mod encoders;
#[cfg_attr(not(feature = "encoder"), path = "no_encoding.rs")]
mod encoding;
mod endpoint;
mod errors;
mod events;
mod holding;
mod http;
mod judge;
mod judgement;
mod kept_verdicts;
mod limits;
mod meter;
mod metrics;
mod money;
mod open;
mod open_error;
mod permits;
mod policy;
mod prices;
mod probe;
mod quarantine;
mod received;
mod recorded;
mod redaction;
mod retry;
mod retry_after;
#[cfg(test)]
mod scripted;
mod secret;
mod silence;
mod similarity;
mod standstill;
mod transport;
mod tries;
mod usable;
mod wire;
mod withheld;

pub use answer::{Answers, Unanswered};
pub use batch::{
    BatchCall, BatchClient, BatchProgress, BatchState, Collected, Found, Funding, MayCreate, Prepared, SUBMIT_WITHIN,
    Spending, SubmitError,
};
pub use cache::ResponseStore;
pub use call::{CallError, ChatCall, Interrupted, Payer, SessionTag};
pub use encoders::Encoders;
pub use endpoint::Endpoint;
pub use errors::{Fault, Rule, TABLE as ERROR_TABLE, rule};
pub use events::{EVENTS, EventRule, ProviderEvent};
pub use meter::Meter;
pub use metrics::CallMetrics;
pub use money::{BudgetLeases, OUTPUT_TOKENS_MAX, ReservationState, worst_case};
pub use open::{Build, OpenContext, VERDICTS_BYTES_MAX, check_access, check_encoder};
pub use open_error::OpenError;
#[cfg(feature = "simulation")]
pub use permits::simulated::{SimulatedCall, SimulatedHolder};
pub use permits::store::{PermitStore, StoreError};
pub use policy::{EgressRules, EgressSection, KeyRule, Origin, OutboundPolicy, OutboundRules, PrivateNetwork};
pub use prices::{
    CrossCheck, DatedPrice, Disagreement, Import, ImportError, ImportProblem, ImportReport, Listed,
    PRICE_FILE_BYTES_MAX, PriceChange, PriceTable, PriceTableError, PriceUpdate, Reading,
};
pub use probe::{ModelList, Probe, Probed};
pub use recorded::{RecordedError, RecordedVerdicts, VERDICTS_KEPT_MAX};
pub use standstill::Standstill;
pub use transport::{Network, NoAnswer, TransportError, http_client};
