//! `regatta resume`: run again what was not measured, in a coordinator's sweep or in an embedded run's directory.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use regatta_coordinator::Resumption;
use regatta_proto::SweepState;

use crate::args::{RescoreArgs, ResumeArgs, RunArgs, SpecArgs};
use crate::client::Client;
use crate::embedded::Embedded;
use crate::exit::BadConfiguration;
use crate::notice::Ending;
use crate::output;
use crate::preflight;
use crate::run_directory;
use crate::signals::Leaving;
use crate::trust::{self, Rights, Wish};

pub(crate) async fn run(args: ResumeArgs) -> anyhow::Result<ExitCode> {
    let wanted = Path::new(&args.sweep);
    let found = run_directory::find(wanted);
    if let Some(directory) = found.as_ref().filter(|at| run_directory::has_ledger(at)) {
        return match args.spec.clone() {
            Some(spec) => super::run::run(with_spec(spec, directory.clone(), args)).await,
            None => embedded(directory, &args).await,
        };
    }
    if args.spec.is_some() {
        let problem = format!("{} is no directory of a run, and other sweeps keep their spec", args.sweep);
        return Err(
            BadConfiguration(format!("{problem} (--spec); submit the changed one with `regatta submit`")).into()
        );
    }
    // A sweep of a coordinator may have the name of a directory here, but only whoever names the coordinator means that one.
    if let Some(directory) = found.filter(|_| args.client.coordinator.is_none()) {
        return Err(BadConfiguration(run_directory::holds_no_run(&directory)).into());
    }
    let sweep = run_directory::sweep_named(&args.sweep, &args.client)?;
    let resumed = Client::new(&args.client)?.resume(&sweep, Resumption { budget: args.budget }).await;
    resumed.map_err(|error| run_directory::nor_a_sweep(&args.sweep, &args.client, error))?;
    output::note(&format!("resumed; follow it with: regatta watch {sweep}"));
    if args.notice.notify.is_some() {
        output::note("the end of a coordinator's sweep is told to nobody (--notify): `regatta watch` ends with it");
    }
    Ok(ExitCode::SUCCESS)
}

/// A run of `spec` in `directory`, which goes on with what is there.
fn with_spec(spec: PathBuf, directory: PathBuf, args: ResumeArgs) -> RunArgs {
    let ResumeArgs {
        sweep: _,
        budget: _,
        spec: _,
        limit,
        leave_out,
        no_preflight,
        cache_dir,
        policy,
        trust: _,
        client: _,
        give_up_after_s,
        result,
        notice,
        traces,
    } = args;
    let spec = SpecArgs {
        spec,
        data: Vec::new(),
        limit,
        sessions: None,
        trials: None,
        seed: None,
        budget: None,
        prices: None,
        cache: None,
    };
    RunArgs {
        spec,
        output: Some(directory),
        dry_run: false,
        pilot: None,
        leave_out,
        no_preflight,
        cache_dir,
        give_up_after_s,
        policy,
        result,
        notice,
        metrics: None,
        traces,
    }
}

async fn embedded(directory: &Path, args: &ResumeArgs) -> anyhow::Result<ExitCode> {
    let ending = Ending::of(&args.notice)?;
    let leaving = Leaving::on_signals()?;
    let wish = Wish { trusts: args.trust.trust, policy: args.policy.file.as_deref() };
    let cache = args.cache_dir.as_deref();
    let mut run = Embedded::open_with(directory, cache, None, |locks| Rights::of(locks, wish)).await?;
    if !run.rights.is_own {
        trust::tell_of_foreign(&directory.display().to_string());
    }
    run.give_up_after = Duration::from_secs(args.give_up_after_s);
    run.trace(&args.traces)?;
    let Some(sweep) = run.held().await? else {
        return Err(BadConfiguration(format!(
            "{} holds no sweep yet; start one with regatta run",
            directory.display()
        ))
        .into());
    };
    if !run.rights.is_own {
        trust::check_foreign(&sweep.lock)?;
    }
    crate::spec::check_locked_endpoints(&sweep.lock, &run.rights.policy)?;
    if !args.no_preflight {
        preflight::before_sessions(&run, &sweep, &leaving).await?;
    }
    // What a run that is complete still needs is for its audits.
    let is_complete = run.state(&sweep).await? == SweepState::Complete;
    let raise = args.budget.filter(|_| is_complete);
    let executed = run.execute(&sweep, Resumption { budget: args.budget }, &leaving).await;
    let code = super::run::finish(&run, &sweep, directory, executed, args.result, &ending, &leaving).await?;
    let rounds = || RescoreArgs::of_run(directory, None, args.policy.file.clone(), args.trust.trust);
    super::run::audit_further(run, &sweep, rounds, code, raise, &leaving).await
}
