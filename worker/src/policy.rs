//! Permissions of specs that others wrote: the commands it runs, the keys it sends, the addresses it reaches, the encoders it opens.
//!
//! A spec only chooses among names. [`Policy::trusting`] is for a person's own machine, where specs, commands and keys are one person's.

mod pods;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use regatta_coded::CodedRules;
use regatta_llm::{EgressSection, KeyRule, OutboundPolicy, OutboundRules};
use regatta_processes::{Account, Limits};
use regatta_proto::{AgentName, EncoderName, ExternalAgent, read_yaml};
use serde::Deserialize;

pub(crate) use pods::PodRules;

/// Permissions of specs that others wrote.
#[derive(Debug, Clone)]
pub struct Policy {
    agents: BTreeMap<AgentName, RegisteredAgent>,
    /// Commands of specs are run as they are.
    runs_commands_of_specs: bool,
    /// User that agents run as which name none.
    agent_user: Option<String>,
    /// Agents get no process namespace of their own.
    shares_processes: bool,
    /// Keys, addresses and encoders.
    pub(crate) outbound: Arc<OutboundPolicy>,
    coded: CodedRules,
    containers: ContainersSection,
}

/// A policy file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyFile {
    agents: BTreeMap<AgentName, RegisteredAgent>,
    /// Agents get no process namespace of their own, because they need what one takes from them.
    shared_processes: bool,
    keys: BTreeMap<String, KeyRule>,
    egress: EgressSection,
    /// Directories of sentence encoders, by the name that specs choose them by.
    encoders: BTreeMap<EncoderName, PathBuf>,
    /// Programs of coded benchmarks; whoever loads benchmarks reads it.
    coded: CodedRules,
    containers: ContainersSection,
}

/// Rules of all containers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ContainersSection {
    /// Name or path of `docker` or `podman`, the first in the worker's `PATH` when absent; or `kubernetes`.
    engine: Option<String>,
    /// Rules of pods, for the engine `kubernetes`.
    pods: Option<Arc<PodRules>>,
}

/// Value of `engine` by which each container is a pod.
const KUBERNETES: &str = "kubernetes";

impl ContainersSection {
    /// Finds what contradicts itself; names the field.
    fn check(&self) -> Result<(), String> {
        let is_kubernetes = self.engine.as_deref() == Some(KUBERNETES);
        match &self.pods {
            Some(rules) if is_kubernetes => rules.check().map_err(|problem| format!("pods.{problem}")),
            Some(_) => Err(format!("pods: only belong to `engine: {KUBERNETES}`")),
            None if is_kubernetes => {
                Err("pods: the engine kubernetes needs `program_image`, an image of Regatta".to_owned())
            }
            None => Ok(()),
        }
    }

    fn engine(&self) -> ContainerEngine {
        match &self.pods {
            Some(rules) => ContainerEngine::Kubernetes(rules.clone()),
            None => ContainerEngine::Program(self.engine.clone()),
        }
    }
}

/// A command that specs may choose by its name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RegisteredAgent {
    /// Program and arguments.
    command: Vec<String>,
    /// Image that it runs in, by its digest: `NAME@sha256:…`.
    #[serde(default)]
    container: Option<String>,
    /// Network of the engine that its container is connected to; none when absent.
    #[serde(default)]
    network: Option<String>,
    /// Directory that it runs in; of a container, in its image.
    #[serde(default)]
    directory: Option<PathBuf>,
    /// Variables set for it.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Variables of the worker that it gets.
    #[serde(default)]
    pass_env: Vec<String>,
    /// User that it runs as, by name or number; the worker must be root to start it so. In a container, `UID` or `UID:GID`.
    #[serde(default)]
    user: Option<String>,
    /// Resources it may use.
    #[serde(default)]
    limits: Limits,
    /// Most sessions of one of its processes; more than one, and it reads a line of JSON for each.
    #[serde(default = "one")]
    sessions_max: u32,
}

const fn one() -> u32 {
    1
}

/// A command as it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) command: Vec<String>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) pass_env: Vec<String>,
    pub(crate) account: Option<Account>,
    pub(crate) limits: Limits,
    /// It sees no process but its own, where the system allows that.
    pub(crate) is_isolated: bool,
    /// Most sessions of one process.
    pub(crate) sessions_max: u32,
    /// It runs in a container of this image, by this engine.
    pub(crate) container: Option<(Image, ContainerEngine)>,
}

/// Image of a container, and what its engine is told beside that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) name: String,
    /// Network of the engine; `None` is none.
    pub(crate) network: Option<String>,
    /// Numbers of user and group in the container.
    pub(crate) user: (u32, u32),
}

/// Engine of containers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContainerEngine {
    /// Name or path of a program; `None` is the first of Podman and Docker in `PATH`.
    Program(Option<String>),
    /// The API server of the cluster that the worker runs in.
    Kubernetes(Arc<PodRules>),
}

/// User and group of containers that name none: nobody.
pub(crate) const NOBODY: (u32, u32) = (65534, 65534);
/// Digits of a digest, which names one image for ever.
const DIGEST: (&str, usize) = ("@sha256:", 64);

impl PolicyFile {
    /// Reads a policy.
    ///
    /// # Errors
    /// When it is no YAML of a policy; names line and field.
    pub fn from_yaml(text: &str) -> Result<Self, String> {
        let file: Self = read_yaml(text)?;
        for (name, agent) in &file.agents {
            agent.check().map_err(|problem| format!("agents.{name}.{problem}"))?;
        }
        if let Some((name, path)) = file.encoders.iter().find(|(_, path)| !path.is_absolute()) {
            return Err(format!("encoders.{name}: must be an absolute path, is {}", path.display()));
        }
        file.containers.check().map_err(|problem| format!("containers.{problem}"))?;
        Ok(file)
    }
}

impl Policy {
    /// Policy for a person's own machine: commands of specs run, and keys go where specs say.
    #[must_use]
    pub fn trusting() -> Self {
        Self {
            agents: BTreeMap::new(),
            runs_commands_of_specs: true,
            agent_user: None,
            shares_processes: false,
            outbound: Arc::new(OutboundPolicy::trusting()),
            coded: CodedRules::default(),
            containers: ContainersSection::default(),
        }
    }

    /// Policy of a deployed worker whose policy file allows nothing.
    #[must_use]
    pub fn closed() -> Self {
        Self { runs_commands_of_specs: false, outbound: Arc::new(OutboundPolicy::closed()), ..Self::trusting() }
    }

    /// This policy with what `file` adds.
    #[must_use]
    pub fn with(self, file: PolicyFile) -> Self {
        let rules = OutboundRules { keys: file.keys, egress: file.egress, encoders: file.encoders };
        let outbound = Arc::new((*self.outbound).clone().with(rules));
        Self {
            agents: file.agents,
            shares_processes: file.shared_processes,
            outbound,
            coded: file.coded,
            containers: file.containers,
            ..self
        }
    }

    /// Agents that name no user run as this one.
    #[must_use]
    pub fn with_agent_user(self, agent_user: Option<String>) -> Self {
        Self { agent_user, ..self }
    }

    /// Keys and addresses, for those who ask models themselves.
    #[must_use]
    pub const fn outbound(&self) -> &Arc<OutboundPolicy> {
        &self.outbound
    }

    /// Programs of coded benchmarks that a deployment runs.
    #[must_use]
    pub const fn coded(&self) -> &CodedRules {
        &self.coded
    }

    /// The command of `agent`, as this worker starts it. `is_root` says that the worker may do everything.
    pub(crate) fn program(&self, agent: &ExternalAgent, is_root: bool) -> Result<Program, String> {
        let (name, registered) = match &agent.registered {
            Some(name) => (name.as_str(), self.agents.get(name).cloned().ok_or_else(|| self.unknown(name))?),
            None if self.runs_commands_of_specs => ("it", RegisteredAgent::of_spec(agent)),
            None => {
                return Err("this worker runs no commands that specs bring: have its operator name the command under `agents` of the \
                            worker's policy file (--policy), and choose it with registered: NAME"
                    .to_owned());
            }
        };
        if let Some(image) = &registered.container {
            let user = registered.user.as_deref().map(user_of_container).transpose()?.unwrap_or(NOBODY);
            let (network, engine) = (registered.network.clone(), self.containers.engine());
            let container = Some((Image { name: image.clone(), network, user }, engine));
            let RegisteredAgent { command, directory, env, pass_env, limits, sessions_max, .. } = registered;
            return Ok(Program {
                command,
                directory,
                env,
                pass_env,
                account: None,
                limits,
                is_isolated: true,
                sessions_max,
                container,
            });
        }
        let user = registered.user.as_ref().or(self.agent_user.as_ref());
        let account = user.map(|user| Account::of(user)).transpose()?;
        if is_root && account.is_none_or(Account::is_root) && !self.runs_commands_of_specs {
            return Err(format!(
                "this worker is root, and agents do not run as root: name a `user` for {name} in the policy file, give --agent-user, or \
                 start the worker as another user"
            ));
        }
        let RegisteredAgent { command, directory, env, pass_env, limits, sessions_max, .. } = registered;
        // A person's own agents too: those of two sessions are neighbours, and what one leaves behind would meddle with the next.
        let is_isolated = !self.shares_processes;
        let container = None;
        Ok(Program { command, directory, env, pass_env, account, limits, is_isolated, sessions_max, container })
    }

    fn unknown(&self, name: &AgentName) -> String {
        let known = self.agents.keys().map(AgentName::as_str).collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "none" } else { &known };
        format!("the policy file (--policy) of this worker has no agent {name}; it has: {known}")
    }
}

/// Numbers of `UID` or `UID:GID`: names are the image's, and say nothing.
fn user_of_container(user: &str) -> Result<(u32, u32), String> {
    let (uid, gid) = user.split_once(':').unwrap_or((user, user));
    match (uid.parse(), gid.parse()) {
        (Ok(0), _) | (_, Ok(0)) => {
            Err(format!("the user {user} is root, and agents do not run as root; name another, as UID:GID"))
        }
        (Ok(uid), Ok(gid)) => Ok((uid, gid)),
        (Err(_), _) | (_, Err(_)) => {
            Err(format!("the user {user:?} is not UID or UID:GID, as those of containers must be"))
        }
    }
}

impl RegisteredAgent {
    /// Finds what no agent could be started by; names the field.
    fn check(&self) -> Result<(), String> {
        if self.command.first().is_none_or(String::is_empty) {
            return Err("command: is empty; begin it with a program".to_owned());
        }
        if self.sessions_max == 0 {
            return Err("sessions_max: must be at least 1".to_owned());
        }
        if self.sessions_max > 1 && self.container.is_some() {
            return Err("sessions_max: does not go with `container`: each session has one of its own".to_owned());
        }
        let Some(image) = &self.container else {
            return match &self.network {
                Some(_) => Err("network: only belongs to agents with a `container`".to_owned()),
                None => Ok(()),
            };
        };
        let (before, digits) = DIGEST;
        let is_digest = |digest: &str| digest.len() == digits && digest.chars().all(|c| c.is_ascii_hexdigit());
        let name = image.split_once(before).filter(|(_, digest)| is_digest(digest)).map(|(name, _)| name);
        if !name.is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphanumeric())) {
            return Err(format!("container: {image:?} does not name an image by its digest, as NAME@sha256:…"));
        }
        let is_name = |name: &str| {
            let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
            begins_well && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        };
        if let Some(network) = self.network.as_deref().filter(|network| *network == "host" || !is_name(network)) {
            return Err(format!(
                "network: {network:?} is not a network of the engine's own; name one, or leave it out"
            ));
        }
        if self.directory.as_ref().is_some_and(|directory| !directory.is_absolute()) {
            return Err("directory: must be an absolute path in the image".to_owned());
        }
        self.user
            .as_deref()
            .map(user_of_container)
            .transpose()
            .map(|_| ())
            .map_err(|problem| format!("user: {problem}"))
    }

    fn of_spec(agent: &ExternalAgent) -> Self {
        Self {
            command: agent.command.clone(),
            container: agent.container.clone(),
            network: agent.network.clone(),
            directory: agent.directory.clone(),
            env: agent.env.clone(),
            pass_env: agent.pass_env.clone(),
            user: None,
            limits: Limits::default(),
            sessions_max: agent.sessions_max,
        }
    }
}

#[cfg(test)]
mod tests;
