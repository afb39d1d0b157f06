//! Runs the test executables that `cargo test --no-run --message-format=json` names on standard input, with one set of private services
//! for all of them, and ends with what was slow, what was skipped, and how many passed.
//!
//! `--quick` leaves out what needs services, other people's packages or minutes (see `plan`).

mod executable;
mod plan;
mod running;
mod starts;
mod summary;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use regatta_tests::regatta::must_run_all;
use regatta_tests::{HarnessError, Services};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinSet;

use crate::executable::Executable;
use crate::plan::{Lane, Plan, WAITING_AT_ONCE};
use crate::running::{Finished, run};
use crate::summary::Summary;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let ended = tokio::select! {
        biased;
        ended = suite(quick) => ended,
        // The tests and their services end with the future that waits for them.
        interrupted = interrupted() => interrupted,
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            print(&format!("suite: {}\n", with_causes(&error)));
            ExitCode::FAILURE
        }
    }
}

/// Waits for SIGINT or SIGTERM, after which not everything has passed.
async fn interrupted() -> Result<bool, HarnessError> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed("listen for SIGINT"))?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed("listen for SIGTERM"))?;
    tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
    print("suite: interrupted\n");
    Ok(false)
}

/// Runs the tests and prints their summary; `true` if all passed.
async fn suite(quick: bool) -> Result<bool, HarnessError> {
    let messages = std::io::read_to_string(std::io::stdin()).map_err(failed("read cargo's messages"))?;
    let plan = Plan::of(executable::all(&messages)?, quick);
    let services = if plan.needs_services() { Some(Services::start().await?) } else { None };
    let environment = Arc::new(services.as_ref().map_or(Ok(Vec::new()), Services::test_environment)?);
    // Without anything that waits, a second executable fills the core that the last test of the first leaves idle.
    let lanes = [(Lane::Computing, if quick { 2 } else { 1 }), (Lane::Waiting, WAITING_AT_ONCE)]
        .map(|(lane, at_once)| (lane, Arc::new(Semaphore::new(at_once))));
    let summary = Arc::new(Mutex::new(Summary::new(must_run_all())));
    let mut tasks = JoinSet::new();
    let order = plan.into_order();
    let computing_left = order.iter().filter(|(_, lane)| *lane == Lane::Computing).count();
    let computing_left = Arc::new(AtomicUsize::new(computing_left));
    for (executable, lane) in order {
        let waiting = lanes.iter().find(|(of, _)| *of == Lane::Waiting).map(|(_, places)| Arc::clone(places));
        let computing_left = Arc::clone(&computing_left);
        let place = lanes.iter().find(|(of, _)| *of == lane).map(|(_, places)| Arc::clone(places));
        let (environment, summary) = (Arc::clone(&environment), Arc::clone(&summary));
        tasks.spawn(async move {
            // One thread polls tasks in the order of the plan, and semaphores are fair, so that executables start in that order.
            let _place = match &place {
                Some(places) => places.acquire().await.ok(),
                None => None,
            };
            let finished = run(&executable, &environment).await;
            if lane == Lane::Computing && computing_left.fetch_sub(1, Ordering::Relaxed) == 1 {
                // The cores have nothing else to do any more.
                waiting.iter().for_each(|places| places.add_permits(1));
            }
            let mut summary = summary.lock().await;
            print(&described(&executable, &finished));
            summary.add(&executable, finished);
        });
    }
    while let Some(ended) = tasks.join_next().await {
        if let Err(reason) = ended {
            return Err(HarnessError::Io { action: "run the tests".to_owned(), source: reason.into() });
        }
    }
    drop(services);
    let summary = summary.lock().await;
    print(&summary.to_string());
    Ok(summary.is_success())
}

/// A line for an executable that passed; everything that one printed that failed.
fn described(executable: &Executable, finished: &Finished) -> String {
    let took = finished.took.as_secs_f64();
    if finished.failed() {
        format!("\n--- {executable} FAILED after {took:.1} s\n{}\n---\n", finished.output.trim_end())
    } else {
        format!("{took:7.1} s  {:4} ok  {executable}\n", finished.passed)
    }
}

/// Standard output, whole at once; with nobody to read it there is nobody left to tell.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn failed(action: &str) -> impl FnOnce(std::io::Error) -> HarnessError {
    let action = action.to_owned();
    move |source| HarnessError::Io { action, source }
}

/// An error with all its causes.
fn with_causes(error: &HarnessError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}
