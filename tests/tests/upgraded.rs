//! A sweep that the previous version began ends under this one: its roles are replaced one by one.
//!
//! `REGATTA_PREVIOUS_BINARY` names the previous version's program; `scripts/previous` builds it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "what was measured is for whoever runs the tests")]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regatta_tests::referee::Referee;
use regatta_tests::regatta::{Process, binary, free_address, skipped};
use regatta_tests::{Deployment, unique_name};

/// Sessions, and calls of each.
const CONVERSATIONS: (u64, u64) = (60, 8);
/// Time that a call takes.
const LATENCY: Duration = Duration::from_millis(50);
/// The same while processes are replaced: what is left of the sweep lasts for a minute and a half then, eight calls at a time.
const LATENCY_OF_REPLACEMENTS: Duration = Duration::from_secs(2);

/// The previous version's program; says that `test` is skipped where nobody has built it.
fn previous(test: &str) -> Option<PathBuf> {
    let given = std::env::var_os("REGATTA_PREVIOUS_BINARY").map(PathBuf::from);
    if given.is_none() {
        skipped(test, "REGATTA_PREVIOUS_BINARY names no program of the previous version; scripts/previous builds one");
    }
    given
}

/// Process that changes the schema of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Migration {
    /// The roles, as they start.
    ByRoles,
    /// `regatta migrate` of the next version, while all roles are of the version before.
    Before,
}

/// Two processes of a role, with the places at which they listen.
struct Pair {
    role: &'static str,
    processes: Vec<(SocketAddr, Process)>,
}

impl Pair {
    async fn start(role: &'static str, deployment: &Deployment) -> Self {
        let first = if role == "coordinator" { deployment.api() } else { free_address().await.unwrap() };
        let mut processes = Vec::new();
        for address in [first, free_address().await.unwrap()] {
            processes.push((address, deployment.start_at(role, address).await.unwrap()));
        }
        Self { role, processes }
    }

    /// Has each of them leave, and another one, of the deployment's present program, take its place.
    async fn replace(&mut self, deployment: &Deployment) {
        for (address, process) in std::mem::take(&mut self.processes) {
            assert_eq!(
                process.terminate().await.unwrap(),
                Some(0),
                "a {} of the version before leaves in order",
                self.role
            );
            self.processes.push((address, deployment.start_at(self.role, address).await.unwrap()));
        }
    }
}

/// A sweep begins under the program `from`; its roles are replaced by those of `to` in `order`.
async fn upgraded(from: &Path, to: &Path, order: [&'static str; 3], migration: Migration) {
    let mut deployment = Deployment::of_owner().await.unwrap();
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let spec = referee.conversations(deployment.folder.path(), &unique_name("upgraded"), CONVERSATIONS, "").unwrap();
    let expected = deployment.results_of_one_process(&spec).await.unwrap();
    referee.begin_new_books(LATENCY);

    deployment.use_program(from);
    let mut pairs = Vec::new();
    for role in order {
        pairs.push(Pair::start(role, &deployment).await);
    }
    let id = deployment.submit(&spec).await.unwrap();
    deployment.use_program(to);
    if migration == Migration::Before {
        assert!(deployment.run(&["migrate"]).await.unwrap().status.success());
    }
    let (sessions, calls) = CONVERSATIONS;
    let some = sessions * calls / 12;
    for pair in &mut pairs {
        referee.has_read(referee.calls() + some).await;
        referee.answer_after(LATENCY_OF_REPLACEMENTS);
        pair.replace(&deployment).await;
        assert!(referee.calls() < sessions * calls, "the sweep had ended before each {} was replaced", pair.role);
        referee.answer_after(LATENCY);
    }
    let (code, directory) = deployment.finish(&id).await.unwrap();
    println!("{order:?}, {migration:?}: {} calls, {} of them again", referee.calls(), referee.repeated());
    assert_eq!(code, Some(0));
    assert_eq!(std::fs::read_to_string(directory.join("results.jsonl")).unwrap(), expected);
    assert_eq!((referee.calls(), referee.repeated()), (sessions * calls, 0), "each call once");
}

const CONTROL_FIRST: [&str; 3] = ["coordinator", "worker", "scorer"];
const CONTROL_LAST: [&str; 3] = ["scorer", "worker", "coordinator"];
/// As docs/operating.md says.
const WORKERS_LAST: [&str; 3] = ["scorer", "coordinator", "worker"];

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_outlives_a_restart_of_all_roles_one_by_one() {
    upgraded(binary().unwrap(), binary().unwrap(), CONTROL_FIRST, Migration::ByRoles).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_outlives_an_upgrade_that_begins_with_the_coordinators() {
    let Some(previous) = previous("upgrade, coordinators first") else { return };
    upgraded(&previous, binary().unwrap(), CONTROL_FIRST, Migration::Before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_outlives_an_upgrade_that_begins_with_the_scorers() {
    let Some(previous) = previous("upgrade, scorers first") else { return };
    upgraded(&previous, binary().unwrap(), CONTROL_LAST, Migration::ByRoles).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_outlives_an_upgrade_in_the_order_that_is_recommended() {
    let Some(previous) = previous("upgrade, workers last") else { return };
    upgraded(&previous, binary().unwrap(), WORKERS_LAST, Migration::Before).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "only where the migration between the two lets the older program go on"]
async fn a_sweep_outlives_a_rollback_in_either_order() {
    let Some(previous) = previous("rollback") else { return };
    for order in [CONTROL_FIRST, CONTROL_LAST] {
        upgraded(binary().unwrap(), &previous, order, Migration::ByRoles).await;
    }
}
