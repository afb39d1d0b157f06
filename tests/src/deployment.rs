//! A deployment as a platform team runs it: separate processes over real RabbitMQ, PostgreSQL and S3.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use tokio::process::Command;

use crate::deployment_roles::{Template, logins_of_roles};
use crate::regatta::{Process, finish, free_address, program, regatta};
use crate::{HarnessError, S3Config, Services, waiting};

/// One deployment in a virtual host, a database and a bucket of its own.
#[derive(Debug)]
pub struct Deployment {
    amqp_url: String,
    database_url: String,
    /// URLs of the database for the roles, where each has a login with its own rights alone.
    logins: BTreeMap<&'static str, String>,
    s3: S3Config,
    api: SocketAddr,
    /// For specs and what sweeps leave behind; goes with the deployment.
    pub folder: tempfile::TempDir,
    /// Section `coded` of the policies of all roles that are started from now on.
    coded: Option<String>,
    /// Program of all roles and clients that are started from now on; the one under test unless told otherwise.
    program: Option<PathBuf>,
    /// `REGATTA_COMPACT_TRANSCRIPTS` of all roles that are started from now on.
    has_compact_transcripts: bool,
}

impl Deployment {
    /// Clients show it to the coordinator. Unlike any other word, so that a search finds it wherever it was written down.
    pub const TOKEN: &str = "operator4b7e1f0c92d3token";

    /// Places for a deployment; nothing is started. The owner has migrated its database, and each role has a login with the rights of
    /// `deploy/postgres-roles.sql` and no others; clients have the reader's.
    ///
    /// # Errors
    /// When the services cannot be had, or the database cannot be made.
    pub async fn new() -> Result<Self, HarnessError> {
        Self::on(Services::shared().await?.create_vhost().await?).await
    }

    /// The same; `amq.rabbitmq.trace` has a copy of every message that is published.
    ///
    /// # Errors
    /// When the services cannot be had, or the database cannot be made.
    pub async fn traced() -> Result<Self, HarnessError> {
        Self::on(Services::shared().await?.create_traced_vhost().await?).await
    }

    /// On the virtual host at `amqp_url`.
    async fn on(amqp_url: String) -> Result<Self, HarnessError> {
        let (database_url, logins) = Template::shared().await?.copy().await?;
        Self::at(amqp_url, database_url, logins, Services::shared().await?.create_bucket().await?).await
    }

    /// The same with an empty database, which nobody has migrated, and in which the logins of the roles have no right yet.
    ///
    /// # Errors
    /// When the services cannot be had, or the database cannot be made.
    pub async fn unmigrated() -> Result<Self, HarnessError> {
        // Roles belong to the server; those that logins are given come with the rights in a database that has tables.
        Template::shared().await?;
        let services = Services::shared().await?;
        let (amqp_url, database_url) = (services.create_vhost().await?, services.create_database().await?);
        let logins = logins_of_roles(&database_url).await?;
        Self::at(amqp_url, database_url, logins, services.create_bucket().await?).await
    }

    /// The same with an empty database whose owner all roles are: they migrate it when they start. For tests of that alone: all others hold
    /// the roles to their own rights.
    ///
    /// # Errors
    /// When the services cannot be had.
    pub async fn of_owner() -> Result<Self, HarnessError> {
        let services = Services::shared().await?;
        let (amqp_url, database_url) = (services.create_vhost().await?, services.create_database().await?);
        Self::at(amqp_url, database_url, BTreeMap::new(), services.create_bucket().await?).await
    }

    /// A deployment over these stores.
    ///
    /// # Errors
    /// When the system refuses an address or a folder.
    pub(crate) async fn at(
        amqp_url: String,
        database_url: String,
        logins: BTreeMap<&'static str, String>,
        s3: S3Config,
    ) -> Result<Self, HarnessError> {
        Ok(Self {
            amqp_url,
            database_url,
            logins,
            s3,
            api: free_address().await?,
            folder: tempfile::tempdir().map_err(HarnessError::io("make a folder"))?,
            coded: None,
            program: None,
            has_compact_transcripts: false,
        })
    }

    /// Roles and clients are `program` from now on; those that run stay what they are.
    pub fn use_program(&mut self, program: &Path) {
        self.program = Some(program.to_owned());
    }

    /// The same; policies of all roles have `coded` as their section of programs.
    #[must_use]
    pub fn with_programs(self, coded: String) -> Self {
        Self { coded: Some(coded), ..self }
    }

    /// The same, whose roles publish and keep each message of a session once.
    #[must_use]
    pub fn with_compact_transcripts(self) -> Self {
        Self { has_compact_transcripts: true, ..self }
    }

    /// URL of the database for its owner.
    #[must_use]
    pub fn database_url(&self) -> &str {
        &self.database_url
    }

    /// Address and credentials of its bucket.
    #[must_use]
    pub const fn s3(&self) -> &S3Config {
        &self.s3
    }

    /// AMQP URL of its virtual host.
    #[must_use]
    pub fn amqp_url(&self) -> &str {
        &self.amqp_url
    }

    /// Credentials of the stores that its roles are given, each with a name for people: passwords of the broker and of the database, the
    /// key of the bucket. Ones that the environment chose are left out where they are too short to be told from other words.
    #[must_use]
    pub fn credentials(&self) -> Vec<(&'static str, String)> {
        const TELLING: usize = 16;
        let password = |url: &str| Some(url.split_once("://")?.1.rsplit_once('@')?.0.split_once(':')?.1.to_owned());
        let worker = self.database_url_of("worker");
        let found = [
            ("broker's password", password(&self.amqp_url)),
            ("database's password", password(worker)),
            ("bucket's key", Some(self.s3.secret_key.clone())),
        ];
        let given = found.into_iter().filter_map(|(name, secret)| Some((name, secret?)));
        given.filter(|(_, secret)| secret.len() >= TELLING).collect()
    }

    /// `regatta ROLE` with the deployment's variables.
    ///
    /// # Errors
    /// When the binary does not build.
    pub fn command(&self, role: &str) -> Result<Command, HarnessError> {
        let mut command = self.program.as_deref().map_or_else(regatta, |path| Ok(program(path)))?;
        command
            .arg(role)
            .env("AMQP_URL", &self.amqp_url)
            .env("DATABASE_URL", self.database_url_of(role))
            .env("S3_ENDPOINT", &self.s3.endpoint_url)
            .env("REGATTA_BUCKET", &self.s3.bucket)
            .env("AWS_REGION", &self.s3.region)
            .env("AWS_ACCESS_KEY_ID", &self.s3.access_key)
            .env("AWS_SECRET_ACCESS_KEY", &self.s3.secret_key)
            .env("REGATTA_COORDINATOR", format!("http://{}", self.api))
            .env("REGATTA_TOKEN", Self::TOKEN)
            .env("REGATTA_DOUBTFUL_AFTER_S", "5")
            // Tests play many people, all of whom are at one address.
            .env("REGATTA_CONNECTIONS_PER_ADDRESS", "512");
        // Said also where it is the default, because earlier versions have another one.
        command.env("REGATTA_SCHEMA", if self.logins.is_empty() { "migrate" } else { "check" });
        if self.has_compact_transcripts {
            command.env("REGATTA_COMPACT_TRANSCRIPTS", "true");
        }
        Ok(command)
    }

    /// URL of the database for a role or a command of a client.
    fn database_url_of(&self, role: &str) -> &str {
        let of_clients = if role == "migrate" { None } else { self.logins.get("reader") };
        self.logins.get(role).or(of_clients).unwrap_or(&self.database_url)
    }

    /// Address of the API and of the pages of the first coordinator.
    #[must_use]
    pub const fn api(&self) -> SocketAddr {
        self.api
    }

    /// Starts a coordinator, worker or scorer, and waits until it is ready.
    ///
    /// # Errors
    /// When it ends first.
    pub async fn start(&self, role: &str) -> Result<Process, HarnessError> {
        let address = if role == "coordinator" { self.api } else { free_address().await? };
        self.start_at(role, address).await
    }

    /// Starts a coordinator beside the one whose API is used, and waits until it is ready.
    ///
    /// # Errors
    /// When it ends first.
    pub async fn start_another_coordinator(&self) -> Result<Process, HarnessError> {
        self.start_at("coordinator", free_address().await?).await
    }

    /// Starts a coordinator, worker or scorer that listens at `address`, and waits until it is ready.
    ///
    /// # Errors
    /// When it ends first.
    pub async fn start_at(&self, role: &str, address: SocketAddr) -> Result<Process, HarnessError> {
        Process::start_until_ready_and_listen(self.role_at(role, address)?, address).await
    }

    /// A coordinator, worker or scorer that is to listen at `address`, with all it needs.
    ///
    /// # Errors
    /// When the binary does not build, or its policy cannot be written.
    pub fn role_at(&self, role: &str, address: SocketAddr) -> Result<Command, HarnessError> {
        let mut command = self.command(role)?;
        command.args(["--listen", &address.to_string()]);
        let is_worker = role == "worker";
        if is_worker {
            command.env("REGATTA_DRAIN_S", "1");
        }
        if role == "coordinator" {
            // `gc` looks for what nothing refers to, with the rights that this role has.
            command.env("REGATTA_KEEP_UNUSED_H", "1");
        }
        if is_worker || self.coded.is_some() {
            command.args(["--policy", &self.policy(is_worker)?.to_string_lossy()]);
        }
        Ok(command)
    }

    /// The policy of the workers, or of the other roles: the endpoints of tests are on loopback.
    fn policy(&self, of_workers: bool) -> Result<PathBuf, HarnessError> {
        let path = self.folder.path().join(if of_workers { "policy.yaml" } else { "policy-of-others.yaml" });
        let egress = if of_workers { "egress: { private: [127.0.0.0/8] }\n" } else { "" };
        let coded = self.coded.as_ref().map(|coded| format!("coded: {coded}\n")).unwrap_or_default();
        std::fs::write(&path, format!("{egress}{coded}")).map_err(HarnessError::io("write a policy"))?;
        Ok(path)
    }

    /// Runs a command of a client to its end.
    ///
    /// # Errors
    /// When it cannot be started, or takes too long.
    pub async fn run(&self, arguments: &[&str]) -> Result<Output, HarnessError> {
        let (role, rest) = arguments.split_first().unwrap_or((&"help", &[]));
        let mut command = self.command(role)?;
        command.args(rest);
        finish(command).await
    }

    /// `results.jsonl` of `spec` where one process runs it, undisturbed.
    ///
    /// # Errors
    /// When that fails.
    pub async fn results_of_one_process(&self, spec: &Path) -> Result<String, HarnessError> {
        let directory = self.folder.path().join("of-one-process");
        let mut command = regatta()?;
        command.arg("run").arg(spec).arg("--output").arg(&directory);
        let output = finish(command).await?;
        if !output.status.success() {
            return Err(HarnessError::Binary(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        std::fs::read_to_string(directory.join("results.jsonl")).map_err(HarnessError::io("read results"))
    }

    /// Submits `spec` and returns the sweep's id.
    ///
    /// # Errors
    /// When it is refused; says why.
    pub async fn submit(&self, spec: &Path) -> Result<String, HarnessError> {
        let output = self.run(&["submit", &spec.to_string_lossy()]).await?;
        if !output.status.success() {
            return Err(HarnessError::Binary(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Status of a sweep as JSON; `null` while the coordinator is away.
    ///
    /// # Errors
    /// When the command cannot be run.
    pub async fn status(&self, sweep: &str) -> Result<Value, HarnessError> {
        let output = self.run(&["status", sweep, "--json"]).await?;
        Ok(serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
    }

    /// Waits until at least `sessions` sessions of `sweep` are recorded.
    ///
    /// # Errors
    /// When they are not recorded in time; says how the sweep stands.
    pub async fn wait_for(&self, sweep: &str, sessions: u64) -> Result<(), HarnessError> {
        waiting::until(format!("{sessions} recorded sessions of {sweep}"), async || {
            let status = self.status(sweep).await.map_err(|error| error.to_string())?;
            // There are no cells while the coordinator is away.
            let cells = status["cells"].as_array().into_iter().flatten();
            let recorded: u64 = cells.filter_map(|cell| cell["recorded"].as_u64()).sum();
            if recorded >= sessions { Ok(()) } else { Err(format!("{recorded} of {status}")) }
        })
        .await
    }

    /// Resumes a sweep that was cancelled; tries again while that is refused, as while a store is away.
    ///
    /// # Errors
    /// When it is still refused after a long time; says why.
    pub async fn resume(&self, sweep: &str) -> Result<(), HarnessError> {
        waiting::until(format!("{sweep} resumed"), async || {
            let output = self.run(&["resume", sweep]).await.map_err(|error| error.to_string())?;
            if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
        })
        .await
    }

    /// Waits for the sweep's end and fetches what it has left behind: the exit code that tells the end, and the directory.
    ///
    /// # Errors
    /// When a command cannot be run, or there is nothing to fetch.
    pub async fn finish(&self, sweep: &str) -> Result<(Option<i32>, PathBuf), HarnessError> {
        let watched = self.run(&["watch", sweep]).await?;
        let directory = self.folder.path().join(sweep);
        let exported = self.run(&["export", sweep, "--transcripts", "--output", &directory.to_string_lossy()]).await?;
        if !exported.status.success() {
            return Err(HarnessError::Binary(String::from_utf8_lossy(&exported.stderr).into_owned()));
        }
        Ok((watched.status.code(), directory))
    }
}
