//! The vocabulary of Regatta: ids, the sweep spec, jobs, transcripts, outcomes, usage, money.
//!
//! Everything that crosses a process boundary is defined here and nowhere else. This crate does no I/O and has no clock of its own. JSON
//! Schemas and sample messages of each version are in `proto/schemas` and `proto/samples`, so that a worker can be written in any language.

mod answerer;
mod api_token;
mod audit;
mod cast;
mod causes;
mod chat;
mod clock;
mod compact;
mod counted;
mod dataset;
mod decide;
mod did_you_mean;
mod digest;
mod endpoint;
mod event;
mod external;
mod flags;
mod handshake;
mod header_names;
mod ids;
mod image;
mod job;
mod lane;
mod lease;
mod level;
mod limit;
mod lock;
mod model;
mod money;
mod outcome;
mod parsed;
mod passed;
mod price;
mod question;
mod report;
mod scope;
mod secret_names;
mod seed;
mod simulation;
mod spec;
mod spec_file;
mod stage;
mod totals;
mod transcript;
mod untrusted;
mod usage;
pub mod wire;
mod yaml;

pub use answerer::Answerer;
pub use api_token::ApiToken;
pub use audit::Audit;
pub use cast::{Judge, Panel, PanelRule, RoleModels};
pub use causes::{causes, root_cause};
pub use chat::{
    ChatMessage, ChatRequest, ChatRole, Finish, OutputSchema, Reasoning, Reply, Sampling, Thinking, TokenLogprob, Tool,
    ToolCall, ToolChoice,
};
pub use clock::{Clock, ManualClock, SystemClock};
pub use compact::Compact;
pub use counted::{binary_size, counted};
pub use dataset::{FileEntry, FileSet, Snapshot};
pub use decide::{Decide, DecideLimits, DecideOver, DecideQuestion, Margin};
pub use did_you_mean::{did_you_mean, nearest};
pub use digest::{Digest, Hasher, ParseDigestError, json_bytes};
pub use endpoint::{BatchSettings, EndpointKind, EndpointSpec, Limits, ModelLimits, Retries, Timeouts};
pub use event::{BroadcastNumber, Control, EndpointRoute};
pub use external::{Ended, Exchange, ExternalAgent, HowEnded, Started};
pub use flags::{Flag, Flags, UnknownFlag};
pub use handshake::{TlsOptions, handshake_advice, with_handshake_advice};
pub use header_names::is_reserved_header;
pub use ids::{
    AgentName, AttemptId, BenchmarkName, CellIndex, EncoderName, EndpointName, IdError, ItemId, ItemIndex,
    MAX_ID_LENGTH, MemberName, OwnerName, ScheduleName, SessionKey, Setting, ShardIndex, SweepId, TokenId, Trial,
    WorkerId,
};
pub use image::{Image, ImageFormat};
pub use job::{BatchJob, Job, JudgeJob, SessionJob};
pub use lane::Lane;
pub use lease::{
    AccountId, AccountReply, AccountRequest, Claimed, Failing, Grant, Party, PoolReply, PoolRequest, Signals,
    fingerprint,
};
pub use level::Level;
pub use limit::Limit;
pub use lock::{BenchmarkLock, CELLS_MAX, Cell, DecideLock, SweepLock};
pub use model::{ModelRef, ModelSpec};
pub use money::{CostSum, Money};
pub use outcome::{Cause, Filtered, Outcome};
pub use passed::{ClientFormat, Passed};
pub use price::{BATCH, Circumstances, Day, Meter, Price, PriceSource, PriceTier, PriceWindow, Rates};
pub use question::{AskedQuestion, Evaluator, Question, Script, Verdict};
pub use report::{
    Attempt, HeldBatch, HeldQuestions, JudgeOutcome, OpenAttempt, Partition, Progress, Report, SessionOutcome,
};
pub use scope::{Scope, Scopes};
pub use secret_names::is_secret_name;
pub use seed::{SessionSeed, rng};
pub use simulation::{Faults, Latency, SimulatedBatches, Simulation};
pub use spec::{BenchmarkSpec, COVERAGE_MIN, CacheMode, Share, SweepSpec};
pub use spec_file::{
    SpecError, add_implied_endpoints, check_bounds, check_spec, implied_access, implied_endpoint, implied_endpoints,
    parse_spec, substitute,
};
pub use stage::SweepState;
pub use totals::AttemptTotals;
pub use transcript::{BenchmarkFailed, Call, ErrorClass, Event, FailedCall, Role, Served, Transcript, Try};
pub use untrusted::read_untrusted_json;
pub use usage::Usage;
pub use yaml::{check_yaml, plain_message, read_yaml};
