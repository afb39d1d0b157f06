//! `regatta watch`: follow a sweep until it ends.

use std::process::ExitCode;
use std::time::Duration;

use regatta_proto::SweepId;
use regatta_scorer::{Summary, render_leaderboard};

use crate::args::SweepArgs;
use crate::bars::Bars;
use crate::client::Client;
use crate::exit::of_state;
use crate::output;
use crate::signals::Leaving;

/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(crate) async fn run(args: SweepArgs) -> anyhow::Result<ExitCode> {
    follow(&Client::new(&args.client)?, &args.sweep).await
}

/// Shows how `sweep` goes; its end becomes the exit code. Leaving early does not stop the sweep.
pub(crate) async fn follow(client: &Client, sweep: &SweepId) -> anyhow::Result<ExitCode> {
    let leaving = Leaving::on_signals()?;
    let mut bars = Bars::start();
    loop {
        let status = client.status(sweep).await?;
        bars.show(&status);
        if status.state.is_end() {
            bars.finish(&status);
            if let Some(summary) = client.file(sweep, "summary.json").await? {
                let summary: Summary = Summary::from_json(&summary)?;
                output::line(&render_leaderboard(&summary));
            }
            output::note(&format!("{} · files: regatta export {sweep} --output DIR", status.state));
            return Ok(of_state(status.state));
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = leaving.drain.cancelled() => {
                output::note(&format!("the sweep goes on; look again with: regatta watch {sweep}"));
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
}
