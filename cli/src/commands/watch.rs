//! `regatta watch`: follow a sweep until it ends.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use regatta_coordinator::SweepStatus;
use regatta_proto::{SweepId, SweepState};
use regatta_report::Summary;
use tokio::time::Instant;

use crate::args::WatchArgs;
use crate::client::Client;
use crate::exit::{BadConfiguration, of_state};
use crate::output;
use crate::progress::Progress;
use crate::run_directory::no_sweep;
use crate::signals::Leaving;

/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Longest pause between two looks at a coordinator that does not answer.
const LOOK_EVERY_MAX: Duration = Duration::from_secs(15);
/// Longest time that the report of a cancelled sweep is waited for: it is not written while no scorer can record what was reported before.
const REPORT_WITHIN: Duration = Duration::from_secs(300);
/// A coordinator that does not answer within this time is away.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) async fn run(args: WatchArgs) -> anyhow::Result<ExitCode> {
    let followed = follow(&Client::new(&args.client)?, &args.sweep, args.tables).await;
    followed.map_err(|error| no_sweep(&args.sweep, &args.client, error))
}

/// Shows how `sweep` goes; its end becomes the exit code. Leaving early does not stop the sweep.
pub(crate) async fn follow(client: &Client, sweep: &SweepId, tables: bool) -> anyhow::Result<ExitCode> {
    let leaving = Leaving::on_signals()?;
    let following = to_the_end(client, sweep, tables, LOOK_EVERY);
    match leaving.drain.run_until_cancelled(following).await {
        Some(state) => Ok(of_state(state?)),
        None => {
            output::note(&format!("the sweep goes on; look again with: regatta watch {sweep}"));
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Waits for the sweep's end and returns its state. Coordinators come and go while a sweep runs, so that once one has answered, silence is only a reason to ask again.
async fn to_the_end(
    client: &Client,
    sweep: &SweepId,
    tables: bool,
    look_every: Duration,
) -> anyhow::Result<SweepState> {
    let (mut pause, mut has_answered, mut progress) = (look_every, false, Progress::start());
    let mut ended = None;
    loop {
        match look(client, sweep, tables, &mut progress).await {
            Ok((status, Some(decision))) => {
                progress.finish(&status);
                output::line(&decision);
                let report = client.address_of(sweep, "report.html").map(|address| format!(" · report: {address}"));
                let report = report.unwrap_or_default();
                output::note(&format!("{}{report} · files: regatta export {sweep} --output DIR", status.state));
                return Ok(status.state);
            }
            Ok((status, None)) if status.state.is_end() => {
                if status.has_report == Some(false) {
                    if ended.get_or_insert_with(Instant::now).elapsed() < REPORT_WITHIN {
                        tokio::time::sleep(look_every).await;
                        continue;
                    }
                    progress.finish(&status);
                    output::note(&format!(
                        "{} · its report is not written yet; is a scorer running? regatta doctor",
                        status.state
                    ));
                    return Ok(status.state);
                }
                progress.finish(&status);
                output::note(&format!("{} · it has left no report", status.state));
                return Ok(status.state);
            }
            Ok(_) => (pause, has_answered) = (look_every, true),
            Err(error) if !has_answered || error.downcast_ref::<BadConfiguration>().is_some() => return Err(error),
            Err(error) => {
                if pause == look_every {
                    output::note(&format!("{error:#}; the sweep goes on, asking again"));
                }
                pause = (pause * 2).min(LOOK_EVERY_MAX);
            }
        }
        tokio::time::sleep(pause).await;
    }
}

/// Shows the sweep once; how it stands, and what came of it at its end.
async fn look(
    client: &Client,
    sweep: &SweepId,
    tables: bool,
    progress: &mut Progress,
) -> anyhow::Result<(SweepStatus, Option<String>)> {
    let silence = || format!("the coordinator has not answered for {} s", ANSWER_TIMEOUT.as_secs());
    let status = tokio::time::timeout(ANSWER_TIMEOUT, client.status(sweep)).await.with_context(silence)??;
    let so_far = match progress.has_scores() {
        true => tokio::time::timeout(ANSWER_TIMEOUT, client.so_far(sweep)).await.with_context(silence)??,
        false => Vec::new(),
    };
    progress.show(&status, so_far);
    // What is there before is of an earlier end.
    if !status.state.is_end() || status.has_report == Some(false) {
        return Ok((status, None));
    }
    let summary = tokio::time::timeout(ANSWER_TIMEOUT, client.file(sweep, "summary.json")).await;
    let summary = summary.with_context(silence)??;
    let decision =
        |summary: bytes::Bytes| Ok::<_, anyhow::Error>(super::decision(&Summary::from_json(&summary)?, tables));
    Ok((status, summary.map(decision).transpose()?))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::http::StatusCode;
    use axum::routing::get;

    use super::*;
    use crate::args::ClientArgs;

    const RUNNING: (StatusCode, &str) = (
        StatusCode::OK,
        r#"{"id":"s","state":"running","created_at":"2026-01-01T00:00:00Z","ended_at":null,"cells":[]}"#,
    );
    const ENDED: (StatusCode, &str) = (
        StatusCode::OK,
        r#"{"id":"s","state":"incomplete","created_at":"2026-01-01T00:00:00Z","ended_at":null,"cells":[]}"#,
    );
    const UNWRITTEN: (StatusCode, &str) = (
        StatusCode::OK,
        r#"{"id":"s","state":"cancelled","created_at":"2026-01-01T00:00:00Z","ended_at":null,"has_report":false,"cells":[]}"#,
    );
    const CANCELLED: (StatusCode, &str) = (
        StatusCode::OK,
        r#"{"id":"s","state":"cancelled","created_at":"2026-01-01T00:00:00Z","ended_at":null,"has_report":true,"cells":[]}"#,
    );
    const AWAY: (StatusCode, &str) = (StatusCode::SERVICE_UNAVAILABLE, "not ready: waiting for PostgreSQL");
    const UNKNOWN: (StatusCode, &str) = (StatusCode::NOT_FOUND, r#"{"error":"there is no sweep s"}"#);

    /// Follows a sweep whose coordinator gives these answers one after another.
    async fn followed(answers: &'static [(StatusCode, &'static str)]) -> anyhow::Result<SweepState> {
        let asked = Arc::new(AtomicUsize::new(0));
        let status = move || {
            let answer = answers[asked.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1)];
            async move { answer }
        };
        let routes = axum::Router::new().route("/v1/sweeps/s", get(status));
        let listener = crate::listener::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let coordinator = format!("http://{}", listener.local_addr().unwrap());
        let server = crate::listener::serve(listener, routes, tokio_util::sync::CancellationToken::new());
        let client = Client::new(&ClientArgs::at(coordinator)).unwrap();
        let end = to_the_end(&client, &"s".parse().unwrap(), false, Duration::from_millis(1)).await;
        server.abort();
        end
    }

    #[tokio::test]
    async fn a_coordinator_that_is_away_for_a_while_is_asked_again() {
        assert_eq!(followed(&[RUNNING, AWAY, AWAY, RUNNING, AWAY, ENDED]).await.unwrap(), SweepState::Incomplete);
    }

    #[tokio::test]
    async fn the_report_of_a_cancelled_sweep_is_waited_for() {
        assert_eq!(followed(&[RUNNING, UNWRITTEN, UNWRITTEN, CANCELLED]).await.unwrap(), SweepState::Cancelled);
    }

    #[tokio::test]
    async fn a_coordinator_that_never_answered_is_an_error() {
        let error = followed(&[AWAY]).await.unwrap_err().to_string();
        assert!(error.contains("waiting for PostgreSQL"), "{error}");
    }

    #[tokio::test]
    async fn a_sweep_that_is_gone_is_an_error() {
        assert!(followed(&[RUNNING, UNKNOWN]).await.unwrap_err().downcast_ref::<BadConfiguration>().is_some());
    }
}
