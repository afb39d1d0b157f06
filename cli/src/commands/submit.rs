//! `regatta submit`: hand a sweep to a coordinator.

use std::process::ExitCode;

use regatta_coordinator::Submission;
use regatta_proto::{Digest, counted};

use crate::args::SubmitArgs;
use crate::client::Client;
use crate::output;
use crate::spec::{Loaded, load};

pub(crate) async fn run(args: SubmitArgs) -> anyhow::Result<ExitCode> {
    let loaded = load(&args.spec)?;
    if args.spec.prices.is_some() {
        output::note("the coordinator's own price table counts; --prices is left aside");
    }
    let client = Client::new(&args.client)?;
    let submission = uploaded(&client, loaded).await?;
    let submitted = client.submit(&submission).await?;
    if args.json {
        output::line(&serde_json::to_string(&submitted)?);
    } else {
        output::line(submitted.id.as_str());
        let news = if submitted.created { "submitted" } else { "was there already" };
        output::note(&format!("{news} · {}", counted(submitted.sessions, "session", "sessions")));
    }
    if args.watch { super::watch::follow(&client, &submitted.id, false).await } else { Ok(ExitCode::SUCCESS) }
}

/// A submission of `loaded`, whose files the coordinator has.
pub(crate) async fn uploaded(client: &Client, loaded: Loaded) -> anyhow::Result<Submission> {
    let mut submission = Submission { spec: loaded.spec, data: Default::default(), recorded: Default::default() };
    for (name, files) in &loaded.data {
        for (_, content) in files.iter() {
            client.upload(&Digest::of(content), content.clone()).await?;
        }
        submission.data.insert(name.clone(), files.snapshot());
    }
    for (name, bytes) in loaded.recorded {
        let digest = Digest::of(&bytes);
        client.upload(&digest, bytes).await?;
        submission.recorded.insert(name, digest);
    }
    Ok(submission)
}
