//! `regatta run`: a whole sweep in this process.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use regatta_coordinator::{Resumption, Submission};
use regatta_proto::{SweepState, counted};
use regatta_scorer::Summary;
use tokio_util::sync::CancellationToken;

use crate::args::{ResultArgs, RunArgs};
use crate::embedded::Embedded;
use crate::exit::of_state;
use crate::signals::Leaving;
use crate::spec::{Loaded, check_build, check_endpoints, load, not_planned};
use crate::trust::{self, Rights};
use crate::{listener, output, telemetry};

pub(crate) async fn run(args: RunArgs) -> anyhow::Result<ExitCode> {
    let loaded = load(&args.spec)?;
    if args.dry_run {
        check_build(&loaded.spec)?;
        return super::check::plan_and_describe(loaded, false, args.result.json).await;
    }
    let rights = Rights::own(args.policy.file.as_deref())?;
    check_endpoints(&loaded.spec, &rights.policy)?;
    let directory = args.output.unwrap_or_else(|| PathBuf::from("runs").join(loaded.spec.name.as_str()));
    let leaving = Leaving::on_signals()?;
    let (cache, prices) = (args.cache_dir.as_deref(), args.spec.prices.as_deref());
    let mut run = Embedded::open_with(&directory, cache, prices, |_| Ok(rights)).await?;
    run.give_up_after = Duration::from_secs(args.give_up_after_s);
    let file = loaded.file.clone();
    let planned = run.coordinator.plan(store(&run, loaded).await?).await;
    let sweep = planned.map_err(|error| not_planned(file.as_deref(), error))?;
    trust::remember(&sweep.digest);
    run.refuse_another(&sweep).await?;
    let submitted = run.coordinator.enter(&sweep).await?;
    let sessions = counted(submitted.sessions, "session", "sessions");
    output::note(&format!("{} · {sessions} · {}", sweep.id, directory.display()));
    let stop = CancellationToken::new();
    if let Some(address) = args.metrics {
        let listener = listener::listen(address)?;
        listener::serve(listener, telemetry::routes(run.registry().clone()), stop.clone());
    }
    let state = run.execute(&sweep, Resumption::default(), &leaving).await?;
    stop.cancel();
    conclude(&run, &directory, state, args.result)
}

/// Puts the data into the run's store.
pub(crate) async fn store(run: &Embedded, loaded: Loaded) -> anyhow::Result<Submission> {
    let mut submission = Submission { spec: loaded.spec, data: Default::default(), recorded: Default::default() };
    let blobs = run.catalog().blobs();
    for (name, files) in &loaded.data {
        for (_, content) in files.iter() {
            blobs.put_content(content.clone()).await?;
        }
        submission.data.insert(name.clone(), files.snapshot());
    }
    for (name, bytes) in loaded.recorded {
        submission.recorded.insert(name, blobs.put_content(bytes).await?);
    }
    Ok(submission)
}

/// Prints the result and turns the sweep's end into an exit code.
pub(crate) fn conclude(
    run: &Embedded,
    directory: &Path,
    state: SweepState,
    result: ResultArgs,
) -> anyhow::Result<ExitCode> {
    if !state.is_end() {
        output::note("interrupted; the same command continues where it stopped");
        return Ok(of_state(SweepState::Incomplete));
    }
    let summary = run.artifact("summary.json")?;
    if result.json {
        output::line(&String::from_utf8_lossy(&summary));
    } else {
        let summary: Summary = Summary::from_json(&summary).context("failed to read the run's summary.json")?;
        output::line(&super::decision(&summary, result.tables));
        output::note(&format!("{state} · report: {}", directory.join("report.html").display()));
        if state != SweepState::Complete {
            let raise = if state == SweepState::StoppedByBudget { " --budget +DOLLARS" } else { "" };
            output::note(&format!(
                "some sessions were not measured; continue with: regatta resume {}{raise}",
                directory.display()
            ));
        }
    }
    Ok(of_state(state))
}
