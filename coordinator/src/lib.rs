//! Turns a sweep spec into cells, shards and jobs; dispatches them in a bounded window; notices the end.
//!
//! The coordinator keeps nothing in memory that the ledger does not have: it may be killed and started again at any moment.

mod adaptive;
mod admission;
mod answering;
mod api;
mod budget;
mod cached;
mod control;
mod coordinator;
mod dispatch;
mod doctor;
mod echo;
mod estimate;
mod forecast;
mod held;
mod identity;
mod leading;
mod lost_jobs;
mod lost_questions;
mod metrics;
mod overtaken;
mod plan;
mod pricing;
mod problems;
mod queues;
mod quiet;
mod reconcile;
mod refusals;
mod rejudging;
mod retention;
mod rounds;
mod schedules;
mod sequences;
mod shards;
mod so_far;
mod status;
mod storage;
mod submission;
mod suspects;
#[cfg(test)]
mod talk;
mod traced;
mod unused;
mod upkeep;
mod voided;
mod window;

pub use api::{
    Access, ApiConfig, QuotaRequest, Readers, TokenList, TokenRequest, VerdictsPage, VerdictsRequest, rights, router,
    router_and_readers,
};
pub use budget::Shortfall;
pub use cached::{CachedWish, OldResponses, kept_since, remove_old_responses};
pub use coordinator::{Coordinator, CoordinatorConfig, CoordinatorError};
pub use dispatch::SHARDS_AT_ONCE;
pub use doctor::{
    Diagnosis, Finding, LeaseDiagnosis, Patient, PoolState, QueueDiagnosis, RunningSession, SweepDiagnosis,
};
pub use estimate::{CellEstimate, JudgeCalls, estimate, unpriced_judges};
pub use forecast::{Forecast, Foretold, foretold_cost};
pub use identity::{
    BearerVerifier, CertificateGrant, CertificateRules, Credential, OwnerQuotas, PeerCertificate, Principal, Quotas,
    Unverified,
};
pub use metrics::CoordinatorMetrics;
pub use plan::{PlanError, plan};
pub use pricing::{PriceBook, Pricing};
pub use retention::{GcRequest, GcResult, Goes, Going, Undeleted};
pub use schedules::{
    Baseline, CatchUp, GateError, GateJudgement, GateQuestion, Message, Messenger, NightEvent, NightGate, NightOutcome,
    NightVerdict, Notify, Retention, ScheduleBudget, SchedulePut, ScheduleRequest, ScheduleSpec, ScheduleStatus,
    Scheduling, TickStatus,
};
pub use shards::shard_items;
pub use so_far::{CellSoFar, ScoreSoFar};
pub use status::{BudgetStatus, CellStatus, SweepStatus};
pub use submission::{BudgetChange, ConcurrencyChange, Resumption, Submission, Submitted};
pub use unused::UnusedObjects;
pub use window::Window;
