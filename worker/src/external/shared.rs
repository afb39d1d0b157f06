//! State that all external agents of a worker share, and the ways in which it runs one.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use regatta_bridge::{Bridge, BridgePlace};
use regatta_memory::ByteBudget;
use regatta_proto::{AgentName, Ended as AgentEnded, ExternalAgent, SessionKey};
use tokio::sync::OnceCell;

use super::briefing::Briefing;
use super::container::{self, Contained, Containers};
use super::failures::Failures;
use super::kept::{self, Kept, Strays};
use super::places::Places;
use super::pods::{self, Podded, Pods};
use super::services::Services;
use super::stop::Stop;
use super::{post, program};
use crate::config::{AgentAuthorities, WorkerConfig};
use crate::policy::{ContainerEngine, Image, PodRules, Policy, Program};

/// State that all external agents of a worker share.
pub(crate) struct External {
    pub(super) place: BridgePlace,
    /// Handed to agents.
    pub(super) authorities: Option<AgentAuthorities>,
    /// Started with the first agent.
    pub(super) bridge: OnceCell<Bridge>,
    pub(super) places: Places,
    pub(super) failures: Failures,
    pub(super) services: Services,
    /// Processes that wait for their next session.
    pub(super) kept: Kept,
    /// Variables of which commands get those that are passed on to them.
    pub(super) variables: Arc<BTreeMap<String, String>>,
    pub(super) policy: Arc<Policy>,
    pub(super) containers: Containers,
    pub(super) pods: Pods,
    /// Bytes that the process may hold; requests to the bridge are read within them.
    pub(super) bytes: ByteBudget,
}

/// An agent as this worker runs it.
pub(super) enum Runnable<'a> {
    /// A service at this address.
    Service(&'a str),
    /// A command, or why there is none.
    Process(Result<Program, String>),
    /// A command whose processes live for many sessions, and its name in the spec. Started `again` for a session, it is a new process.
    Kept { program: Program, name: AgentName, again: bool },
    /// A command in a container, and the engine's program where one is chosen.
    Container(Program, Image, Option<String>),
    /// A command in a pod.
    Pod(Program, Image, Arc<PodRules>),
}

impl External {
    pub(crate) fn new(
        config: &WorkerConfig,
        variables: Arc<BTreeMap<String, String>>,
        policy: Arc<Policy>,
        bytes: ByteBudget,
    ) -> Self {
        let (place, authorities) = (config.bridge.clone(), config.bridge_authorities.clone());
        let (places, failures, services) = (Places::default(), Failures::default(), Services::default());
        let containers = Containers::new(config.container_relay.clone());
        let pods = Pods::new(config, authorities.as_ref());
        Self {
            place,
            authorities,
            bridge: OnceCell::new(),
            places,
            failures,
            services,
            kept: Kept::default(),
            variables,
            policy,
            containers,
            pods,
            bytes,
        }
    }

    /// The agent `name` as this worker runs it, for the first time in a session or `again`.
    pub(super) fn runnable<'a>(&self, name: &AgentName, agent: &'a ExternalAgent, again: bool) -> Runnable<'a> {
        if let Some(url) = &agent.url {
            return Runnable::Service(url);
        }
        match self.policy.program(agent, rustix::process::geteuid().is_root()) {
            Ok(mut program) => match program.container.take() {
                Some((image, ContainerEngine::Program(chosen))) => Runnable::Container(program, image, chosen),
                Some((image, ContainerEngine::Kubernetes(rules))) => Runnable::Pod(program, image, rules),
                None if program.sessions_max > 1 => Runnable::Kept { program, name: name.clone(), again },
                None => Runnable::Process(Ok(program)),
            },
            Err(problem) => Runnable::Process(Err(problem)),
        }
    }

    pub(super) async fn bridge(&self) -> io::Result<&Bridge> {
        self.bridge.get_or_try_init(|| Bridge::start(self.place.clone(), self.bytes.clone())).await
    }

    pub(super) async fn run(
        &self,
        bridge: &Bridge,
        (agent, runnable): (&ExternalAgent, Runnable<'_>),
        session: &SessionKey,
        (briefing, strays): (&Briefing, &Strays),
        stop: &Stop,
    ) -> AgentEnded {
        match runnable {
            Runnable::Service(url) => {
                let client = self.services.client(url, &self.policy.outbound.egress);
                post::run(agent, (url, client), briefing, stop).await
            }
            Runnable::Process(program) => program::run(agent, program, briefing, &self.variables, stop).await,
            Runnable::Kept { program, name, again } => {
                let of = kept::Owner { sweep: session.sweep.clone(), agent: name };
                kept::run(&self.kept, agent, (program, of, again), (briefing, strays), &self.variables, stop).await
            }
            Runnable::Container(program, image, engine) => {
                let contained = Contained { program: &program, image: &image, engine: engine.as_deref() };
                container::run((&self.containers, bridge), agent, contained, briefing, &self.variables, stop).await
            }
            Runnable::Pod(program, image, rules) => {
                let podded = Podded { program: &program, image: &image, rules: &rules, session };
                pods::run((&self.pods, bridge), agent, podded, briefing, &self.variables, stop).await
            }
        }
    }
}
