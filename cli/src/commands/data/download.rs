//! Downloads of files whose size and digest are known: what was cut off is continued, and a file has its name only once it is whole and right.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use indicatif::ProgressBar;
use regatta_files::read_within;
use regatta_llm::EgressRules;
use regatta_proto::{TlsOptions, causes, with_handshake_advice};
use reqwest::header::{CONTENT_RANGE, HeaderMap, RANGE};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, StatusCode, Url};

use super::sources::{Repository, SourceFile};
use crate::exit::BadConfiguration;
use crate::named_hosts::NamedHosts;
use crate::tls;

/// For how long a connection is waited for.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// For how long the next bytes are waited for.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Connections that a file may take, each of which has brought something; more of them bring it in crumbs.
const CONNECTIONS_MAX: u32 = 20;

/// Redirections that are followed: a mirror may have its files elsewhere.
const REDIRECTIONS_FOLLOWED: usize = 5;

/// A host of repositories' files.
pub(super) struct Host {
    client: Client,
    /// Address, without a slash at its end. It may hold a password, so that it is never shown.
    base: String,
    /// Name of the host, for messages.
    pub(super) name: String,
}

/// End of one connection.
enum Ended {
    /// All was there.
    Whole,
    /// It ended early.
    Cut(anyhow::Error),
}

impl Host {
    /// The host at the address `base`.
    ///
    /// # Errors
    /// [`BadConfiguration`] when this is no address.
    pub(super) fn at(base: &str) -> anyhow::Result<Self> {
        Self::by(base, |host| NamedHosts::new(EgressRules::default(), &[host]))
    }

    /// The same, with the names that `names` makes of the host's own.
    fn by(base: &str, names: impl FnOnce(&str) -> NamedHosts) -> anyhow::Result<Self> {
        let refused = |problem: &str| {
            BadConfiguration(format!(
                "the address of the mirror (--mirror, REGATTA_DATA_MIRROR) {problem}; write it as https://mirror.example/github"
            ))
        };
        let address: Url = base.parse().map_err(|_| refused("is no address"))?;
        let Some(host) = address.host_str().filter(|_| matches!(address.scheme(), "https" | "http")) else {
            return Err(refused("is not of https or http").into());
        };
        if address.query().is_some() || address.fragment().is_some() {
            return Err(refused("has a part after ? or #").into());
        }
        let name = address.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        crate::embedded::install_tls();
        let client = Client::builder()
            .tls_backend_preconfigured(tls::client(None, None)?)
            .dns_resolver(Arc::new(names(host)))
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .redirect(Policy::custom(redirection))
            .build()
            .context("failed to start the HTTP client")?;
        Ok(Self { client, base: base.trim_end_matches('/').to_owned(), name })
    }

    /// Fetches `file` of `repository` to `at`, and says how it goes to `progress`.
    ///
    /// # Errors
    /// When it cannot be had, or is another file than the official one. What has come of it is kept then, if it can be continued.
    pub(super) async fn fetch(
        &self,
        repository: &Repository,
        file: &SourceFile,
        at: &Path,
        progress: &ProgressBar,
    ) -> anyhow::Result<()> {
        let part = part_of(at, file);
        let mut content = begun(&part, file)?;
        progress.inc(content.len() as u64);
        loop {
            let is_continued = !content.is_empty();
            if let Err(error) = self.complete(repository, file, &mut content, progress).await {
                keep(&part, &content)?;
                return Err(error);
            }
            let Some(difference) = file.difference(&content) else { break };
            content.clear();
            // What was kept may be damaged, which is no fault of the host's.
            if !is_continued {
                keep(&part, &content)?;
                bail!(
                    "{} of {} is not the official file: what {} gave {difference}; nothing is written",
                    file.path,
                    repository.repository,
                    self.name
                );
            }
        }
        if let Some(folder) = at.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
        }
        regatta_files::write(at, &content).with_context(|| format!("failed to write {}", at.display()))?;
        keep(&part, &[])
    }

    /// Reads into `content` what it lacks of `file`. A connection that ends early is followed by another one at once, as long as each
    /// brings something.
    async fn complete(
        &self,
        repository: &Repository,
        file: &SourceFile,
        content: &mut Vec<u8>,
        progress: &ProgressBar,
    ) -> anyhow::Result<()> {
        for _ in 0..CONNECTIONS_MAX {
            let before = content.len();
            if before as u64 == file.bytes {
                return Ok(());
            }
            match self.read(repository, file, content, progress).await? {
                Ended::Whole => return Ok(()),
                Ended::Cut(_) if content.len() > before => {}
                Ended::Cut(error) => return Err(error),
            }
        }
        bail!(
            "{} of {} came in more than {CONNECTIONS_MAX} pieces from {}; run the same command again to continue, or name a mirror \
             with --mirror",
            file.path,
            repository.repository,
            self.name
        )
    }

    /// Reads what one connection gives.
    async fn read(
        &self,
        repository: &Repository,
        file: &SourceFile,
        content: &mut Vec<u8>,
        progress: &ProgressBar,
    ) -> anyhow::Result<Ended> {
        let Repository { repository: of, commit, .. } = repository;
        let (path, host) = (&file.path, &self.name);
        let cut = |reason: String| {
            let told = with_handshake_advice(reason, TlsOptions::OF_SYSTEM);
            Ended::Cut(anyhow!(
                "failed to fetch {path} of {of} from {host}: {told}; run the same command again to continue"
            ))
        };
        let mut request = self.client.get(format!("{}/{of}/{commit}/{path}", self.base));
        if !content.is_empty() {
            request = request.header(RANGE, format!("bytes={}-", content.len()));
        }
        let mut response = match request.send().await {
            Ok(response) => response,
            Err(error) => return Ok(cut(causes(&error.without_url()))),
        };
        match response.status() {
            StatusCode::PARTIAL_CONTENT if begins_at(response.headers(), content.len()) => {}
            // A host that knows no ranges gives the whole.
            StatusCode::OK => content.clear(),
            StatusCode::RANGE_NOT_SATISFIABLE => {
                let had = content.len();
                content.clear();
                bail!(
                    "{path} of {of} has no more than {had} bytes at {host}, the official file has {}; nothing is written",
                    file.bytes
                );
            }
            StatusCode::NOT_FOUND => {
                bail!("{host} has no {path} of {of} at commit {commit}; name another mirror with --mirror, or none")
            }
            status => bail!(
                "{host} answered {status} when it was asked for {path} of {of}; run the same command again later, or name a mirror with \
                 --mirror"
            ),
        }
        loop {
            let piece = match response.chunk().await {
                Ok(Some(piece)) => piece,
                Ok(None) if content.len() as u64 == file.bytes => return Ok(Ended::Whole),
                Ok(None) => return Ok(cut(format!("it ended after {} of {} bytes", content.len(), file.bytes))),
                Err(error) => return Ok(cut(causes(&error.without_url()))),
            };
            if content.len() as u64 + piece.len() as u64 > file.bytes {
                content.clear();
                bail!(
                    "{path} of {of} is larger at {host} than the {} bytes of the official file; nothing is written",
                    file.bytes
                );
            }
            content.extend_from_slice(&piece);
            progress.inc(piece.len() as u64);
        }
    }
}

fn redirection(attempt: Attempt<'_>) -> Action {
    if attempt.previous().len() > REDIRECTIONS_FOLLOWED {
        return attempt.error("too many redirections");
    }
    match attempt.previous().last().and_then(|from| leads_astray(from, attempt.url())) {
        Some(problem) => attempt.error(problem),
        None => attempt.follow(),
    }
}

/// Reason for not going from `from` to `to`: services of this machine and its network are nothing that a mirror may have us ask, whatever
/// they answer. Names are held to the same where they are resolved.
fn leads_astray(from: &Url, to: &Url) -> Option<String> {
    if from.scheme() == "https" && to.scheme() != "https" {
        return Some("it leads from https to what is not encrypted".to_owned());
    }
    if from.origin() == to.origin() || EgressRules::default().check_url(to).is_ok() {
        return None;
    }
    let host = to.host_str().unwrap_or("nowhere");
    Some(format!(
        "it leads to {host}, which is no public address; name the mirror there with --mirror, if that is meant"
    ))
}

/// `true` if the answer is of the bytes from `from` on.
fn begins_at(headers: &HeaderMap, from: usize) -> bool {
    let range = headers.get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    let begin = range.and_then(|range| range.strip_prefix("bytes ")?.split_once('-'));
    begin.is_some_and(|(begin, _)| begin.parse() == Ok(from))
}

/// Place of what has come of `file` so far. No benchmark reads a file of such a name, and another version of the file has another one.
fn part_of(at: &Path, file: &SourceFile) -> PathBuf {
    let mut name = at.as_os_str().to_owned();
    name.push(format!(".{}.part", file.sha256.short()));
    name.into()
}

/// The beginning of `file` that an earlier command has kept; empty where there is none.
fn begun(part: &Path, file: &SourceFile) -> anyhow::Result<Vec<u8>> {
    match read_within(part, file.bytes) {
        Ok(content) => Ok(content),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("failed to continue {}; remove it", part.display())),
    }
}

/// Keeps what has come of a file, for the next command to continue; of nothing, nothing is kept.
fn keep(part: &Path, content: &[u8]) -> anyhow::Result<()> {
    let kept = if content.is_empty() {
        match std::fs::remove_file(part) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    } else {
        if let Some(folder) = part.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
        }
        regatta_files::write(part, content)
    };
    kept.with_context(|| format!("failed to keep {}", part.display()))
}

#[cfg(test)]
mod tests;
