//! `regatta resume`: run again what was not measured, in a coordinator's sweep or in an embedded run's directory.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use regatta_coordinator::Resumption;
use regatta_proto::SweepId;

use crate::args::ResumeArgs;
use crate::client::Client;
use crate::embedded::Embedded;
use crate::exit::BadConfiguration;
use crate::output;
use crate::run_directory;
use crate::signals::Leaving;
use crate::trust::{self, Rights, Wish};

pub(crate) async fn run(args: ResumeArgs) -> anyhow::Result<ExitCode> {
    let wanted = Path::new(&args.sweep);
    if let Some(directory) = run_directory::find(wanted).filter(|at| at.join("store/ledger.sqlite").is_file()) {
        return embedded(&directory, &args).await;
    }
    let sweep: SweepId = args.sweep.parse().map_err(|_| {
        BadConfiguration(format!("{:?} is no id of a sweep, and {}", args.sweep, run_directory::absence(wanted)))
    })?;
    let resumed = Client::new(&args.client)?.resume(&sweep, Resumption { budget: args.budget }).await;
    // Whoever misspelt a run did not mean a coordinator at all.
    resumed.with_context(|| format!("{}; nor could a coordinator resume it", run_directory::absence(wanted)))?;
    output::note(&format!("resumed; follow it with: regatta watch {sweep}"));
    Ok(ExitCode::SUCCESS)
}

async fn embedded(directory: &Path, args: &ResumeArgs) -> anyhow::Result<ExitCode> {
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
    let state = run.execute(&sweep, Resumption { budget: args.budget }, &leaving).await?;
    super::run::conclude(&run, &sweep, directory, state, args.result).await
}
