//! The roles of a deployment.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use prometheus::Registry;
use regatta_memory::{ByteBudget, ByteMetrics};
use regatta_proto::EndpointName;

use super::TraceArgs;

/// The queue of a deployment.
#[derive(Debug, Args, Clone)]
pub(crate) struct QueueArgs {
    /// RabbitMQ, as amqps://host/vhost?cacertfile=FILE&certfile=FILE&keyfile=FILE; amqp:// on this machine, or with ?sslmode=disable
    #[arg(long, env = "AMQP_URL", hide_env_values = true)]
    pub(crate) amqp_url: String,
    /// Reach a broker on another machine by amqp:// as if its URL had ?sslmode=disable: only where nobody else is on the way, or it is
    /// encrypted otherwise
    #[arg(long, env = "REGATTA_AMQP_PLAIN", value_parser = BoolishValueParser::new())]
    pub(crate) amqp_plain: bool,
    /// Prefix of all queue names, so that deployments can share a broker
    #[arg(long, env = "REGATTA_QUEUE_PREFIX", default_value = "regatta")]
    pub(crate) queue_prefix: String,
    /// Publish and keep each message of a session once. Roles and commands of the version before cannot read that: set it, for all roles, once all
    /// are of this version
    #[arg(long, env = "REGATTA_COMPACT_TRANSCRIPTS", value_parser = BoolishValueParser::new())]
    pub(crate) compact_transcripts: bool,
}

/// The ledger of a deployment.
#[derive(Debug, Args, Clone)]
pub(crate) struct LedgerArgs {
    /// PostgreSQL, as postgres://host/database?sslrootcert=FILE&sslcert=FILE&sslkey=FILE
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub(crate) database_url: String,
    /// Connections to it
    #[arg(long, env = "REGATTA_DATABASE_CONNECTIONS", default_value_t = 8)]
    pub(crate) database_connections: u32,
    /// Migration of the database to this version: by `regatta migrate`, for which this process waits (check), or by this process, whose login
    /// must own the tables then (migrate)
    #[arg(long, env = "REGATTA_SCHEMA", default_value = "check")]
    pub(crate) schema: Schema,
}

/// Right of a role to change the schema of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Schema {
    Migrate,
    Check,
}

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// PostgreSQL, as postgres://host/database, with the login that owns the tables
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub(crate) database_url: String,
}

/// The blob store of a deployment. Credentials come from the usual AWS variables, files or roles.
#[derive(Debug, Args, Clone)]
pub(crate) struct BlobArgs {
    /// Bucket
    #[arg(long, env = "REGATTA_BUCKET")]
    pub(crate) bucket: String,
    /// Prefix of all keys
    #[arg(long, env = "REGATTA_BUCKET_PREFIX", default_value = "")]
    pub(crate) bucket_prefix: String,
    /// Address of an S3-compatible server; AWS itself when left out
    #[arg(long, env = "S3_ENDPOINT", hide_env_values = true)]
    pub(crate) s3_endpoint: Option<String>,
    #[command(flatten)]
    pub(crate) certificates: S3CertificateArgs,
}

/// Encryption of the way to the blob store.
#[derive(Debug, Args, Clone)]
pub(crate) struct S3CertificateArgs {
    /// Reach the S3 server over plain HTTP on another machine: only where nobody else is on the way, or it is encrypted otherwise
    #[arg(long, env = "REGATTA_S3_PLAIN_HTTP", value_parser = BoolishValueParser::new())]
    pub(crate) s3_plain_http: bool,
    /// Authorities of the S3 server (PEM) in place of the system's
    #[arg(long, value_name = "FILE", env = "AWS_CA_BUNDLE")]
    pub(crate) s3_ca: Option<PathBuf>,
    /// Certificate to show to the S3 server (PEM)
    #[arg(long, value_name = "FILE", env = "S3_CLIENT_CERT", requires = "s3_key")]
    pub(crate) s3_cert: Option<PathBuf>,
    /// Key of that certificate (PEM)
    #[arg(long, value_name = "FILE", env = "S3_CLIENT_KEY", requires = "s3_cert")]
    pub(crate) s3_key: Option<PathBuf>,
}

/// Stores of a deployment, asked where its coordinator does not answer.
#[derive(Debug, Args, Clone)]
pub(crate) struct StoresArgs {
    /// PostgreSQL, asked with broker and bucket when the coordinator does not answer
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub(crate) database_url: Option<String>,
    /// RabbitMQ
    #[arg(long, env = "AMQP_URL", hide_env_values = true)]
    pub(crate) amqp_url: Option<String>,
    /// Reach it on another machine by amqp://, unencrypted
    #[arg(long, env = "REGATTA_AMQP_PLAIN", value_parser = BoolishValueParser::new())]
    pub(crate) amqp_plain: bool,
    /// Prefix of all queue names
    #[arg(long, env = "REGATTA_QUEUE_PREFIX", default_value = "regatta")]
    pub(crate) queue_prefix: String,
    /// Bucket
    #[arg(long, env = "REGATTA_BUCKET")]
    pub(crate) bucket: Option<String>,
    /// Prefix of all keys
    #[arg(long, env = "REGATTA_BUCKET_PREFIX", default_value = "")]
    pub(crate) bucket_prefix: String,
    /// Address of an S3-compatible server; AWS itself when left out
    #[arg(long, env = "S3_ENDPOINT", hide_env_values = true)]
    pub(crate) s3_endpoint: Option<String>,
    #[command(flatten)]
    pub(crate) certificates: S3CertificateArgs,
}

impl StoresArgs {
    /// The stores, if all are named.
    pub(crate) fn named(&self) -> Option<(LedgerArgs, QueueArgs, BlobArgs)> {
        let (database_url, amqp_url) = (self.database_url.clone()?, self.amqp_url.clone()?);
        let (queue_prefix, bucket_prefix) = (self.queue_prefix.clone(), self.bucket_prefix.clone());
        let (s3_endpoint, certificates) = (self.s3_endpoint.clone(), self.certificates.clone());
        let blobs = BlobArgs { bucket: self.bucket.clone()?, bucket_prefix, s3_endpoint, certificates };
        let ledger = LedgerArgs { database_url, database_connections: 2, schema: Schema::Check };
        // These commands publish nothing.
        let queue = QueueArgs { amqp_url, amqp_plain: self.amqp_plain, queue_prefix, compact_transcripts: false };
        Some((ledger, queue, blobs))
    }
}

#[derive(Debug, Args)]
pub(crate) struct CoordinatorArgs {
    #[command(flatten)]
    pub(crate) queue: QueueArgs,
    #[command(flatten)]
    pub(crate) ledger: LedgerArgs,
    #[command(flatten)]
    pub(crate) blobs: BlobArgs,
    /// Address of the API, of /healthz and /readyz, and of /metrics where nobody else reaches it
    #[arg(long, env = "REGATTA_LISTEN", default_value = "127.0.0.1:8080")]
    pub(crate) listen: std::net::SocketAddr,
    /// Price table to use instead of the shipped one
    #[arg(long, value_name = "FILE", env = "REGATTA_PRICES")]
    pub(crate) prices: Option<PathBuf>,
    /// Token that requests must carry, at least 16 characters; better in the variable, because others on this machine see arguments
    #[arg(long, env = "REGATTA_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Serve the API beyond this machine without a certificate of its own: only where nobody else is on the way, or something in front of it
    /// speaks TLS
    #[arg(long, env = "REGATTA_PLAIN_HTTP", value_parser = BoolishValueParser::new())]
    pub(crate) plain_http: bool,
    /// Certificate of the API (PEM): it speaks HTTPS then, and /metrics and the probes of /healthz and /readyz need --metrics
    #[arg(long, value_name = "FILE", env = "REGATTA_TLS_CERT", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Key of that certificate (PEM)
    #[arg(long, value_name = "FILE", env = "REGATTA_TLS_KEY", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Authorities of clients (PEM): who shows no certificate of theirs is not answered
    #[arg(long, value_name = "FILE", env = "REGATTA_TLS_CLIENT_CA", requires = "tls_cert")]
    pub(crate) tls_client_ca: Option<PathBuf>,
    /// Serve /metrics, /healthz and /readyz at this address, over HTTP; of them the API keeps /readyz alone. Without it, an API that others reach has no /metrics
    #[arg(long, visible_alias = "metrics-listen", value_name = "ADDRESS", env = "REGATTA_METRICS")]
    pub(crate) metrics: Option<std::net::SocketAddr>,
    /// Policy file: issuers of tokens and quotas of owners, programs of coded benchmarks (SECURITY.md), webhooks and commands that schedules
    /// may name (docs/schedules.md)
    #[arg(long, value_name = "FILE", env = "REGATTA_COORDINATOR_POLICY")]
    pub(crate) policy: Option<PathBuf>,
    /// Connections of one address, of 512 in all; more where a proxy stands in front, whose connections are everybody's
    #[arg(long, value_name = "N", env = "REGATTA_CONNECTIONS_PER_ADDRESS", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=512))]
    pub(crate) connections_per_address: u16,
    /// Work without a token: everybody on this machine may then do everything. Never beyond loopback
    #[arg(long, conflicts_with = "token")]
    pub(crate) no_token: bool,
    /// Sessions that may be outstanding per queue; three for each concurrent call of its endpoint, where that is more
    #[arg(long, env = "REGATTA_WINDOW", default_value_t = 4096)]
    pub(crate) window: u32,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    /// Hours for which uploaded files, and others that submissions leave, are kept after their last use when no sweep and no schedule refers to
    /// them; longer than any upload takes with its submission. For good, unless this is given: no other deployment may use the bucket and prefix then
    #[arg(long, value_name = "HOURS", env = "REGATTA_KEEP_UNUSED_H", value_parser = clap::value_parser!(u16).range(1..=8760))]
    pub(crate) keep_unused_h: Option<u16>,
    /// Days for which cached responses are kept after they were written: the leader removes older ones every six hours, but none while a sweep runs
    /// that only replays them. For good, unless this is given
    #[arg(long, value_name = "DAYS", env = "REGATTA_CACHED_DAYS", value_parser = clap::value_parser!(u16).range(1..=3650))]
    pub(crate) cached_days: Option<u16>,
    /// Seconds without any outcome, and without a job that waits, after which jobs in doubt after a crash are dispatched again; longer than the broker takes to notice that
    /// a worker is gone, two heartbeats of 20 s unless AMQP_URL says otherwise: what a stopped worker holds would be run twice
    #[arg(long, env = "REGATTA_DOUBTFUL_AFTER_S", default_value_t = 75)]
    pub(crate) doubtful_after_s: u64,
    #[command(flatten)]
    pub(crate) traces: TraceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    #[command(flatten)]
    pub(crate) queue: QueueArgs,
    #[command(flatten)]
    pub(crate) ledger: LedgerArgs,
    #[command(flatten)]
    pub(crate) blobs: BlobArgs,
    /// Address of /metrics, /healthz and /readyz
    #[arg(long, env = "REGATTA_LISTEN", default_value = "127.0.0.1:8081")]
    pub(crate) listen: std::net::SocketAddr,
    /// Endpoints whose queues this worker consumes, by their names in specs, separated by commas; all whose keys it has when left out
    #[arg(long, value_name = "NAMES", env = "REGATTA_ENDPOINTS", value_delimiter = ',')]
    pub(crate) endpoints: Vec<EndpointName>,
    /// Seconds that sessions may go on after SIGTERM before they are handed over
    #[arg(long, env = "REGATTA_DRAIN_S", default_value_t = 25)]
    pub(crate) drain_s: u64,
    /// Seconds after which a session is handed over; keep it well below the broker's acknowledgement time-out
    #[arg(long, env = "REGATTA_HAND_OVER_AFTER_S", default_value_t = 1200)]
    pub(crate) hand_over_after_s: u64,
    #[command(flatten)]
    pub(crate) bridge: BridgeArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    /// Policy file: commands of agents by name, programs of coded benchmarks, origins that may see a key, private addresses that may be
    /// reached (SECURITY.md). Without one, no commands are run, and keys go to their own providers alone
    #[arg(long, value_name = "FILE", env = "REGATTA_POLICY")]
    pub(crate) policy: Option<PathBuf>,
    /// User that commands of agents run as whose policy names none; for workers that run as root
    #[arg(long, value_name = "USER", env = "REGATTA_AGENT_USER")]
    pub(crate) agent_user: Option<String>,
    #[command(flatten)]
    pub(crate) traces: TraceArgs,
}

/// The bridge of a worker, at which external agents ask their models.
#[derive(Debug, Args)]
pub(crate) struct BridgeArgs {
    /// Address at which external agents ask their models; port 0 takes a free one. Whoever reaches it and knows the address of a session
    /// can ask at its cost
    #[arg(long, env = "REGATTA_BRIDGE", default_value = "127.0.0.1:0")]
    pub(crate) bridge: std::net::SocketAddr,
    /// Name by which agents reach it, with a port where that is another one: for agents on other machines
    #[arg(long, value_name = "HOST[:PORT]", env = "REGATTA_BRIDGE_ADVERTISE")]
    pub(crate) bridge_advertise: Option<String>,
    /// Encryption of what agents ask: auto is on beyond this machine
    #[arg(long, env = "REGATTA_BRIDGE_TLS", default_value = "auto")]
    pub(crate) bridge_tls: BridgeTls,
    /// Certificate of the bridge (PEM); one is made at each start when left out, and agents are handed its authority
    #[arg(long, value_name = "FILE", env = "REGATTA_BRIDGE_TLS_CERT", requires = "bridge_tls_key")]
    pub(crate) bridge_tls_cert: Option<PathBuf>,
    /// Key of that certificate (PEM)
    #[arg(long, value_name = "FILE", env = "REGATTA_BRIDGE_TLS_KEY", requires = "bridge_tls_cert")]
    pub(crate) bridge_tls_key: Option<PathBuf>,
    /// Authorities of that certificate (PEM), handed to agents whose system does not know them
    #[arg(long, value_name = "FILE", env = "REGATTA_BRIDGE_TLS_CA", requires = "bridge_tls_cert")]
    pub(crate) bridge_tls_ca: Option<PathBuf>,
    /// Authorities of agents (PEM): who shows no certificate of theirs is not answered. Agents bring their certificates themselves, for none
    /// is handed to them; in containers on this machine they need none
    #[arg(long, value_name = "FILE", env = "REGATTA_BRIDGE_TLS_CLIENT_CA")]
    pub(crate) bridge_tls_client_ca: Option<PathBuf>,
}

/// Encryption of the bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BridgeTls {
    Auto,
    On,
    Off,
}

#[derive(Debug, Args)]
pub(crate) struct ScorerArgs {
    #[command(flatten)]
    pub(crate) queue: QueueArgs,
    #[command(flatten)]
    pub(crate) ledger: LedgerArgs,
    #[command(flatten)]
    pub(crate) blobs: BlobArgs,
    /// Address of /metrics, /healthz and /readyz
    #[arg(long, env = "REGATTA_LISTEN", default_value = "127.0.0.1:8082")]
    pub(crate) listen: std::net::SocketAddr,
    /// Policy file: programs of coded benchmarks (SECURITY.md). Without one, none are run
    #[arg(long, value_name = "FILE", env = "REGATTA_POLICY")]
    pub(crate) policy: Option<PathBuf>,
    /// Most reports recorded at once
    #[arg(long, env = "REGATTA_BATCH", default_value_t = 512)]
    pub(crate) batch: usize,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) traces: TraceArgs,
}

/// Bytes that a process may hold on behalf of sessions and requests.
#[derive(Debug, Args, Clone, Copy)]
pub(crate) struct MemoryArgs {
    /// Mebibytes of answers, requests, transcripts and output that may be held at once, where more is read only when some are free; a
    /// quarter of the memory of machine or container when left out, within 32 and 128. One answer has a quarter of it at most
    #[arg(long, value_name = "MIB", env = "REGATTA_MEMORY_BUDGET", value_parser = clap::value_parser!(u64).range(32..=65_536))]
    pub(crate) memory_budget: Option<u64>,
}

impl MemoryArgs {
    /// The budget, with its metrics in `registry`.
    pub(crate) fn budget(self, registry: &Registry) -> anyhow::Result<ByteBudget> {
        let bytes = self.memory_budget.map_or_else(regatta_memory::default_bytes, |mebibytes| mebibytes << 20);
        Ok(ByteBudget::observed(bytes, ByteMetrics::register(registry)?))
    }
}
