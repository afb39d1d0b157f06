//! Replays the history of one seed, reduced to the simplest plan that still fails, with every line that the processes log and the
//! simulated time of it:
//!
//! ```text
//! cargo run -p regatta-simulation --example replay -- 173 talks
//! ```
#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::fmt;
use std::process::ExitCode;
use std::sync::OnceLock;

use regatta_simulation::{Plan, Workload, shrunk, simulate};
use tokio::time::Instant;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

/// Tells the time since the first line, by the simulated clock.
struct SinceStart(OnceLock<Instant>);

impl FormatTime for SinceStart {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{:>8} ms", self.0.get_or_init(Instant::now).elapsed().as_millis())
    }
}

fn main() -> ExitCode {
    let (seed, workload) = (std::env::args().nth(1), std::env::args().nth(2));
    let workload = match workload.as_deref() {
        None | Some("calls") => Some(Workload::Calls),
        Some("rounds") => Some(Workload::Rounds),
        Some("talks") => Some(Workload::Talks),
        Some("batches") => Some(Workload::Batches),
        Some(_) => None,
    };
    let (Some(seed), Some(workload)) = (seed.and_then(|seed| seed.parse().ok()), workload) else {
        println!("usage: replay SEED [calls|rounds|talks|batches], the number of a history, and its sweep");
        return ExitCode::from(2);
    };
    let plan = shrunk(&Plan::of_seed(seed, workload));
    println!("{plan}");
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("debug"));
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_timer(SinceStart(OnceLock::new()))
        .with_env_filter(filter)
        .with_writer(std::io::stdout)
        .init();
    let history = simulate(&plan);
    println!("{} calls", history.calls);
    for finding in &history.findings {
        println!("{finding}");
    }
    if history.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
