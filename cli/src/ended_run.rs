//! A run that has ended: its directory, or a coordinator's sweep.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bytes::Bytes;
#[cfg(feature = "cluster")]
use regatta_backends::Blobs;
#[cfg(feature = "cluster")]
use regatta_proto::SweepId;
use regatta_proto::{AttemptId, BenchmarkName, Digest, ItemId, ModelRef, Money, Setting, SweepLock, Usage};
use regatta_report::{LeaderboardRow, Measures, Summary};
use serde::Deserialize;

use crate::args::ClientArgs;
use crate::client::Client;
use crate::results::{CutOff, ResultLine, check_results, parse_lines};
use crate::run_directory;

/// An ended run, as far as it can be compared with another.
pub(crate) struct EndedRun {
    /// As the command line names it.
    pub(crate) name: String,
    pub(crate) lock: SweepLock,
    pub(crate) summary: Summary,
    pub(crate) results: Vec<ResultLine>,
    /// Of the bytes of its `results.jsonl`.
    pub(crate) results_digest: Digest,
    pub(crate) attempts: Vec<AttemptLine>,
    pub(crate) measures: Measures,
    /// Folder of the run's transcripts, if it is available.
    pub(crate) directory: Option<PathBuf>,
}

/// A line of `attempts.jsonl`, as far as it says what a session took.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct AttemptLine {
    pub(crate) id: AttemptId,
    pub(crate) cell: u32,
    pub(crate) item: Option<ItemId>,
    pub(crate) wasted: bool,
    /// `None` where the price of a call is unknown.
    pub(crate) cost_nanodollars: Option<Money>,
    /// Answered calls.
    pub(crate) calls: u32,
    /// Part of `calls` that was answered from the response cache; `None` where a version wrote the line that did not count them.
    #[serde(default)]
    pub(crate) cached_calls: Option<u32>,
    /// `None` where no call was answered, or all of them from the response cache.
    pub(crate) latency_us: Option<u64>,
    /// `None` where the tokens of a call are unknown.
    pub(crate) usage: Option<Usage>,
    /// The part of the tokens that is known, if `usage` is `None`.
    pub(crate) known_usage: Option<Usage>,
    /// Present for the attempt that counts.
    #[serde(default)]
    pub(crate) served: Option<Vec<String>>,
}

/// Spending of a session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Took {
    pub(crate) answers: Answers,
    /// Answered calls.
    pub(crate) calls: u32,
    /// `None` where the price of a call is unknown.
    pub(crate) dollars: Option<f64>,
    /// In model calls of its own.
    pub(crate) seconds: f64,
    /// Tokens that models answered; `None` where those of a call are unknown.
    pub(crate) output_tokens: Option<f64>,
}

impl Took {
    /// Spending of a session before its first attempt.
    fn before(line: &ResultLine) -> Self {
        let answers = line.cut_off().map_or(Answers::Nothing, Answers::CutOff);
        Self { answers, calls: 0, dollars: Some(0.0), seconds: 0.0, output_tokens: Some(0.0) }
    }
}

/// Origin of the answers of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answers {
    /// No call was answered, as where a filter refused the first one: there is neither a time nor a token.
    Nothing,
    /// All were made for it.
    Own,
    /// Some came from the response cache, or may have: its time, tokens and money are in part of another run.
    Cached,
    /// It was cut off: beside sessions that were answered, what it took would make its model cheap and fast.
    CutOff(CutOff),
}

impl Answers {
    /// Answers of a session of which another attempt had `more`.
    const fn and(self, more: Self) -> Self {
        match (self, more) {
            (Self::CutOff(by), _) | (_, Self::CutOff(by)) => Self::CutOff(by),
            (Self::Cached, _) | (_, Self::Cached) => Self::Cached,
            (Self::Own, _) | (_, Self::Own) => Self::Own,
            (Self::Nothing, Self::Nothing) => Self::Nothing,
        }
    }
}

impl AttemptLine {
    /// `may_be_cached` says it of a line that does not count answers of the cache.
    pub(crate) fn answers(&self, may_be_cached: bool) -> Answers {
        match (self.calls, self.cached_calls) {
            (0, _) => Answers::Nothing,
            (_, Some(0)) => Answers::Own,
            (_, Some(_)) => Answers::Cached,
            (_, None) if may_be_cached => Answers::Cached,
            (_, None) => Answers::Own,
        }
    }
}

impl EndedRun {
    /// Opens the directory `what`, or else the sweep of that name at the coordinator.
    pub(crate) async fn open(what: &str, client: &ClientArgs) -> anyhow::Result<Self> {
        if let Some(path) = run_directory::find(Path::new(what)) {
            run_directory::check_ended(&path)?;
            let read = |file: &str| {
                let path = path.join(file);
                std::fs::read(&path).with_context(|| format!("failed to read {}", path.display())).map(Bytes::from)
            };
            return Self::read(what, Some(path.clone()), |file| std::future::ready(read(file).map(Some))).await;
        }
        let sweep = run_directory::sweep_named(what, client)?;
        let coordinator = Client::new(client)?;
        let read = Self::read(what, None, async |file| coordinator.file(&sweep, file).await).await;
        read.map_err(|error| run_directory::nor_a_sweep(what, client, error))
    }

    /// Reads a sweep from the bucket that it was written to.
    #[cfg(feature = "cluster")]
    pub(crate) async fn stored(blobs: &Blobs, sweep: &SweepId) -> anyhow::Result<Self> {
        let read = async |file: &'static str| Ok(blobs.get(&format!("sweeps/{sweep}/{file}")).await?);
        Self::read(sweep.as_str(), None, read).await
    }

    async fn read(
        what: &str,
        directory: Option<PathBuf>,
        file: impl AsyncFn(&'static str) -> anyhow::Result<Option<Bytes>>,
    ) -> anyhow::Result<Self> {
        let file = async |name: &'static str| -> anyhow::Result<Bytes> {
            file(name).await?.with_context(|| format!("{what} has no {name}; a run has it once it has ended"))
        };
        let failed = |name: &str| format!("failed to read {name} of {what}");
        let text = |name: &str, bytes: &Bytes| String::from_utf8(bytes.to_vec()).with_context(|| failed(name));
        let lock = text("sweep.lock.yaml", &file("sweep.lock.yaml").await?)?;
        let measures = file("measures.json").await.with_context(|| {
            format!("{what} was written by a version that could not compare runs; resume or run it again with this one")
        })?;
        let lines = file("results.jsonl").await?;
        let results: Vec<ResultLine> = parse_lines(&failed("results.jsonl"), &text("results.jsonl", &lines)?)?;
        let attempts: Vec<AttemptLine> =
            parse_lines(&failed("attempts.jsonl"), &text("attempts.jsonl", &file("attempts.jsonl").await?)?)?;
        if let Some(directory) = &directory {
            check_results(directory, results.len(), attempts.len())?;
        }
        Ok(Self {
            name: what.to_owned(),
            lock: SweepLock::from_yaml(&lock).with_context(|| failed("sweep.lock.yaml"))?,
            summary: Summary::from_json(&file("summary.json").await?).with_context(|| failed("summary.json"))?,
            results,
            results_digest: Digest::of(&lines),
            attempts,
            measures: Measures::from_json(&measures).with_context(|| failed("measures.json"))?,
            directory,
        })
    }

    /// The sessions of a model in a setting.
    pub(crate) fn sessions<'r>(
        &'r self,
        benchmark: &BenchmarkName,
        setting: &Setting,
        model: &ModelRef,
    ) -> impl Iterator<Item = &'r ResultLine> {
        let is_of =
            move |line: &&ResultLine| line.benchmark == *benchmark && line.setting == *setting && line.model == *model;
        self.results.iter().filter(is_of)
    }

    /// The leaderboard's row of a model in a setting.
    pub(crate) fn row(
        &self,
        benchmark: &BenchmarkName,
        setting: &Setting,
        model: &ModelRef,
    ) -> Option<&LeaderboardRow> {
        let is_of =
            |row: &&LeaderboardRow| row.benchmark == *benchmark && row.setting == *setting && row.model == *model;
        self.summary.rows.iter().find(is_of)
    }

    /// Spending of each session of a model in a setting that has a score: all its attempts but those that were repeated or lost.
    pub(crate) fn took(
        &self,
        benchmark: &BenchmarkName,
        setting: &Setting,
        model: &ModelRef,
    ) -> BTreeMap<(ItemId, u16), Took> {
        let scored = self.sessions(benchmark, setting, model).filter(|line| line.scores.is_some());
        let mut took: BTreeMap<(u32, &ItemId), (u16, Took)> =
            scored.map(|line| ((line.cell, &line.item), (line.trial, Took::before(line)))).collect();
        let may_be_cached = self.may_be_cached(benchmark, setting, model);
        for attempt in self.attempts.iter().filter(|attempt| !attempt.wasted) {
            let Some(item) = &attempt.item else { continue };
            if let Some((_, took)) = took.get_mut(&(attempt.cell, item)) {
                let cost = attempt.cost_nanodollars.map(|cost| cost.dollars());
                took.answers = took.answers.and(attempt.answers(may_be_cached));
                took.calls = took.calls.saturating_add(attempt.calls);
                took.dollars = took.dollars.zip(cost).map(|(sum, cost)| sum + cost);
                // `None` is no time: `answers` tells whether it is known.
                took.seconds += attempt.latency_us.map_or(0.0, |microseconds| microseconds as f64 / 1e6);
                took.output_tokens =
                    took.output_tokens.zip(attempt.usage).map(|(sum, usage)| sum + usage.output as f64);
            }
        }
        took.into_iter().map(|((_, item), (trial, took))| ((item.clone(), trial), took)).collect()
    }

    /// `true` where answers of the response cache are not counted by attempt, and there may be some: a row with one has no times of its
    /// sessions.
    pub(crate) fn may_be_cached(&self, benchmark: &BenchmarkName, setting: &Setting, model: &ModelRef) -> bool {
        self.row(benchmark, setting, model).is_none_or(|row| row.session_seconds.is_none())
    }
}

#[cfg(test)]
pub(crate) mod testing;
