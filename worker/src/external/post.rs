//! An external agent that is a service: each session is posted to it, and its answer is what it wrote.

use std::time::Duration;

use regatta_proto::{Ended, ExternalAgent, HowEnded, TlsOptions, causes, with_handshake_advice};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Response};

use super::briefing::Briefing;
use super::pipes::Head;
use super::stop::Stop;

/// Longest time for a connection to be established.
pub(super) const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Statuses by which gateways say that they did not reach what is behind them.
const NOT_REACHED: [u16; 3] = [502, 503, 504];
/// Further statuses that say so of a session in which nothing has happened, as all from 500 on do.
const BUSY: [u16; 2] = [408, 429];
/// In place of a signal: the connection broke before the answer was whole.
const BROKEN: i32 = 0;

/// Posts the session to the address of `agent` by its client, and reads the answer to its end or until `stop` says so.
pub(super) async fn run(
    agent: &ExternalAgent,
    (url, client): (&str, Result<Client, String>),
    briefing: &Briefing,
    stop: &Stop,
) -> Ended {
    let mut output = Head::new(agent.output_bytes_max as usize);
    let (how, errors) = tokio::select! {
        biased;
        ended = exchange(url, client, briefing, &mut output) => ended,
        () = stop.told() => (HowEnded::Interrupted, String::new()),
    };
    let (output, is_cut) = output.text();
    Ended { how: stop.why().unwrap_or(how), output, is_cut, errors: errors.into() }
}

/// True if `status` says that an agent which has done nothing never began: its server is down, busy, or was not reached.
pub(super) fn is_unable(status: i32) -> bool {
    status >= 500 || BUSY.map(i32::from).contains(&status)
}

async fn exchange(
    url: &str,
    client: Result<Client, String>,
    briefing: &Briefing,
    output: &mut Head,
) -> (HowEnded, String) {
    let client = match client {
        Ok(client) => client,
        Err(problem) => return (HowEnded::NotStarted, problem),
    };
    let request = client.post(url).header(CONTENT_TYPE, "application/json").body(briefing.line.clone());
    let response = match request.send().await {
        Ok(response) => response,
        Err(error) if error.is_connect() || error.is_builder() => return (HowEnded::NotStarted, explained(&error)),
        Err(error) => return (HowEnded::Killed(BROKEN), explained(&error)),
    };
    let status = response.status().as_u16();
    match read(response, output).await {
        Ok(true) if NOT_REACHED.contains(&status) => (HowEnded::NotStarted, format!("{url} answered {status}")),
        Ok(true) => (HowEnded::Exited(status.into()), String::new()),
        Ok(false) => (HowEnded::TooMuchOutput, String::new()),
        Err(error) => (HowEnded::Killed(BROKEN), explained(&error)),
    }
}

/// `false` when there is too much of it.
async fn read(mut response: Response, output: &mut Head) -> Result<bool, reqwest::Error> {
    while let Some(bytes) = response.chunk().await? {
        if !output.take(&bytes) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The error with its causes; says what to do where a TLS handshake failed.
fn explained(error: &reqwest::Error) -> String {
    with_handshake_advice(causes(error), TlsOptions::OF_SYSTEM)
}
