//! `regatta data fetch`: the official files of benchmarks, from where they are published.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use indicatif::{ProgressBar, ProgressStyle};
use regatta_proto::{BenchmarkName, counted};

use super::download::Host;
use super::sources::{Repository, SourceFile, Sources};
use crate::args::DataFetchArgs;
use crate::commands::init::quoted;
use crate::exit::BadConfiguration;
use crate::output;

/// Files that are fetched at once.
const FILES_AT_ONCE: usize = 8;

/// A file that is not there yet, or is to be replaced.
struct Wanted<'a> {
    repository: &'a Repository,
    file: &'a SourceFile,
    at: PathBuf,
}

pub(super) async fn run(args: DataFetchArgs) -> anyhow::Result<ExitCode> {
    let host = Host::at(&args.mirror)?;
    let mut data = Vec::new();
    for name in &args.benchmarks {
        data.push((name, Sources::of(name)?, args.to.join(name.as_str())));
    }
    for (name, sources, folder) in &data {
        fetch(&host, name, sources, folder, args.force).await?;
    }
    for (name, sources, _) in &data {
        for what in &sources.by_hand {
            output::note(&format!("{name}: to be had by hand: {what}"));
        }
    }
    output::note("put this into the spec:");
    output::line("benchmarks:");
    for (name, _, folder) in &data {
        // A spec's relative paths begin at its own folder, which nobody knows here.
        let folder = std::path::absolute(folder).with_context(|| format!("failed to find {}", folder.display()))?;
        output::line(&format!("  {name}: {{ data: {} }}", quoted(&folder)));
    }
    Ok(ExitCode::SUCCESS)
}

/// Fetches what `folder` lacks of the official files of `name`.
async fn fetch(host: &Host, name: &BenchmarkName, sources: &Sources, folder: &Path, force: bool) -> anyhow::Result<()> {
    let wanted = wanted(name, sources, folder, force)?;
    let there = sources.files().count() - wanted.len();
    if !wanted.is_empty() {
        for Repository { repository, commit, licence, .. } in &sources.repositories {
            output::note(&format!("{name}: {repository} at commit {commit}, from {}; licence: {licence}", host.name));
        }
    }
    let progress = progress(name, &wanted);
    let fetching: Vec<_> =
        wanted.iter().map(|wanted| host.fetch(wanted.repository, wanted.file, &wanted.at, &progress)).collect();
    let mut fetching = stream::iter(fetching).buffer_unordered(FILES_AT_ONCE);
    while let Some(()) = fetching.try_next().await? {}
    progress.finish_and_clear();
    output::note(&format!(
        "{name}: {} fetched into {}, each as it was published; {there} had been there",
        counted(wanted.len() as u64, "file", "files"),
        folder.display()
    ));
    Ok(())
}

/// The official files that `folder` lacks, and, with `force`, those that are other files there.
///
/// # Errors
/// [`BadConfiguration`] when there are others, and they are not to be replaced.
fn wanted<'a>(
    name: &BenchmarkName,
    sources: &'a Sources,
    folder: &Path,
    force: bool,
) -> anyhow::Result<Vec<Wanted<'a>>> {
    let (mut wanted, mut others) = (Vec::new(), Vec::new());
    for (repository, file) in sources.files() {
        let at = folder.join(&file.path);
        let difference = match std::fs::metadata(&at) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("failed to look at {}", at.display())),
            Ok(_) => match file.difference(&crate::data::read_file(&at)?) {
                None => continue,
                difference => difference,
            },
        };
        others.extend(difference.map(|difference| format!("{} {difference}", file.path)));
        wanted.push(Wanted { repository, file, at });
    }
    let Some(first) = others.first().filter(|_| !force) else { return Ok(wanted) };
    Err(BadConfiguration(format!(
        "{} holds {} of {name} with other contents than the official ones, as {first}; replace them with --force, or name another \
         directory with --to",
        folder.display(),
        counted(others.len() as u64, "file", "files"),
    ))
    .into())
}

/// A bar of the bytes that are to come; nothing is drawn where nobody watches a terminal.
fn progress(name: &BenchmarkName, wanted: &[Wanted<'_>]) -> ProgressBar {
    let bytes: u64 = wanted.iter().map(|wanted| wanted.file.bytes).sum();
    let bar = if output::is_watched() { ProgressBar::new(bytes) } else { ProgressBar::hidden() };
    match ProgressStyle::with_template("{prefix:<24.24} {bar:30.cyan/dim} {bytes:>10}/{total_bytes:<10} eta {eta}") {
        Ok(style) => bar.with_style(style.progress_chars("━╸─")).with_prefix(name.to_string()),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::Digest;

    use super::*;

    fn sources(content: &[u8]) -> Sources {
        let file =
            |path: &str| SourceFile { path: path.to_owned(), bytes: content.len() as u64, sha256: Digest::of(content) };
        let repository = Repository {
            repository: "owner/name".to_owned(),
            commit: "c0ffee".to_owned(),
            licence: "MIT".to_owned(),
            files: vec![file("data/a.csv"), file("data/b.csv")],
        };
        Sources { repositories: vec![repository], by_hand: Vec::new() }
    }

    #[test]
    fn what_is_there_is_not_fetched_again_and_other_contents_are_replaced_by_an_explicit_word_alone() {
        let (folder, name) = (tempfile::tempdir().unwrap(), "worfbench".parse().unwrap());
        let sources = sources(b"official");
        let wanted = |force| wanted(&name, &sources, folder.path(), force);
        let paths = |wanted: Vec<Wanted<'_>>| wanted.iter().map(|wanted| wanted.file.path.clone()).collect::<Vec<_>>();
        assert_eq!(paths(wanted(false).unwrap()), ["data/a.csv", "data/b.csv"]);
        std::fs::create_dir(folder.path().join("data")).unwrap();
        std::fs::write(folder.path().join("data/a.csv"), "official").unwrap();
        assert_eq!(paths(wanted(false).unwrap()), ["data/b.csv"]);
        std::fs::write(folder.path().join("data/b.csv"), "mine").unwrap();
        let error = wanted(false).err().unwrap();
        assert!(error.downcast_ref::<BadConfiguration>().is_some());
        let said = error.to_string();
        assert!(said.contains("data/b.csv has 4 bytes, not 8") && said.contains("--force"), "{said}");
        assert_eq!(paths(wanted(true).unwrap()), ["data/b.csv"]);
    }
}
