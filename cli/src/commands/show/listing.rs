//! The sessions of a run in a table, as far as they are wanted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use comfy_table::{ContentArrangement, Table, TableComponent, presets};
use regatta_catalog::StoredTranscript;
use regatta_proto::{AttemptId, Flag, ItemId, Transcript, did_you_mean};
use serde::Deserialize;

use super::text;
use crate::args::ShowFilters;
use crate::exit::BadConfiguration;
use crate::results::{self, ResultLine};
use crate::transcripts::{self, Session};
use regatta_viewer::conversation::Words;

/// Outcome of a session that went as it should.
const MEASURED: &str = "measured";

/// A line of `attempts.jsonl`, as far as it says what an attempt was about.
#[derive(Deserialize)]
struct AttemptLine {
    id: AttemptId,
    item: Option<ItemId>,
}

/// Results and attempts of a run, as its files list them.
pub(super) struct Known {
    results: BTreeMap<(u32, ItemId), ResultLine>,
    items: HashMap<AttemptId, ItemId>,
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
}

impl Known {
    pub(super) fn read(run: &Path) -> anyhow::Result<Self> {
        let results = results::read(run)?;
        let attempts: Vec<AttemptLine> = results::read_lines(&run.join("attempts.jsonl"))?;
        results::check_results(run, results.len(), attempts.len())?;
        let results = results.into_iter().map(|line| ((line.cell, line.item.clone()), line)).collect();
        Ok(Self { results, items: attempts.into_iter().filter_map(|line| Some((line.id, line.item?))).collect() })
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
        transcripts::read_stored(run, |stored| {
            let session = Session { cell: stored.cell, item: stored.position };
            let line = self.result(&stored);
            let found = (stored.attempt, wanted.wants(stored.cell, line) && wanted.finds(&stored.transcript), line);
            let known = latest.entry(session).or_insert(found);
            if known.0 <= stored.attempt {
                *known = found;
            }
        })?;
        let told: BTreeSet<(u32, &ItemId)> =
            latest.iter().filter_map(|(session, (.., line))| Some((session.cell, &line.as_ref()?.item))).collect();
        let silent: Vec<&ResultLine> =
            self.results.values().filter(|line| !told.contains(&(line.cell, &line.item))).collect();
        let all = latest.len() + silent.len();
        let mut table = Table::new();
        table
            .load_preset(presets::UTF8_HORIZONTAL_ONLY)
            .remove_style(TableComponent::HorizontalLines)
            .remove_style(TableComponent::MiddleIntersections)
            .set_content_arrangement(ContentArrangement::Dynamic);
        table.set_header([
            "cell",
            "item",
            "benchmark",
            "setting",
            "model",
            "trial",
            "id",
            "outcome",
            "flags",
            "scores",
        ]);
        let mut shown = 0;
        for (session, (_, _, line)) in latest.iter().filter(|(_, (_, is_wanted, _))| *is_wanted) {
            table.add_row(row(session.cell, session.item.to_string(), *line));
            shown += 1;
        }
        // Nobody said anything in a session without a transcript.
        let silent = silent.into_iter().filter(|line| wanted.words.is_none() && wanted.wants(line.cell, Some(line)));
        for line in silent {
            table.add_row(row(line.cell, "–".to_owned(), Some(line)));
            shown += 1;
        }
        Ok(Listing { table: table.to_string(), shown, all })
    }
}

fn row(cell: u32, item: String, line: Option<&ResultLine>) -> Vec<String> {
    let mut row = vec![cell.to_string(), item];
    if let Some(line) = line {
        row.extend([line.benchmark.to_string(), line.setting.to_string(), line.model.to_string()]);
        row.extend([line.trial.to_string(), line.item.to_string(), line.ending()]);
        row.push(line.flags.iter().map(|flag| flag.as_str()).collect::<Vec<_>>().join(", "));
        row.push(line.scores.iter().flat_map(text::scores).collect::<Vec<_>>().join("; "));
    }
    row
}
