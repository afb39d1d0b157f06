//! The end of a run: the bell of a terminal that somebody has turned away from, and a notice to the receiver that the command line names.

use std::path::Path;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use regatta_coordinator::SweepStatus;
use regatta_proto::{Clock, Digest, SweepId, SweepState, SystemClock, causes};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::receiver::Receiver;
use crate::args::NoticeArgs;
use crate::exit;
use crate::output;

/// Shortest run whose end rings: who waited for a shorter one is still looking.
const RINGS_AFTER: SignedDuration = SignedDuration::from_secs(60);

/// A run that goes on, and what its end is told by.
pub(crate) struct Ending {
    receiver: Option<Receiver>,
    clock: Arc<dyn Clock>,
    began_at: Timestamp,
    /// Somebody may look at the terminal.
    is_watched: bool,
}

/// End of a run.
#[derive(Clone, Copy)]
pub(crate) enum Outcome<'a> {
    /// The state that it was left in.
    Left(SweepState),
    Failed(&'a anyhow::Error),
}

/// The body of a notice.
#[derive(Serialize)]
struct Body<'a> {
    r#type: &'static str,
    sweep: &'a SweepId,
    state: &'static str,
    exit_code: u8,
    directory: String,
    began_at: Timestamp,
    ended_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_measured: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spent_nanodollars: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl Ending {
    /// A run that begins now.
    ///
    /// # Errors
    /// When `args` name a receiver that is none.
    pub(crate) fn of(args: &NoticeArgs) -> anyhow::Result<Self> {
        Self::new(args, Arc::new(SystemClock), output::is_watched())
    }

    fn new(args: &NoticeArgs, clock: Arc<dyn Clock>, is_watched: bool) -> anyhow::Result<Self> {
        let receiver = args.notify.as_deref().map(Receiver::new).transpose()?;
        Ok(Self { receiver, began_at: clock.now(), clock, is_watched })
    }

    /// `true` if somebody is told more than that the run has ended.
    pub(crate) const fn has_receiver(&self) -> bool {
        self.receiver.is_some()
    }

    /// Tells that the run of `sweep` in `directory` has ended. A notice that is not taken is said, and changes nothing. Nobody is waited for
    /// once `stop` is cancelled.
    pub(crate) async fn tell(
        &self,
        sweep: &SweepId,
        directory: &Path,
        outcome: Outcome<'_>,
        status: Option<&SweepStatus>,
        stop: &CancellationToken,
    ) {
        let ended_at = self.clock.now();
        if self.rings(ended_at) {
            output::bell();
        }
        let Some(receiver) = &self.receiver else { return };
        let body = self.body(sweep, directory, outcome, status, ended_at);
        let told = tokio::select! {
            biased;
            () = stop.cancelled() => Err("the run was told to stop at once".to_owned()),
            told = given(receiver, &body) => told,
        };
        if let Err(problem) = told {
            output::note(&format!("warning: the notice of the run's end was not taken (--notify): {problem}"));
        }
    }

    fn rings(&self, ended_at: Timestamp) -> bool {
        self.is_watched && ended_at.duration_since(self.began_at) >= RINGS_AFTER
    }

    fn body<'a>(
        &self,
        sweep: &'a SweepId,
        directory: &Path,
        outcome: Outcome<'_>,
        status: Option<&SweepStatus>,
        ended_at: Timestamp,
    ) -> Body<'a> {
        // Absolute, because a receiver elsewhere does not know from which folder it is meant.
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
        Body {
            r#type: "run.ended",
            sweep,
            state: outcome.state(),
            exit_code: outcome.exit_code(),
            directory: directory.display().to_string(),
            began_at: self.began_at,
            ended_at,
            sessions: status.map(|status| status.total(|cell| cell.items)),
            not_measured: status.map(|status| status.total(|cell| cell.not_measured)),
            spent_nanodollars: status.map(|status| status.cost.known.known.0),
            problem: match outcome {
                Outcome::Left(_) => None,
                Outcome::Failed(error) => Some(causes(error.as_ref())),
            },
        }
    }
}

/// Gives `body` to `receiver`, with an id by which it is known again.
async fn given(receiver: &Receiver, body: &Body<'_>) -> Result<(), String> {
    let body = serde_json::to_string(body).map_err(|error| error.to_string())?;
    receiver.tell(&Digest::of(body.as_bytes()).to_string(), &body).await
}

impl Outcome<'_> {
    const fn state(self) -> &'static str {
        match self {
            Self::Left(SweepState::Running | SweepState::Tabulating) => "interrupted",
            Self::Left(
                state @ (SweepState::Complete
                | SweepState::StoppedByBudget
                | SweepState::Cancelled
                | SweepState::Incomplete),
            ) => state.as_str(),
            Self::Failed(_) => "failed",
        }
    }

    fn exit_code(self) -> u8 {
        match self {
            Self::Left(state) => state.exit_code(),
            Self::Failed(error) => exit::code(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::ManualClock;
    use serde_json::{Value, json};

    use super::*;
    use crate::exit::CannotRecord;

    fn clock() -> Arc<ManualClock> {
        Arc::new(ManualClock::at("2026-03-01T10:00:00Z".parse().unwrap()))
    }

    fn ending(notify: Option<&str>, clock: Arc<ManualClock>, is_watched: bool) -> Ending {
        Ending::new(&NoticeArgs { notify: notify.map(str::to_owned) }, clock, is_watched).unwrap()
    }

    fn sweep() -> SweepId {
        SweepId::new("nightly").unwrap()
    }

    /// The notice of an end, which a command has written to `file`.
    async fn told(ending: &Ending, file: &Path, outcome: Outcome<'_>, status: Option<&SweepStatus>) -> Value {
        ending.tell(&sweep(), Path::new("/runs/nightly"), outcome, status, &CancellationToken::new()).await;
        serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
    }

    #[test]
    fn a_bell_rings_on_a_terminal_after_a_run_of_a_minute_or_more() {
        for (is_watched, seconds, rings) in [(true, 60, true), (true, 59, false), (false, 3600, false)] {
            let clock = clock();
            let ending = ending(None, clock.clone(), is_watched);
            clock.advance(SignedDuration::from_secs(seconds));
            assert_eq!(ending.rings(clock.now()), rings, "{is_watched} {seconds}");
        }
    }

    #[tokio::test]
    async fn a_notice_says_how_the_run_ended_and_what_came_of_it() {
        let (folder, clock) = (tempfile::tempdir().unwrap(), clock());
        let file = folder.path().join("told");
        let ending = ending(Some(&format!("/bin/cat > {}", file.display())), clock.clone(), false);
        clock.advance(SignedDuration::from_secs(90));
        let cost = json!({ "known": { "known": 837_100_000, "unknown_calls": 0 }, "at_most": 837_100_000 });
        let status: SweepStatus = serde_json::from_value(json!({
            "id": "s", "state": "incomplete", "created_at": "2026-03-01T10:00:00Z", "ended_at": null, "cells": [],
            "cost": cost,
        }))
        .unwrap();
        assert_eq!(
            told(&ending, &file, Outcome::Left(SweepState::Incomplete), Some(&status)).await,
            json!({
                "type": "run.ended", "sweep": "nightly", "state": "incomplete", "exit_code": 4, "directory": "/runs/nightly",
                "began_at": "2026-03-01T10:00:00Z", "ended_at": "2026-03-01T10:01:30Z", "sessions": 0, "not_measured": 0,
                "spent_nanodollars": 837_100_000,
            })
        );
        let interrupted = told(&ending, &file, Outcome::Left(SweepState::Running), None).await;
        assert_eq!((&interrupted["state"], &interrupted["exit_code"]), (&json!("interrupted"), &json!(4)));
        let error = anyhow::Error::from(CannotRecord("the disk is full".to_owned()));
        let failed = told(&ending, &file, Outcome::Failed(&error), None).await;
        assert_eq!((&failed["state"], &failed["problem"]), (&json!("failed"), &json!("the disk is full")));
        assert_eq!((&failed["exit_code"], failed.get("sessions")), (&json!(4), None));
    }

    #[tokio::test]
    async fn nobody_is_waited_for_once_the_process_is_told_to_stop_at_once() {
        let ending = ending(Some("/bin/sleep 600"), clock(), false);
        let stop = CancellationToken::new();
        stop.cancel();
        ending.tell(&sweep(), Path::new("/runs/nightly"), Outcome::Left(SweepState::Running), None, &stop).await;
    }
}
