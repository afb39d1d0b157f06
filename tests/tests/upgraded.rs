//! A sweep that the previous version began ends under this one: its roles are replaced one by one, or all at once.
//!
//! `REGATTA_PREVIOUS_BINARY` names the previous version's program; `scripts/previous` builds it. Roles have the rights of their version's
//! `deploy/postgres-roles.sql` and no others, but where they migrate the database themselves.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "what was measured is for whoever runs the tests")]

use std::net::SocketAddr;
use std::time::Duration;

use futures::future::join_all;
use regatta_tests::referee::Referee;
use regatta_tests::regatta::{Process, free_address};
use regatta_tests::{Deployment, Release, unique_name};

/// Sessions, and calls of each.
const CONVERSATIONS: (u64, u64) = (60, 8);
/// Time that a call takes.
const LATENCY: Duration = Duration::from_millis(50);
/// The same while processes are replaced: what is left of the sweep lasts for a minute and a half then, eight calls at a time.
const LATENCY_OF_REPLACEMENTS: Duration = Duration::from_secs(2);

/// Process that brings the schema of the database from the one version to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Migration {
    /// The roles, as they start (`REGATTA_SCHEMA=migrate`). They have the login of the database's owner, because nobody else may change the
    /// schema.
    ByRoles,
    /// `regatta migrate` with the owner's login, while all roles are of the version before; new rights follow at once.
    ByOwner,
    /// None: the versions are one, or the way is back to the older one, which leaves schema and rights as they are.
    NotNeeded,
}

/// Roles that are replaced at the same time, step by step.
type Order = &'static [&'static [&'static str]];

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

/// A sweep begins under the version `from`; its roles are replaced by those of `to` in `order`.
async fn upgraded(from: &Release, to: &Release, order: Order, migration: Migration) {
    let deployment = match migration {
        Migration::ByRoles => Deployment::of_owner().await.unwrap(),
        Migration::ByOwner | Migration::NotNeeded => Deployment::migrated_by(from).await.unwrap(),
    };
    replaced(deployment, (from, to), order, migration).await;
}

/// The same of the roles of `deployment`.
async fn replaced(mut deployment: Deployment, (from, to): (&Release, &Release), order: Order, migration: Migration) {
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let spec = referee.conversations(deployment.folder.path(), &unique_name("upgraded"), CONVERSATIONS, "").unwrap();
    let expected = deployment.results_of_one_process(&spec).await.unwrap();
    referee.begin_new_books(LATENCY);

    deployment.use_program(&from.program);
    let mut steps = Vec::new();
    for roles in order {
        let mut pairs = Vec::new();
        for &role in *roles {
            pairs.push(Pair::start(role, &deployment).await);
        }
        steps.push(pairs);
    }
    let id = deployment.submit(&spec).await.unwrap();
    if migration == Migration::ByOwner {
        deployment.migrate(to).await.unwrap();
    }
    deployment.use_program(&to.program);
    let (sessions, calls) = CONVERSATIONS;
    let some = sessions * calls / 12;
    for pairs in &mut steps {
        referee.has_read(referee.calls() + some).await;
        referee.answer_after(LATENCY_OF_REPLACEMENTS);
        join_all(pairs.iter_mut().map(|pair| pair.replace(&deployment))).await;
        let replaced: Vec<&str> = pairs.iter().map(|pair| pair.role).collect();
        assert!(referee.calls() < sessions * calls, "the sweep had ended before each of {replaced:?} was replaced");
        referee.answer_after(LATENCY);
    }
    let (code, directory) = deployment.finish(&id).await.unwrap();
    println!("{order:?}, {migration:?}: {} calls, {} of them again", referee.calls(), referee.repeated());
    assert_eq!(code, Some(0));
    assert_eq!(std::fs::read_to_string(directory.join("results.jsonl")).unwrap(), expected);
    assert_eq!((referee.calls(), referee.repeated()), (sessions * calls, 0), "each call once");
}

const CONTROL_FIRST: Order = &[&["coordinator"], &["worker"], &["scorer"]];
const CONTROL_LAST: Order = &[&["scorer"], &["worker"], &["coordinator"]];
/// As docs/operating.md says.
const WORKERS_LAST: Order = &[&["scorer"], &["coordinator"], &["worker"]];
/// As the chart does.
const ALL_AT_ONCE: Order = &[&["coordinator", "worker", "scorer"]];

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_outlives_a_restart_of_all_roles_one_by_one() {
    let present = Release::present().unwrap();
    upgraded(&present, &present, CONTROL_FIRST, Migration::NotNeeded).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_outlives_a_restart_of_all_roles_at_once() {
    let present = Release::present().unwrap();
    upgraded(&present, &present, ALL_AT_ONCE, Migration::NotNeeded).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_whose_messages_are_published_once_outlives_a_restart_of_all_roles_at_once() {
    let present = Release::present().unwrap();
    let deployment = Deployment::migrated_by(&present).await.unwrap().with_compact_transcripts();
    replaced(deployment, (&present, &present), ALL_AT_ONCE, Migration::NotNeeded).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_outlives_an_upgrade_of_all_roles_at_once() {
    let Some(previous) = Release::previous("upgrade, all at once").unwrap() else { return };
    upgraded(&previous, &Release::present().unwrap(), ALL_AT_ONCE, Migration::ByOwner).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_outlives_an_upgrade_that_begins_with_the_coordinators() {
    let Some(previous) = Release::previous("upgrade, coordinators first").unwrap() else { return };
    upgraded(&previous, &Release::present().unwrap(), CONTROL_FIRST, Migration::ByOwner).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_outlives_an_upgrade_that_begins_with_the_scorers_who_migrate() {
    let Some(previous) = Release::previous("upgrade, scorers first").unwrap() else { return };
    upgraded(&previous, &Release::present().unwrap(), CONTROL_LAST, Migration::ByRoles).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_outlives_an_upgrade_in_the_order_that_is_recommended() {
    let Some(previous) = Release::previous("upgrade, workers last").unwrap() else { return };
    upgraded(&previous, &Release::present().unwrap(), WORKERS_LAST, Migration::ByOwner).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "only where the migration between the two lets the older program go on"]
async fn a_sweep_outlives_a_rollback_in_either_order() {
    let Some(previous) = Release::previous("rollback").unwrap() else { return };
    for order in [CONTROL_FIRST, CONTROL_LAST] {
        upgraded(&Release::present().unwrap(), &previous, order, Migration::NotNeeded).await;
    }
}
