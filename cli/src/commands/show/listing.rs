//! The sessions of a run in a table, as far as they are wanted.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use comfy_table::Table;
use regatta_catalog::StoredTranscript;
use regatta_proto::{AttemptId, BenchmarkName, Evaluator, Flag, ItemId, Setting, Transcript, counted, did_you_mean};
use regatta_report::{Measures, RefusedNames};
use serde::Deserialize;

use super::text;
use crate::args::ShowFilters;
use crate::exit::BadConfiguration;
use crate::plain_table::{fitted, plain_table};
use crate::results::{self, ResultLine, Scores};
use crate::transcripts::{self, Session};
use regatta_viewer::conversation::Words;

/// Names, for which requests of agents were refused, that are told.
const REFUSED_TOLD: usize = 12;
/// Outcome of a session that went as it should.
const MEASURED: &str = "measured";

/// A line of `attempts.jsonl`, as far as it says what an attempt was about.
#[derive(Deserialize)]
struct AttemptLine {
    id: AttemptId,
    item: Option<ItemId>,
}

/// Names of the values that metrics of leaderboards are made of, in each benchmark and setting.
#[derive(Debug, Default)]
struct Leading(BTreeMap<(BenchmarkName, Setting), BTreeSet<(Evaluator, String)>>);

/// Results and attempts of a run, as its files list them.
pub(super) struct Known {
    results: BTreeMap<(u32, ItemId), ResultLine>,
    items: HashMap<AttemptId, ItemId>,
    leading: Leading,
}

/// Sessions that are listed.
pub(super) struct Wanted {
    cell: Option<u32>,
    item: Option<ItemId>,
    failed: bool,
    flags: Vec<Flag>,
    causes: Vec<String>,
    words: Option<Words>,
}

impl Wanted {
    /// Sessions of a cell or an item, or of all, that `filters` let through.
    ///
    /// # Errors
    /// When `filters` name a cause that no session of the run has.
    pub(super) fn new(
        filters: &ShowFilters,
        known: &Known,
        (cell, item): (Option<u32>, Option<ItemId>),
    ) -> anyhow::Result<Self> {
        let causes: BTreeSet<&str> = known.results.values().filter_map(|line| line.cause.as_deref()).collect();
        if let Some(strange) = filters.cause.iter().find(|cause| !causes.contains(cause.as_str())) {
            let list: Vec<&str> = causes.iter().copied().collect();
            let problem = match list.is_empty() {
                true => format!("no session of the run has the cause {strange:?}: all were measured, or not run"),
                false => format!(
                    "no session of the run has the cause {strange:?}; there are: {}{}",
                    list.join(", "),
                    did_you_mean(strange, list.iter().copied())
                ),
            };
            return Err(BadConfiguration(problem).into());
        }
        Ok(Self {
            cell,
            item,
            failed: filters.failed,
            flags: filters.flags(),
            causes: filters.cause.clone(),
            words: filters.grep.as_deref().map(Words::new),
        })
    }

    fn wants(&self, cell: u32, line: Option<&ResultLine>) -> bool {
        let Some(line) = line else {
            // A transcript without a result is of a session that goes on.
            return self.item.is_none()
                && self.flags.is_empty()
                && self.causes.is_empty()
                && self.cell.is_none_or(|of| of == cell);
        };
        self.cell.is_none_or(|of| of == cell)
            && self.item.as_ref().is_none_or(|item| *item == line.item)
            && (!self.failed || line.outcome != MEASURED)
            && self.flags.iter().all(|flag| line.flags.contains(flag))
            && (self.causes.is_empty() || line.cause.as_ref().is_some_and(|cause| self.causes.contains(cause)))
    }

    /// `true` if the words are anywhere in the conversation, or none are looked for.
    fn finds(&self, transcript: &Transcript) -> bool {
        self.words.as_ref().is_none_or(|words| words.are_in(transcript))
    }
}

/// Sessions in a table, and how many of all they are.
pub(super) struct Listing {
    pub(super) table: String,
    pub(super) shown: usize,
    pub(super) all: usize,
    /// Sentences about requests of external agents in these sessions that were refused.
    pub(super) refused: Vec<String>,
}

impl Known {
    pub(super) fn read(run: &Path) -> anyhow::Result<Self> {
        let results = results::read(run)?;
        let attempts: Vec<AttemptLine> = results::read_lines(&run.join("attempts.jsonl"))?;
        results::check_results(run, results.len(), attempts.len())?;
        let results = results.into_iter().map(|line| ((line.cell, line.item.clone()), line)).collect();
        let items = attempts.into_iter().filter_map(|line| Some((line.id, line.item?))).collect();
        Ok(Self { results, items, leading: Leading::read(run) })
    }

    pub(super) fn result(&self, stored: &StoredTranscript) -> Option<&ResultLine> {
        let item = self.items.get(&stored.attempt_id)?;
        self.results.get(&(stored.cell, item.clone()))
    }

    /// Ids of all items, each once.
    pub(super) fn items(&self) -> BTreeSet<&ItemId> {
        self.results.keys().map(|(_, item)| item).collect()
    }

    /// The sessions that are wanted, in order: those with a transcript, then those that left none.
    pub(super) fn list(&self, run: &Path, wanted: &Wanted) -> anyhow::Result<Listing> {
        let mut latest: BTreeMap<Session, (u32, bool, Option<&ResultLine>)> = BTreeMap::new();
        let mut refused: BTreeMap<Session, RefusedNames> = BTreeMap::new();
        transcripts::read_stored(run, |stored| {
            let session = Session { cell: stored.cell, item: stored.position };
            let line = self.result(&stored);
            let found = (stored.attempt, wanted.wants(stored.cell, line) && wanted.finds(&stored.transcript), line);
            let known = latest.entry(session).or_insert(found);
            if known.0 <= stored.attempt {
                *known = found;
                refused.remove(&session);
                let names = RefusedNames::of(&stored.transcript);
                if found.1 && names != RefusedNames::default() {
                    refused.insert(session, names);
                }
            }
        })?;
        let told: BTreeSet<(u32, &ItemId)> =
            latest.iter().filter_map(|(session, (.., line))| Some((session.cell, &line.as_ref()?.item))).collect();
        let silent: Vec<&ResultLine> =
            self.results.values().filter(|line| !told.contains(&(line.cell, &line.item))).collect();
        let all = latest.len() + silent.len();
        let mut rows = Vec::new();
        for (session, (_, _, line)) in latest.iter().filter(|(_, (_, is_wanted, _))| *is_wanted) {
            rows.push(row(session.cell, session.item.to_string(), *line, &self.leading));
        }
        // Nobody said anything in a session without a transcript.
        let silent = silent.into_iter().filter(|line| wanted.words.is_none() && wanted.wants(line.cell, Some(line)));
        for line in silent {
            rows.push(row(line.cell, "–".to_owned(), Some(line), &self.leading));
        }
        Ok(Listing { table: fitted(table(&rows)), shown: rows.len(), all, refused: refusals(refused.values()) })
    }
}

impl Leading {
    /// Reads the names from the measures of `run`; none, so that all values are listed, where they are not there or not readable.
    fn read(run: &Path) -> Self {
        let bytes = std::fs::read(run.join("measures.json")).ok();
        bytes
            .and_then(|bytes| Measures::from_json(&bytes).ok())
            .map_or_else(Self::default, |measures| Self::of(&measures))
    }

    fn of(measures: &Measures) -> Self {
        let mut leading = Self::default();
        for (benchmark, of_benchmark) in &measures.benchmarks {
            for (setting, metrics) in &of_benchmark.settings {
                let names = leading.0.entry((benchmark.clone(), setting.clone())).or_default();
                for metric in metrics.iter().filter(|metric| metric.headline) {
                    names.extend(metric.measure.values().into_iter().map(|value| (metric.evaluator, value.to_owned())));
                }
            }
        }
        leading
    }

    /// The scores of a session that leaderboards are made of; all those of an evaluator of which they take none.
    fn of_session(&self, line: &ResultLine) -> Option<Scores> {
        let names = self.0.get(&(line.benchmark.clone(), line.setting.clone()));
        let shorter = |(evaluator, values): (&Evaluator, &BTreeMap<String, f64>)| {
            let leads = |name: &str| names.is_some_and(|names| names.contains(&(*evaluator, name.to_owned())));
            let kept: BTreeMap<String, f64> =
                values.iter().filter(|(name, _)| leads(name)).map(|(name, value)| (name.clone(), *value)).collect();
            (*evaluator, if kept.is_empty() { values.clone() } else { kept })
        };
        line.scores.as_ref().map(|scores| scores.iter().map(shorter).collect())
    }
}

/// A sentence for each place where requests of agents were refused: for which fields, and in how many sessions.
fn refusals<'n>(sessions: impl Iterator<Item = &'n RefusedNames>) -> Vec<String> {
    let (mut here, mut there): (BTreeMap<&str, u64>, BTreeMap<&str, u64>) = Default::default();
    for names in sessions {
        names.here.iter().for_each(|name| *here.entry(name).or_default() += 1);
        names.there.iter().for_each(|name| *there.entry(name).or_default() += 1);
    }
    let places = [("requests of agents were refused for", here), ("endpoints refused requests of agents for", there)];
    let told = places.into_iter().filter(|(_, names)| !names.is_empty());
    told.map(|(what, names)| {
        let mut names: Vec<(&str, u64)> = names.into_iter().collect();
        names.sort_by_key(|(name, sessions)| (Reverse(*sessions), *name));
        let more = names.len().saturating_sub(REFUSED_TOLD);
        let named = names.iter().take(REFUSED_TOLD);
        let named = named.map(|(name, sessions)| format!("`{name}` in {}", counted(*sessions, "session", "sessions")));
        let named = named.collect::<Vec<_>>().join(", ");
        if more == 0 { format!("{what} {named}") } else { format!("{what} {named} and {more} more") }
    })
    .collect()
}

/// Columns of the table.
const COLUMNS: [&str; 10] =
    ["cell", "item", "benchmark", "setting", "model", "trial", "id", "outcome", "flags", "scores"];

/// Texts of one session, a column each.
type Row = [String; COLUMNS.len()];

fn row(cell: u32, item: String, line: Option<&ResultLine>, leading: &Leading) -> Row {
    let Some(line) = line else {
        let mut row = Row::default();
        row[0] = cell.to_string();
        row[1] = item;
        return row;
    };
    let flags: Vec<&str> = line.flags.iter().map(|flag| flag.as_str()).collect();
    let scores: Vec<String> = leading.of_session(line).iter().flat_map(text::scores).collect();
    [
        cell.to_string(),
        item,
        line.benchmark.to_string(),
        line.setting.to_string(),
        line.model.to_string(),
        line.trial.to_string(),
        line.item.to_string(),
        line.ending(),
        flags.join(", "),
        scores.join("\n"),
    ]
}

/// The rows without what would be the same in each, or empty: a terminal is narrow.
fn table(rows: &[Row]) -> Table {
    let is_told = |column: &usize| match COLUMNS[*column] {
        "benchmark" | "setting" | "trial" => rows.len() < 2 || rows.iter().any(|row| row[*column] != rows[0][*column]),
        "flags" => rows.iter().any(|row| !row[*column].is_empty()),
        _ => true,
    };
    let told: Vec<usize> = (0..COLUMNS.len()).filter(is_told).collect();
    let mut table = plain_table();
    table.set_header(told.iter().map(|column| COLUMNS[*column]));
    for row in rows {
        table.add_row(told.iter().map(|column| row[*column].as_str()));
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(texts: [&str; COLUMNS.len()]) -> Row {
        texts.map(str::to_owned)
    }

    /// Words of the header over `rows`.
    fn header(rows: &[Row]) -> Vec<String> {
        table(rows).lines().nth(1).unwrap().split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn of_the_scores_those_are_listed_that_leaderboards_are_made_of() {
        let metric = |evaluator: &str, name: &str, headline: bool| {
            json!({
                "evaluator": evaluator, "metric": name, "measure": { "mean": { "value": name } }, "low": 0.0, "high": 1.0,
                "better": "higher", "unit": "plain", "headline": headline,
            })
        };
        let metrics =
            [metric("official", "f1", true), metric("official", "recall", false), metric("paper", "f1", false)];
        let measures = json!({ "v": 1, "benchmarks": { "bench": { "settings": { "plain": metrics } } } });
        let leading = Leading::of(&Measures::from_json(measures.to_string().as_bytes()).unwrap());
        let line = json!({
            "cell": 0, "benchmark": "bench", "setting": "plain", "model": "sim/a", "trial": 0, "item": "one",
            "outcome": "measured", "cause": null,
            "scores": { "official": { "f1": 1.0, "recall": 0.5 }, "paper": { "f1": 0.25, "recall": 0.5 } },
        });
        let line: ResultLine = serde_json::from_value(line).unwrap();
        let listed = |leading: &Leading| leading.of_session(&line).iter().flat_map(text::scores).collect::<Vec<_>>();
        assert_eq!(listed(&leading), ["official: f1 1", "paper: f1 0.25, recall 0.5"]);
        assert_eq!(listed(&Leading::default())[0], "official: f1 1, recall 0.5");
    }

    #[test]
    fn fields_for_which_requests_of_agents_were_refused_are_told_with_their_sessions() {
        let names = |here: &[&str], there: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            RefusedNames { here: owned(here), there: owned(there) }
        };
        let sessions = [names(&["n"], &[]), names(&["audio", "n"], &["top_k"])];
        let expected = [
            "requests of agents were refused for `n` in 2 sessions, `audio` in 1 session",
            "endpoints refused requests of agents for `top_k` in 1 session",
        ];
        assert_eq!(refusals(sessions.iter()), expected);
        assert_eq!(refusals([].iter()), Vec::<String>::new());
    }

    #[test]
    fn what_is_the_same_in_all_sessions_is_left_out() {
        let one = row(["0", "3", "bench", "plain", "sim/a", "0", "mini3", "measured", "", "official: f1 1"]);
        let other = row(["1", "3", "bench", "plain", "sim/b", "0", "mini3", "measured", "", "official: f1 0"]);
        let short = ["cell", "item", "model", "id", "outcome", "scores"];
        assert_eq!(header(&[one.clone(), other]), short);
        let alone = ["cell", "item", "benchmark", "setting", "model", "trial", "id", "outcome", "scores"];
        assert_eq!(header(std::slice::from_ref(&one)), alone);
        let flagged = row(["1", "4", "bench", "plain", "sim/a", "1", "mini4", "measured", "cut_off", ""]);
        let with_both = ["cell", "item", "model", "trial", "id", "outcome", "flags", "scores"];
        assert_eq!(header(&[one, flagged]), with_both);
    }
}
