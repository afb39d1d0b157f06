//! The processes of the deployment, each behind proxies of its own.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use regatta_tests::deployment_roles::create_logins;
use regatta_tests::regatta::free_address;
use regatta_tests::{Proxy, S3Config, Services, Traffic};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::Instant;

use crate::CertifyError;
use crate::endpoint::{Endpoint, Lost};
use crate::evidence::InFlight;
use crate::ledger::LedgerView;
use crate::workload::Agent;

/// Clients show it to the coordinators, which listen on loopback for a certification alone.
const TOKEN: &str = "of-a-certification-alone";
/// Heartbeat of the roles' connections to the broker, and quiet time after which what is in doubt is dispatched again, in seconds: a sixth
/// of the defaults, so that a certificate takes minutes. As there, the broker has noticed before (after two heartbeats) that a worker is gone.
const HEARTBEAT_S: &str = "3";
const DOUBTFUL_AFTER_S: &str = "10";
/// Longest time that a client's command, or a process that was asked to leave, may take.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Coordinator,
    Worker,
    Scorer,
}

impl Role {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Coordinator => "coordinator",
            Self::Worker => "worker",
            Self::Scorer => "scorer",
        }
    }
}

/// Places of a deployment's own on the shared services.
#[derive(Debug)]
pub(crate) struct Stores {
    pub(crate) broker_url: String,
    /// The owner's, whose rights no process of the deployment has.
    pub(crate) database_url: String,
    /// URLs of the same database by role, each with the rights of that role alone.
    logins: BTreeMap<&'static str, String>,
    pub(crate) bucket: S3Config,
}

impl Stores {
    pub(crate) async fn new(binary: &Path, services: &Services) -> Result<Self, CertifyError> {
        let database_url = services.create_database().await?;
        let migrated = plain(binary).arg("migrate").env("DATABASE_URL", &database_url).output().await;
        let migrated = migrated.map_err(CertifyError::system("run regatta migrate"))?;
        if !migrated.status.success() {
            let why = String::from_utf8_lossy(&migrated.stderr).into_owned();
            return Err(CertifyError::Broken(format!("regatta migrate failed: {why}")));
        }
        let stores = Self {
            broker_url: services.create_vhost().await?,
            logins: create_logins(&database_url).await?,
            database_url,
            bucket: services.create_bucket().await?,
        };
        // The server is one for tests, which does not wait for its log; what is killed here must keep what it has committed.
        LedgerView::of(&stores.database_url).commit_durably().await?;
        Ok(stores)
    }
}

/// A process with its proxies.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) role: Role,
    pub(crate) name: String,
    child: Child,
    address: SocketAddr,
    pub(crate) broker: Proxy,
    pub(crate) database: Proxy,
    pub(crate) bucket: Proxy,
}

impl Member {
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), CertifyError> {
        let pid = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let pid = pid.ok_or_else(|| CertifyError::Broken(format!("{} has ended by itself", self.name)))?;
        kill_process(pid, signal)
            .map_err(|error| CertifyError::Broken(format!("failed to signal {}: {error}", self.name)))
    }

    /// Local ports of its TCP connections.
    fn ports(&self) -> Result<Vec<u16>, CertifyError> {
        self.child.id().map_or_else(|| Ok(Vec::new()), ports_of)
    }

    /// Calls under way in it, and in it alone.
    pub(crate) fn in_flight(&self, endpoint: &Endpoint, lost: Lost) -> Result<InFlight, CertifyError> {
        let in_flight = endpoint.in_flight(&self.ports()?, lost);
        Ok(InFlight { workers: u64::from(self.role == Role::Worker), ..in_flight })
    }

    /// The same of one that was stopped at `stopped_ms`.
    pub(crate) async fn in_flight_when_stopped(
        &self,
        endpoint: &Endpoint,
        stopped_ms: u64,
    ) -> Result<InFlight, CertifyError> {
        let in_flight = endpoint.in_flight_of_stopped(&self.ports()?, stopped_ms).await;
        Ok(InFlight { workers: u64::from(self.role == Role::Worker), ..in_flight })
    }

    fn set_all(&self, traffic: Traffic) {
        for proxy in [&self.broker, &self.database, &self.bucket] {
            proxy.set(traffic);
        }
    }
}

/// Local ports of the TCP connections of the process `pid`.
pub(crate) fn ports_of(pid: u32) -> Result<Vec<u16>, CertifyError> {
    let folder = PathBuf::from(format!("/proc/{pid}/fd"));
    let mut sockets = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(CertifyError::file(&folder))? {
        // Descriptors come and go while they are listed.
        let Ok(target) = entry.and_then(|entry| std::fs::read_link(entry.path())) else { continue };
        let target = target.to_string_lossy().into_owned();
        if let Some(inode) = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')) {
            sockets.push(inode.to_owned());
        }
    }
    let table = PathBuf::from(format!("/proc/{pid}/net/tcp"));
    let text = std::fs::read_to_string(&table).map_err(CertifyError::file(&table))?;
    let port_of = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, port) = fields.get(1)?.split_once(':')?;
        let is_ours = sockets.iter().any(|inode| Some(&inode.as_str()) == fields.get(9));
        is_ours.then(|| u16::from_str_radix(port, 16).ok()).flatten()
    };
    Ok(text.lines().skip(1).filter_map(port_of).collect())
}

/// All processes, and what they stand on.
pub(crate) struct Fleet<'s> {
    binary: &'s Path,
    /// The agent that workers run.
    agent: Option<&'s Agent>,
    pub(crate) services: &'s Services,
    pub(crate) stores: Stores,
    pub(crate) folder: PathBuf,
    pub(crate) members: Vec<Member>,
    /// Moments at which workers could open an endpoint anew: when they were started, and each when a sweep was resumed.
    pub(crate) endpoints_opened: Vec<Instant>,
    started: u32,
}

impl<'s> Fleet<'s> {
    /// Two coordinators, three workers, which may run `agent`, and two scorers; their logs go to `folder`.
    pub(crate) async fn start(
        binary: &'s Path,
        agent: Option<&'s Agent>,
        services: &'s Services,
        folder: PathBuf,
    ) -> Result<Self, CertifyError> {
        let stores = Stores::new(binary, services).await?;
        let mut fleet = Self {
            binary,
            agent,
            services,
            stores,
            folder,
            members: Vec::new(),
            endpoints_opened: Vec::new(),
            started: 0,
        };
        for (role, count) in [(Role::Coordinator, 2), (Role::Worker, 3), (Role::Scorer, 2)] {
            for _ in 0..count {
                fleet.add(role).await?;
            }
        }
        let ready = async {
            for member in &fleet.members {
                while !get(member.address, "/readyz").await.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")) {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        };
        let is_ready = tokio::time::timeout(PATIENCE, ready).await.is_ok();
        if !is_ready {
            return Err(CertifyError::Broken(format!("a role is not ready; see {}", fleet.folder.display())));
        }
        Ok(fleet)
    }

    /// Starts one more process and waits until it is ready.
    pub(crate) async fn add(&mut self, role: Role) -> Result<(), CertifyError> {
        self.started += 1;
        let name = format!("{}-{}", role.name(), self.started);
        let (broker, broker_url) = Proxy::before(&self.stores.broker_url).await?;
        let (database, database_url) = Proxy::before(&self.stores.logins[role.name()]).await?;
        let (bucket, endpoint_url) = Proxy::before(&self.stores.bucket.endpoint_url).await?;
        let address = free_address().await?;
        let log = self.folder.join(format!("{name}.log"));
        let output = std::fs::File::create(&log).map_err(CertifyError::file(&log))?;
        let mut command = self.command(role.name());
        command
            .args(["--listen", &address.to_string()])
            .env("AMQP_URL", format!("{broker_url}?heartbeat={HEARTBEAT_S}"))
            .env("DATABASE_URL", database_url)
            .env("REGATTA_SCHEMA", "check")
            .env("S3_ENDPOINT", endpoint_url)
            .env("REGATTA_LOG", "info")
            .stderr(output);
        match role {
            Role::Coordinator => command.env("REGATTA_DOUBTFUL_AFTER_S", DOUBTFUL_AFTER_S).env("REGATTA_WINDOW", "48"),
            Role::Worker => command.env("REGATTA_DRAIN_S", "2").env("REGATTA_POLICY", self.policy()?),
            Role::Scorer => &mut command,
        };
        let child = command.spawn().map_err(CertifyError::system("start a role"))?;
        if role == Role::Worker {
            self.endpoints_opened.push(Instant::now());
        }
        self.members.push(Member { role, name, child, address, broker, database, bucket });
        let started = Instant::now();
        while !get(address, "/readyz").await.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")) {
            if started.elapsed() > PATIENCE {
                return Err(CertifyError::Broken(format!("{} does not get ready; see {}", role.name(), log.display())));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// The policy of the workers: the endpoint is on loopback, and they may run the agent.
    fn policy(&self) -> Result<PathBuf, CertifyError> {
        let path = self.folder.join("policy.yaml");
        let agents = self.agent.map(Agent::registration).unwrap_or_default();
        let text = format!("egress: {{ private: [127.0.0.0/8] }}\n{agents}");
        std::fs::write(&path, text).map_err(CertifyError::file(&path))?;
        Ok(path)
    }

    /// `regatta VERB` with what a client or a role needs and nothing of this process's environment.
    pub(crate) fn command(&self, verb: &str) -> Command {
        let mut command = plain(self.binary);
        command
            .arg(verb)
            .env("REGATTA_TOKEN", TOKEN)
            .env("REGATTA_BUCKET", &self.stores.bucket.bucket)
            .env("AWS_REGION", &self.stores.bucket.region)
            .env("AWS_ACCESS_KEY_ID", &self.stores.bucket.access_key)
            .env("AWS_SECRET_ACCESS_KEY", &self.stores.bucket.secret_key);
        command
    }

    /// Runs a client's command against the coordinators in turn until one does it. What is refused for its own sake is refused by both.
    pub(crate) async fn client(&self, arguments: &[&str]) -> Result<Output, CertifyError> {
        let (verb, rest) = arguments.split_first().unwrap_or((&"help", &[]));
        let mut last = None;
        for member in self.members.iter().filter(|member| member.role == Role::Coordinator) {
            let mut command = self.command(verb);
            command.args(rest).env("REGATTA_COORDINATOR", format!("http://{}", member.address));
            let output = tokio::time::timeout(PATIENCE, command.output()).await;
            let output = output
                .map_err(|_| CertifyError::Broken(format!("{arguments:?} did not end")))?
                .map_err(CertifyError::system("run regatta"))?;
            if output.status.success() {
                return Ok(output);
            }
            last = Some(output);
        }
        last.ok_or_else(|| CertifyError::Broken("no coordinator is alive".to_owned()))
    }

    pub(crate) fn positions(&self, role: Role) -> Vec<usize> {
        (0..self.members.len()).filter(|position| self.members[*position].role == role).collect()
    }

    /// Position of the coordinator that says it leads; the one at `but` is not asked.
    pub(crate) async fn leader_but(&self, but: Option<usize>) -> Option<usize> {
        for position in self.positions(Role::Coordinator).into_iter().filter(|position| Some(*position) != but) {
            let metrics = get(self.members[position].address, "/metrics").await.unwrap_or_default();
            if metrics.lines().any(|line| line == "regatta_coordinator_leads 1") {
                return Some(position);
            }
        }
        None
    }

    /// Objects in the bucket with transcripts of running sessions.
    pub(crate) async fn checkpoints(&self) -> Result<u64, CertifyError> {
        let bucket = &self.stores.bucket;
        let listed = bucket.client().list_objects_v2().bucket(&bucket.bucket).prefix("checkpoints/").send().await;
        let listed = listed.map_err(|error| CertifyError::Broken(format!("failed to list the bucket: {error}")))?;
        Ok(listed.contents().len() as u64)
    }

    /// Cuts everybody off from the broker, for good: whatever they have not acknowledged is in its queue again.
    pub(crate) fn leave_broker(&self) {
        self.members.iter().for_each(|member| member.broker.set(Traffic::IsCut));
    }

    /// SIGKILL; nothing of it gets a chance to clean up.
    pub(crate) async fn kill(&mut self, position: usize) -> Result<(), CertifyError> {
        let mut member = self.members.remove(position);
        member.child.kill().await.map_err(CertifyError::system("kill a role"))
    }

    /// SIGTERM, and waits for the end.
    pub(crate) async fn drain(&mut self, position: usize) -> Result<(), CertifyError> {
        self.members[position].signal(Signal::TERM)?;
        let mut member = self.members.remove(position);
        let ended = tokio::time::timeout(PATIENCE, member.child.wait()).await;
        let status = ended.map_err(|_| CertifyError::Broken(format!("{} did not end after SIGTERM", member.name)))?;
        let status = status.map_err(CertifyError::system("wait for a role"))?;
        if status.success() {
            return Ok(());
        }
        Err(CertifyError::Broken(format!("{} ended with {status} after SIGTERM", member.name)))
    }

    pub(crate) fn set_all(&self, traffic: Traffic) {
        self.members.iter().for_each(|member| member.set_all(traffic));
    }

    /// Names of processes that ended although nobody ended them.
    pub(crate) fn fallen(&mut self) -> Vec<String> {
        let fallen = self.members.iter_mut().filter_map(|member| match member.child.try_wait() {
            Ok(Some(status)) => Some(format!("{} ended with {status}", member.name)),
            Ok(None) | Err(_) => None,
        });
        fallen.collect()
    }
}

/// The binary without this process's environment.
pub(crate) fn plain(binary: &Path) -> Command {
    let mut command = Command::new(binary);
    let kept = ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"];
    let kept: Vec<_> = kept.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))).collect();
    command
        .env_clear()
        .envs(kept)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

async fn get(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    // A stopped process accepts and says nothing.
    let reading = tokio::time::timeout(Duration::from_secs(2), stream.read_to_string(&mut answer));
    reading.await.map_err(|_| std::io::ErrorKind::TimedOut)??;
    Ok(answer)
}
