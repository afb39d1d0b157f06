//! `regatta run`: a whole sweep in this process.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use regatta_catalog::Sweep;
use regatta_coordinator::{BudgetChange, Resumption, Shortfall, Submission};
use regatta_proto::{Cause, Money, SweepState, counted};
use regatta_report::Summary;
use tokio_util::sync::CancellationToken;

use super::check::Planned;
use super::rescore::until;
use crate::args::{RescoreArgs, ResultArgs, RunArgs};
use crate::benchmarks::BENCHMARKS;
use crate::embedded::{Embedded, Fewer};
use crate::exit::of_state;
use crate::notice::{Ending, Outcome};
use crate::signals::Leaving;
use crate::spec::{Loaded, check_build, check_endpoints, load, not_planned};
use crate::trust::{self, Rights};
use crate::{listener, output, preflight, telemetry};

pub(crate) async fn run(args: RunArgs) -> anyhow::Result<ExitCode> {
    let loaded = load(&args.spec)?;
    if args.dry_run {
        check_build(&loaded.spec)?;
        return super::check::plan_and_describe(loaded, args.pilot.as_deref(), args.result.json).await;
    }
    let ending = Ending::of(&args.notice)?;
    let rights = Rights::own(args.policy.file.as_deref())?;
    if let Err(error) = check_endpoints(&loaded.spec, &rights.policy) {
        // A spec that cannot be planned comes first: no key mends it. No directory is left behind for either.
        Planned::from(loaded, BENCHMARKS).await?;
        return Err(error);
    }
    let directory = args.output.clone().unwrap_or_else(|| PathBuf::from("runs").join(loaded.spec.name.as_str()));
    let leaving = Leaving::on_signals()?;
    let (cache, prices) = (args.cache_dir.as_deref(), args.spec.prices.as_deref());
    let mut run = Embedded::open_with(&directory, cache, prices, |_| Ok(rights)).await?;
    let prepared = prepare(&mut run, &args, loaded, &leaving).await;
    let (sweep, is_new) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            run.abandon();
            return Err(error);
        }
    };
    let submitted = run.coordinator.enter(&sweep).await?;
    let sessions = counted(submitted.sessions, "session", "sessions");
    output::note(&format!("{} · {sessions} · {}", sweep.id, directory.display()));
    if is_new {
        super::check::in_short(&sweep).iter().for_each(|line| output::note(line));
    }
    let stop = CancellationToken::new();
    if let Some(address) = args.metrics {
        let listener = listener::listen(address)?;
        listener::serve(listener, telemetry::routes(run.registry().clone()), stop.clone());
    }
    let executed = run.execute(&sweep, Resumption::default(), &leaving).await;
    stop.cancel();
    let code = finish(&run, &sweep, &directory, executed, args.result, &ending, &leaving).await?;
    let rounds = || RescoreArgs::of_run(&directory, args.spec.prices, args.policy.file, false);
    audit_further(run, &sweep, rounds, code, None, &leaving).await
}

/// Makes the larger audits that the spec of a complete run asks for, and turns their end into an exit code; `code` where there is nothing to make.
/// `raise` is a change of the run's budget that only they are left to need.
pub(crate) async fn audit_further(
    run: Embedded,
    sweep: &Sweep,
    rounds: impl FnOnce() -> anyhow::Result<RescoreArgs>,
    code: ExitCode,
    raise: Option<BudgetChange>,
    leaving: &Leaving,
) -> anyhow::Result<ExitCode> {
    let mut audits = sweep.lock.benchmarks.values().filter_map(|benchmark| benchmark.audit.as_ref());
    if !audits.any(|audit| audit.until.is_some()) {
        return Ok(code);
    }
    // What a resume measures would be missing in audits of before it.
    let row = run.ledger().sweep(&sweep.id).await?.context("the ledger does not have the sweep it was given")?;
    if row.state != SweepState::Complete {
        output::note("its audits are made larger, should they have to be, once the run is complete");
        return Ok(code);
    }
    // They open its stores themselves.
    drop(run);
    let budget = row.budget.map(|budget| raise.map_or(budget, |raise| raise.apply(budget).max(budget)));
    let further = Box::pin(until::go_on(rounds()?, &sweep.lock, budget, leaving)).await?;
    Ok(further.unwrap_or(code))
}

/// Plans the sweep of `loaded`, looks for what cannot work, and lets it take the place of the one that the directory has. Returns it, and `true` if the
/// directory has none.
async fn prepare(
    run: &mut Embedded,
    args: &RunArgs,
    loaded: Loaded,
    leaving: &Leaving,
) -> anyhow::Result<(Arc<Sweep>, bool)> {
    run.give_up_after = Duration::from_secs(args.give_up_after_s);
    run.trace(&args.traces)?;
    let file = loaded.file.clone();
    let planned = run.coordinator.plan(store(run, loaded).await?).await;
    let sweep = planned.map_err(|error| not_planned(file.as_deref(), error))?;
    // Though the preflight may refuse it: a process that is killed meanwhile leaves this lock in the directory, and what is run there later is this user's own
    // only where every lock is known.
    trust::remember(&sweep.digest);
    let fewer = if args.leave_out { Fewer::LeaveOut } else { Fewer::Refuse };
    let change = run.change_to(&sweep, fewer).await?;
    if !args.no_preflight {
        // Before the sweep is entered, or takes the place of another: the directory takes the spec once it is corrected.
        preflight::before_sessions(run, &sweep, leaving).await?;
    }
    let is_new = run.held().await?.is_none();
    if let Some(change) = change {
        run.change(change, &sweep).await?;
    }
    Ok((sweep, is_new))
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

/// Prints what came of a run that was `executed`, tells of its end, and turns that into an exit code.
pub(crate) async fn finish(
    run: &Embedded,
    sweep: &Sweep,
    directory: &Path,
    executed: anyhow::Result<SweepState>,
    result: ResultArgs,
    ending: &Ending,
    leaving: &Leaving,
) -> anyhow::Result<ExitCode> {
    let concluded = match executed {
        Ok(state) => conclude(run, sweep, directory, state, result).await.map(|code| (state, code)),
        Err(error) => Err(error),
    };
    let outcome = match &concluded {
        Ok((state, _)) => Outcome::Left(*state),
        Err(error) => Outcome::Failed(error),
    };
    // A store that cannot be read takes nothing from the notice but the numbers.
    let status = if ending.has_receiver() { run.coordinator.status(&sweep.id).await.ok() } else { None };
    ending.tell(&sweep.id, directory, outcome, status.as_ref(), &leaving.stop).await;
    concluded.map(|(_, code)| code)
}

/// Prints the result and turns the sweep's end into an exit code.
async fn conclude(
    run: &Embedded,
    sweep: &Sweep,
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
            let is_stopped = state == SweepState::StoppedByBudget;
            let shortfall = if is_stopped { run.coordinator.shortfall(sweep).await? } else { None };
            shortfall.iter().for_each(|shortfall| output::note(&needs(shortfall)));
            let expected = if is_stopped { super::check::expected_cost(sweep) } else { None };
            expected.iter().for_each(|cost| {
                output::note(&format!("all sessions together were expected to take about {cost}, beside their judges"));
            });
            let failures = || summary.rows.iter().flat_map(|row| &row.failures);
            let has = |cause: Cause| failures().any(|failure| failure.cause == cause.as_str());
            let raise = if is_stopped { " --budget +DOLLARS" } else { "" };
            output::note(&format!(
                "some sessions were not measured; {}continue with: regatta resume {}{raise}",
                first_step(has),
                directory.display()
            ));
        }
    }
    Ok(of_state(state))
}

/// Step to take before a run with failures that no resume mends is resumed; empty where it `has` none.
fn first_step(has: impl Fn(Cause) -> bool) -> &'static str {
    if has(Cause::ModelNotFound) {
        "correct the ids of the models that the spec has (model_not_found), and run it again; if they are right, "
    } else if has(Cause::Auth) {
        "correct the key that api_key_env names (auth), then "
    } else if has(Cause::Quota) {
        "top up the account of the endpoint's key at its provider (quota), then "
    } else if has(Cause::AgentLost) {
        "correct the agent, unless what ended it was an accident (agent_lost), then run the spec again if it has changed, or "
    } else if has(Cause::CacheMiss) {
        "run the spec with --cache read_write to ask what the cache does not hold (cache_miss), or "
    } else if has(Cause::RequestRefused) {
        "what was refused is refused again as it is (request_refused): correct the spec or the agent, and run the spec again, or "
    } else {
        ""
    }
}

/// Reason for which the rest of a budget stays unspent, and how much more is needed at least.
fn needs(shortfall: &Shortfall) -> String {
    let Shortfall { budget, left, next_call } = *shortfall;
    let left = format!("of the budget of {budget}, {left} is left");
    match shortfall.missing() {
        Money::ZERO => format!(
            "{left}, and a session was stopped before a call that may cost more than that, or by its model's own budget"
        ),
        missing => {
            format!(
                "{left}, and the next call may cost {next_call}: at least ${0} more is needed (--budget +{0})",
                exact(missing)
            )
        }
    }
}

/// Dollars with all digits of their nano-dollars: rounded, they could be too few.
fn exact(money: Money) -> String {
    let (dollars, nanos) = (money.0 / 1_000_000_000, money.0 % 1_000_000_000);
    let digits = format!("{dollars}.{nanos:09}");
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resume_is_not_the_first_step_where_it_would_fail_again() {
        let told = |causes: &[Cause]| first_step(|cause| causes.contains(&cause));
        assert_eq!(told(&[Cause::Timeout, Cause::EndpointUnavailable]), "");
        assert!(told(&[Cause::Timeout, Cause::RequestRefused]).contains("is refused again as it is (request_refused)"));
        assert!(
            told(&[Cause::RequestRefused, Cause::Auth]).starts_with("correct the key"),
            "the graver one goes first"
        );
    }

    #[test]
    fn a_budget_that_stopped_a_run_names_what_is_needed_to_the_last_digit() {
        let needs = |left, next_call| {
            needs(&Shortfall { budget: Money(10_000_000), left: Money(left), next_call: Money(next_call) })
        };
        insta::assert_snapshot!(needs(1_000_000, 5_400_001), @"of the budget of $0.01000, $0.001000 is left, and the next call may cost $0.005400: at least $0.004400001 more is needed (--budget +0.004400001)");
        insta::assert_snapshot!(needs(6_000_000, 5_400_000), @"of the budget of $0.01000, $0.006000 is left, and a session was stopped before a call that may cost more than that, or by its model's own budget");
    }
}
