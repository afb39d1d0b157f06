//! An external agent in a pod of Kubernetes: a pod a session, made and removed by the API of the cluster that the worker runs in.
//!
//! A pod is told everything by a secret that goes with it. Its first container installs this program in a volume, and the second becomes the
//! agent by it (`pod` of `processes`), so that agents read their task from standard input in every image. Its log is the agent's output, the
//! message at its end the agent's errors. It finds the bridge by its advertised address.

mod api;
mod labels;
mod leftovers;
mod log;
mod manifest;
mod state;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use regatta_bridge::{Bridge, BridgePlace};
use regatta_processes::LinkedProgram;
use regatta_proto::{Digest, Ended, ExternalAgent, HowEnded, SessionKey};
use tokio::runtime::Handle;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::briefing::Briefing;
use super::container::variables_of;
use super::program::{SIGTERM, how_exited, with_memory};
use super::stop::Stop;
use crate::config::{AgentAuthorities, WorkerConfig};
use crate::policy::{Image, PodRules, Program};
use api::{Api, Refusal};
use labels::Owner;
use leftovers::Searches;
use log::{Output, Reading};
use manifest::{AGENT, AUTHORITIES_FILE, Pod, Told, secret};
use state::{Exit, State, state};

/// Wait before a pod is looked at for the second time; twice as long before each further one.
const FIRST_LOOK: Duration = Duration::from_millis(100);
/// Longest wait between two looks at a pod that does not run yet.
const LOOK_MAX: Duration = Duration::from_secs(2);
/// Time beyond the longest session that a pod has until Kubernetes ends it: its worker is gone then.
const LATE: Duration = Duration::from_secs(300);
/// Longest time that a session waits for its pod to be removed.
const REMOVE_MAX: Duration = Duration::from_secs(10);
/// Digits of a pod's name.
const DIGITS: usize = 20;

/// State that all pods of a worker share.
pub(super) struct Pods {
    account: PathBuf,
    place: BridgePlace,
    /// Authorities of the bridge, in the place where an agent in a pod finds them.
    authorities: Option<AgentAuthorities>,
    longest: Duration,
    /// Unique id of this process.
    process: String,
    made: AtomicU64,
    searches: Searches,
    /// Found with the first pod.
    ready: OnceCell<Ready>,
}

struct Ready {
    api: Arc<Api>,
    owner: Owner,
    own: LinkedProgram,
}

/// A command in a pod.
#[derive(Clone, Copy)]
pub(super) struct Podded<'p> {
    pub(super) program: &'p Program,
    pub(super) image: &'p Image,
    pub(super) rules: &'p PodRules,
    pub(super) session: &'p SessionKey,
}

/// End of a pod, as its status tells it.
enum End {
    Exited(Exit),
    /// The agent never began.
    NotStarted(String),
    /// Somebody else ended it.
    Taken(String),
    TooMuchOutput,
}

/// State of an agent's pod before its end.
struct Seen {
    output: Output,
    /// Reason why it has not started yet.
    waits_for: String,
}

impl Pods {
    pub(super) fn new(config: &WorkerConfig, authorities: Option<&AgentAuthorities>) -> Self {
        let there = |known: &AgentAuthorities| AgentAuthorities {
            own: known.own.clone(),
            with_systems: AUTHORITIES_FILE.into(),
        };
        Self {
            account: config.service_account.clone(),
            place: config.bridge.clone(),
            authorities: authorities.map(there),
            longest: config.hand_over_after,
            process: config.id.to_string(),
            made: AtomicU64::new(0),
            searches: Searches::default(),
            ready: OnceCell::new(),
        }
    }

    /// Handed to agents in pods. They get the bridge's authorities alone: an image's own are its affair.
    pub(super) const fn authorities(&self) -> Option<&AgentAuthorities> {
        self.authorities.as_ref()
    }

    async fn ready(&self, rules: &PodRules, variables: &BTreeMap<String, String>) -> Result<&Ready, String> {
        let prepare = || async {
            let api = Arc::new(Api::open(&self.account, rules.namespace.as_deref(), variables)?);
            // The name of a pod is that of its host.
            let pod = variables.get("HOSTNAME").unwrap_or(&self.process).clone();
            let owner = Owner { pod, process: self.process.clone() };
            Ok::<_, String>(Ready { api, owner, own: LinkedProgram::find(None)? })
        };
        self.ready.get_or_try_init(prepare).await
    }

    fn name(&self) -> String {
        let number = self.made.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let digest = Digest::of_parts([self.process.as_bytes(), &number[..]]).to_string();
        format!("regatta-agent-{}", &digest[digest.len() - DIGITS..])
    }

    /// A bridge that pods can reach.
    fn check(&self, bridge: &Bridge) -> Result<(), String> {
        match self.place.advertised.is_none() && bridge.address().ip().is_loopback() {
            true => Err(format!(
                "no pod reaches the worker's bridge, which listens at {}: start the worker with --bridge 0.0.0.0:PORT and \
                 --bridge-advertise with its pod's address",
                bridge.address()
            )),
            false => Ok(()),
        }
    }
}

/// Runs the pod of `agent` to its end, or until `stop` says so. It is removed afterwards, also when this is dropped; when this process is
/// killed, Kubernetes ends it, and another worker removes it.
pub(super) async fn run(
    (pods, bridge): (&Pods, &Bridge),
    agent: &ExternalAgent,
    podded: Podded<'_>,
    briefing: &Briefing,
    variables: &BTreeMap<String, String>,
    stop: &Stop,
) -> Ended {
    let found = match pods.check(bridge) {
        Ok(()) => pods.ready(podded.rules, variables).await,
        Err(problem) => Err(problem),
    };
    let ready = match found {
        Ok(ready) => ready,
        Err(problem) => {
            return Ended { how: HowEnded::NotStarted, output: "".into(), is_cut: false, errors: problem.into() };
        }
    };
    if pods.searches.are_due() {
        let (api, owner) = (Arc::clone(&ready.api), ready.owner.clone());
        tokio::spawn(async move { leftovers::remove(&api, &owner).await });
    }
    let seen_variables = variables_of(podded.program, briefing, variables);
    let told = Told {
        task: &briefing.line,
        variables: &seen_variables,
        authorities: pods.authorities().map(|known| known.own.as_str()),
    };
    let guard = Guard { api: Arc::clone(&ready.api), name: pods.name(), is_removed: false };
    let pod = Pod {
        name: &guard.name,
        program: podded.program,
        image: podded.image,
        rules: podded.rules,
        owner: &ready.owner,
        session: podded.session,
        variables: seen_variables.keys().map(String::as_str).collect(),
        own: &ready.own,
        seconds_max: (pods.longest + LATE).as_secs(),
    };
    let mut seen = Seen { output: Output::new(agent.output_bytes_max as usize), waits_for: String::new() };
    let end = tokio::select! {
        biased;
        end = live(&ready.api, &pod, &told, &mut seen) => Some(end),
        () = stop.told() => None,
    };
    guard.remove().await;
    let (how, errors, is_out_of_memory) = match end {
        Some(End::Exited(exit)) => (how_exited(exit.code), exit.errors, exit.is_out_of_memory),
        Some(End::NotStarted(problem)) => (HowEnded::NotStarted, problem, false),
        Some(End::Taken(problem)) => (HowEnded::Killed(SIGTERM), problem, false),
        Some(End::TooMuchOutput) => (HowEnded::TooMuchOutput, String::new(), false),
        None => (HowEnded::Interrupted, waited(&seen.waits_for), false),
    };
    let (how, errors) = with_memory(stop.why().unwrap_or(how), errors.into(), is_out_of_memory);
    let (output, is_cut) = seen.output.head.text();
    Ended { how, output, is_cut, errors }
}

/// Last words of an agent that was stopped while `waits_for` was waited for.
fn waited(waits_for: &str) -> String {
    match waits_for {
        "" => String::new(),
        waits_for => format!("its pod had not begun: {waits_for}"),
    }
}

/// Makes the pod and follows it to its end.
async fn live(api: &Api, pod: &Pod<'_>, told: &Told<'_>, seen: &mut Seen) -> End {
    match make(api, pod, told).await {
        Ok(()) => follow(api, pod.name, seen).await,
        Err(problem) => End::NotStarted(problem),
    }
}

/// Makes the pod, and then its secret, which belongs to it: so nothing is left of a worker that is killed in between but a pod that waits.
async fn make(api: &Api, pod: &Pod<'_>, told: &Told<'_>) -> Result<(), String> {
    let made = match api.create("pods", &pod.manifest()).await {
        // An answer to this process was lost: nobody else has that name.
        Err(Refusal::Exists) => api.pod(pod.name).await,
        made => made,
    };
    let made = made.map_err(Refusal::told)?;
    let uid = made["metadata"]["uid"].as_str().ok_or("the API server of Kubernetes made a pod without a uid")?;
    match api.create("secrets", &secret(pod.name, uid, told)?).await {
        Ok(_) | Err(Refusal::Exists) => Ok(()),
        Err(refusal) => Err(refusal.told()),
    }
}

/// Waits until the agent runs, reads its log, and sees how it ends.
async fn follow(api: &Api, name: &str, seen: &mut Seen) -> End {
    let mut pause = FIRST_LOOK;
    loop {
        let is_running = match api.pod(name).await.map(|pod| state(&pod)) {
            Ok(State::Waiting(why)) => {
                seen.waits_for = why;
                None
            }
            Ok(State::Stuck(why)) => return End::NotStarted(format!("its pod cannot begin: {why}")),
            Ok(State::Taken(why)) => return End::Taken(format!("its pod was ended by others: {why}")),
            Ok(State::Running) => Some(None),
            Ok(State::Ended(exit)) => Some(Some(exit)),
            Err(Refusal::Absent) => return End::Taken("its pod was deleted by others".to_owned()),
            Err(Refusal::Away(problem)) => {
                tracing::warn!(pod = name, problem, "an agent's pod cannot be looked at; trying again");
                None
            }
            Err(refusal @ (Refusal::Refused(_) | Refusal::Exists)) => return End::NotStarted(refusal.told()),
        };
        if let Some(ended) = is_running {
            seen.waits_for.clear();
            let before = seen.output.read;
            match (seen.output.read(api, (name, AGENT), ended.is_none()).await, ended) {
                (Ok(Reading::TooMuch), _) => return End::TooMuchOutput,
                (Ok(Reading::ToItsEnd), Some(exit)) => return End::Exited(exit),
                // The log has ended, so the agent has, as will be told soon. Where that is not so, the waits grow.
                (Ok(Reading::ToItsEnd), None) if seen.output.read > before => pause = FIRST_LOOK,
                (Ok(Reading::ToItsEnd), None) => {}
                (Ok(Reading::Broken(problem)), _) | (Err(Refusal::Away(problem)), _) => {
                    tracing::warn!(pod = name, problem, "an agent's log broke off; reading it again");
                }
                (Err(Refusal::Absent | Refusal::Exists), _) => {}
                (Err(refusal @ Refusal::Refused(_)), _) => return End::NotStarted(refusal.told()),
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LOOK_MAX);
    }
}

/// Removes a pod, whatever becomes of who holds this.
struct Guard {
    api: Arc<Api>,
    name: String,
    is_removed: bool,
}

impl Guard {
    async fn remove(mut self) {
        // A server that does not answer holds up no session: it is asked further when this is dropped.
        self.is_removed = timeout(REMOVE_MAX, remove(&self.api, &self.name)).await.is_ok();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Without a runtime this process ends, and Kubernetes ends the pod at its deadline.
        if let (false, Ok(runtime)) = (self.is_removed, Handle::try_current()) {
            let (api, name) = (Arc::clone(&self.api), self.name.clone());
            runtime.spawn(async move { remove(&api, &name).await });
        }
    }
}

async fn remove(api: &Api, name: &str) {
    if let Err(refusal) = api.delete_pod(name).await {
        tracing::warn!(
            pod = name,
            problem = refusal.told(),
            "failed to remove an agent's pod; it ends at its own deadline"
        );
    }
}
