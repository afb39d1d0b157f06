//! The one binary: `regatta`.

mod args;
mod benchmarks;
mod client;
mod commands;
mod credentials;
mod data;
mod embedded;
mod ended_run;
mod exit;
mod fetched;
mod figures;
#[cfg(test)]
mod hostile;
mod listener;
mod logging;
mod lone_endpoint;
mod named_hosts;
mod notice;
mod output;
mod paired_runs;
mod plain_http;
mod plain_table;
mod policy;
mod preflight;
mod price_tables;
mod process;
mod progress;
mod results;
#[cfg(feature = "cluster")]
mod roles;
mod run_directory;
mod signals;
mod simulated;
mod spec;
mod system_limits;
mod telemetry;
mod tls;
mod traces;
mod transcripts;
mod trust;
mod version;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

/// Sessions wait for the network, so threads beyond the cores only cost.
fn main() -> ExitCode {
    // In containers of agents, where this program is only the way to the bridge.
    if let Some(code) = regatta_processes::be_relay(std::env::args_os()) {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    logging::start(&cli.log);
    output::fit_to_terminal();
    regatta_processes::raise_open_files_limit();
    // Servers that `certify` starts run as other users, and read what it writes for them.
    #[cfg(feature = "certify")]
    let is_private = !matches!(cli.command, Command::Certify(_));
    #[cfg(not(feature = "certify"))]
    let is_private = true;
    if is_private {
        regatta_files::keep_private();
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return exit::failed(&anyhow::Error::from(error).context("failed to start the runtime")),
    };
    let result = runtime.block_on(run(cli.command));
    // Tasks that only wait must not hold up the exit.
    runtime.shutdown_background();
    match result {
        Ok(code) => code,
        Err(error) => exit::failed(&error),
    }
}

async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Init(args) => commands::init::run(args),
        Command::List(args) => commands::list::run(args),
        Command::Schema => Ok(commands::schema::run()),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Data(args) => commands::data::run(args).await,
        Command::Run(args) => commands::run::run(args).await,
        Command::Check(args) => commands::check::run(args).await,
        Command::Score(args) => commands::score::run(args).await,
        Command::Import(args) => commands::import::run(args),
        Command::Simulate(args) => commands::simulate::run(args).await,
        Command::Submit(args) => commands::submit::run(args).await,
        Command::Status(args) => commands::status::run(args).await,
        Command::Doctor(args) => commands::doctor::run(args).await,
        Command::Watch(args) => commands::watch::run(args).await,
        Command::Cancel(args) => commands::cancel::run(args).await,
        Command::Pause(args) => commands::pause::run(args).await,
        Command::Resume(args) => commands::resume::run(args).await,
        Command::Throttle(args) => commands::throttle::run(args).await,
        Command::Export(args) => commands::export::run(args).await,
        Command::Prices(args) => commands::prices::run(args).await,
        Command::Plan(args) => commands::plan::run(args).await,
        Command::Repair(args) => commands::repair::run(args).await,
        Command::Reprice(args) => commands::reprice::run(args).await,
        Command::Rescore(args) => commands::rescore::run(args).await,
        Command::Show(args) => commands::show::run(args).await,
        Command::View(args) => commands::view::run(args).await,
        Command::Align(args) => commands::align::run(args),
        Command::Compare(args) => commands::compare::run(args).await,
        Command::Gate(args) => commands::gate::run(args).await,
        Command::Subset(args) => commands::subset::run(args).await,
        Command::Schedule(args) => commands::schedule::run(args).await,
        Command::Drift(args) => commands::drift::run(args).await,
        Command::Gc(args) => commands::gc::run(args).await,
        Command::Token(args) => commands::token::run(args).await,
        Command::Audit(args) => commands::audit::run(args).await,
        Command::Replay(args) => commands::replay::run(args).await,
        #[cfg(feature = "cluster")]
        Command::Coordinator(args) => roles::coordinator::run(args).await,
        #[cfg(feature = "cluster")]
        Command::Worker(args) => roles::worker::run(args).await,
        #[cfg(feature = "cluster")]
        Command::Scorer(args) => roles::scorer::run(args).await,
        #[cfg(feature = "cluster")]
        Command::Migrate(args) => commands::migrate::run(args).await,
        #[cfg(not(feature = "cluster"))]
        Command::Coordinator(_) | Command::Worker(_) | Command::Scorer(_) | Command::Migrate(_) => {
            Err(exit::not_built("cluster"))
        }
        #[cfg(feature = "certify")]
        Command::Certify(args) => commands::certify::run(args).await,
        Command::Health(args) => commands::health::run(args).await,
    }
}
