//! `regatta throttle`.

use std::process::ExitCode;

use regatta_coordinator::ConcurrencyChange;

use crate::args::ThrottleArgs;
use crate::client::Client;
use crate::output;
use crate::run_directory::no_sweep;

pub(crate) async fn run(args: ThrottleArgs) -> anyhow::Result<ExitCode> {
    let ThrottleArgs { sweep, endpoint, calls, client } = args;
    let change = ConcurrencyChange { endpoint, calls };
    let limited = Client::new(&client)?.limit_concurrency(&sweep, &change).await;
    limited.map_err(|error| no_sweep(&sweep, &client, error))?;
    let endpoint = &change.endpoint;
    output::note(&match calls {
        Some(calls) => format!(
            "sessions that begin now make {calls} calls at once at {endpoint}; give back those of the spec with: regatta throttle {sweep} {endpoint}"
        ),
        None => format!("sessions that begin now make as many calls at once at {endpoint} as the spec allows"),
    });
    Ok(ExitCode::SUCCESS)
}
