//! `regatta replay`: send a request again that was given up, once, and show what comes of it. Without a session: list such requests.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use regatta_llm::{CallError, ChatCall, Payer};
use regatta_proto::{
    CacheMode, Call, Digest, EndpointKind, EndpointSpec, Event, FailedCall, Lane, ModelRef, Share, SweepLock,
    Transcript, Try,
};
use regatta_worker::NoResponses;
use tokio_util::sync::CancellationToken;

use crate::args::ReplayArgs;
use crate::commands::reprice::lock;
use crate::exit::{BadConfiguration, bad_configuration};
use crate::lone_endpoint::{self, Surroundings};
use crate::output;
use crate::run_directory;
use crate::transcripts::{self, Session};
use crate::trust::{self, Rights, Wish};

/// Exit code of a request that failed again.
const FAILED_AGAIN: u8 = 1;

pub(crate) async fn run(mut args: ReplayArgs) -> anyhow::Result<ExitCode> {
    args.run = run_directory::named(&args.run)?;
    let lock = lock(&args.run).map_err(bad_configuration)?;
    let mut given_up = given_up(&args.run)?;
    let [cell, item] = args.session[..] else {
        list(&lock, &given_up, &args.run);
        return Ok(ExitCode::SUCCESS);
    };
    let Some(failed) = given_up.remove(&Session { cell, item }) else {
        return Err(BadConfiguration(format!(
            "no request of cell {cell}, item {item} was given up; `regatta replay {}` lists those that were",
            args.run.display()
        ))
        .into());
    };
    if args.print {
        output::line(&serde_json::to_string_pretty(&failed.request)?);
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&format!("{} had failed: {}", failed.model, last(&failed.tries)));
    match send(&lock, &failed, &args).await? {
        Ok(call) => {
            output::line(&format!("answered after {:?}:", Duration::from_micros(call.latency_us)));
            output::line(call.reply.text.as_deref().unwrap_or("(no text)"));
            Ok(ExitCode::SUCCESS)
        }
        Err(again) => {
            output::line(&format!("failed again: {}", last(&again.tries)));
            Ok(ExitCode::from(FAILED_AGAIN))
        }
    }
}

/// The calls whose request was kept, by session: the last of each.
fn given_up(run: &Path) -> anyhow::Result<BTreeMap<Session, FailedCall>> {
    let mut found = BTreeMap::new();
    transcripts::read(run, |session, transcript| {
        if let Some(failed) = last_given_up(transcript) {
            found.insert(session, failed);
        }
    })?;
    Ok(found)
}

fn last_given_up(transcript: Transcript) -> Option<FailedCall> {
    match transcript.events.into_iter().next_back() {
        Some(Event::Failed(failed)) if failed.request.is_some() => Some(failed),
        _ => None,
    }
}

fn list(lock: &SweepLock, given_up: &BTreeMap<Session, FailedCall>, run: &Path) {
    if given_up.is_empty() {
        output::note("no request of the run was given up, so there is none to send again");
    }
    let cells = lock.cells();
    for (session, failed) in given_up {
        let place = cells.get(session.cell as usize).map(|cell| format!("{} {} ", cell.benchmark, cell.setting));
        output::line(&format!(
            "regatta replay {} {} {}  # {}{}: {}",
            run.display(),
            session.cell,
            session.item,
            place.unwrap_or_default(),
            failed.model,
            last(&failed.tries)
        ));
    }
}

/// Reason why a call was given up, in one line.
fn last(tries: &[Try]) -> String {
    let Some(last) = tries.last() else { return "for no recorded reason".to_owned() };
    let status = last.status.map(|status| format!(", HTTP {status}")).unwrap_or_default();
    format!("{}{status}: {}", last.class.as_str(), last.detail)
}

/// Sends the request as workers do, but once: outside of the quarantine, the cache and the sweep's budget.
async fn send(lock: &SweepLock, failed: &FailedCall, args: &ReplayArgs) -> anyhow::Result<Result<Call, FailedCall>> {
    let ModelRef { endpoint: name, model } = &failed.model;
    let spec = lock.endpoints.get(name).with_context(|| format!("the run's lock has no endpoint {name}"))?;
    let spec = once(spec, args.base_url.as_deref())?;
    let request = failed.request.as_deref().context("the transcript does not hold the request")?;
    let wish = Wish { trusts: args.trust.trust, policy: args.policy.file.as_deref() };
    let rights = Rights::of(&[Digest::of(&lock.to_bytes()?)], wish)?;
    if !rights.is_own {
        trust::tell_of_foreign(&args.run.display().to_string());
    }
    let surroundings = Surroundings {
        command: "replay",
        base_dir: Path::new("."),
        answers: Arc::new(NoResponses),
        policy: &rights.policy,
    };
    let endpoint = lone_endpoint::open(name, &spec, surroundings)?;
    let price = lock.model(&failed.model).and_then(|model| model.price.as_ref());
    let (sweep, share, interrupt) = (&lock.name, Share::default(), CancellationToken::new());
    let call = ChatCall {
        model,
        role: failed.role,
        repeat: 0,
        attempt: 1,
        request,
        payer: Payer { sweep, share, accounts: &[], price, cache: CacheMode::Off },
        session: None,
        interrupt: &interrupt,
        meter: None,
        holder: None,
    };
    Ok(endpoint.chat(call).await.map_err(|(CallError::Failed(failed) | CallError::Interrupted(failed))| failed))
}

fn once(spec: &EndpointSpec, base_url: Option<&str>) -> anyhow::Result<EndpointSpec> {
    let mut spec = EndpointSpec { lane: Lane::Live, ..spec.clone() };
    spec.retries.attempts = 1;
    spec.base_url = base_url.map(str::to_owned).or(spec.base_url);
    if spec.kind == EndpointKind::Simulated && spec.base_url.is_none() {
        let hint =
            "the run's simulated endpoint is gone: start one with `regatta simulate llm`, and name it with --base-url";
        return Err(BadConfiguration(hint.to_owned()).into());
    }
    Ok(spec)
}
