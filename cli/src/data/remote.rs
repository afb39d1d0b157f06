//! Data files that a benchmark of one's own names by their addresses: fetched once, held to their digests, kept in the benchmark's folder.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use regatta_benchmarks::RemoteFile;
use regatta_llm::EgressRules;
use regatta_proto::{Digest, TlsOptions, causes, with_handshake_advice};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Url};

use super::{FILE_BYTES_MAX, read_file};
use crate::named_hosts::NamedHosts;
use crate::{output, tls};

/// For how long a connection is waited for.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// For how long the next bytes are waited for.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// For how long a file may take altogether.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(3600);
/// Redirections that are followed: many hosts have their files elsewhere.
const REDIRECTIONS_FOLLOWED: usize = 5;

/// The content of `file`, which lies in `directory` once it was fetched.
pub(super) fn content(directory: &Path, file: &RemoteFile) -> anyhow::Result<Vec<u8>> {
    let at = directory.join(&file.path);
    if at.is_file() {
        let content = read_file(&at)?;
        check(file, &content).with_context(|| format!("{} is damaged; remove it to fetch it again", at.display()))?;
        return Ok(content);
    }
    let url: Url = file.url.parse().ok().with_context(|| format!("the address of {} is none", file.path))?;
    output::note(&format!("fetching {} from {}", file.path, host(&url)));
    let content = transferred(EgressRules::default(), &url, file)?;
    keep(directory, &at, &content)
        .with_context(|| format!("failed to keep {}; make the folder writable, or put the file there", at.display()))?;
    Ok(content)
}

/// Writes `content` to `at`, below `directory`. A folder that came from elsewhere may hold links: they are followed where a file is read, and
/// nothing is written through one that leads out of it.
fn keep(directory: &Path, at: &Path, content: &[u8]) -> io::Result<()> {
    let folder = at.parent().unwrap_or(directory);
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(directory);
    if !there.canonicalize()?.starts_with(directory.canonicalize()?) {
        return Err(io::Error::other(format!(
            "a link on the way to {} leads out of the benchmark's folder",
            folder.display()
        )));
    }
    std::fs::create_dir_all(folder)?;
    regatta_files::write(at, content)
}

/// Holds `content` to the digest that the benchmark names.
fn check(file: &RemoteFile, content: &[u8]) -> anyhow::Result<()> {
    let found = Digest::of(content);
    if found != file.sha256 {
        bail!("{} has the SHA-256 {found}, and benchmark.yaml says {}", file.path, file.sha256);
    }
    Ok(())
}

/// Fetches `file`. Data is read by functions that do not wait, within a runtime or outside of one, so the transfer has a thread and a
/// runtime of its own.
fn transferred(rules: EgressRules, url: &Url, file: &RemoteFile) -> anyhow::Result<Vec<u8>> {
    let transfer = || -> anyhow::Result<Vec<u8>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.context("failed to start a transfer")?.block_on(fetch(rules, url, file))
    };
    std::thread::scope(|scope| scope.spawn(transfer).join())
        .map_err(|_| anyhow!("the transfer of {} broke off", file.path))?
}

async fn fetch(rules: EgressRules, url: &Url, file: &RemoteFile) -> anyhow::Result<Vec<u8>> {
    let (path, host) = (&file.path, host(url));
    let refused = |reason: String| anyhow!("failed to fetch {path} from {host}: {reason}");
    rules.check_url(url).map_err(refused)?;
    let failed =
        |error: reqwest::Error| refused(with_handshake_advice(causes(&error.without_url()), TlsOptions::OF_SYSTEM));
    let mut response = client(rules)?.get(url.clone()).send().await.map_err(failed)?;
    if !response.status().is_success() {
        return Err(refused(format!("it answered {}", response.status())));
    }
    let mut content = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(failed)? {
        if content.len() as u64 + piece.len() as u64 > FILE_BYTES_MAX {
            return Err(refused(format!("it has more than {FILE_BYTES_MAX} bytes")));
        }
        content.extend_from_slice(&piece);
    }
    check(file, &content).with_context(|| format!("{host} has another file than the benchmark was made for"))?;
    Ok(content)
}

fn client(rules: EgressRules) -> anyhow::Result<Client> {
    crate::embedded::install_tls();
    // A benchmark of somebody else names the address: no host of it is one that the person has named.
    let names = NamedHosts::new(rules.clone(), &[]);
    Client::builder()
        .tls_backend_preconfigured(tls::client(None, None)?)
        .dns_resolver(Arc::new(names))
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .timeout(TRANSFER_TIMEOUT)
        .redirect(Policy::custom(move |attempt| redirection(&rules, attempt)))
        .build()
        .context("failed to start the HTTP client")
}

fn redirection(rules: &EgressRules, attempt: Attempt<'_>) -> Action {
    if attempt.previous().len() > REDIRECTIONS_FOLLOWED {
        return attempt.error("too many redirections");
    }
    let is_downgraded =
        attempt.previous().last().is_some_and(|from| from.scheme() == "https") && attempt.url().scheme() != "https";
    if is_downgraded {
        return attempt.error("it leads from https to what is not encrypted");
    }
    match rules.check_url(attempt.url()) {
        Ok(()) => attempt.follow(),
        Err(problem) => attempt.error(problem),
    }
}

/// The host of an address, for messages: the rest of it may hold a secret.
fn host(url: &Url) -> &str {
    url.host_str().unwrap_or("nowhere")
}

#[cfg(test)]
mod tests;
