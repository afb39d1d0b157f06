//! The sessions of a run, one after the other in the order of its grid.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use regatta_catalog::StoredTranscript;
use regatta_proto::{Cell, ItemId, SweepLock, read_untrusted_json};
use serde::de::DeserializeOwned;

use crate::documents::{AttemptLine, ResultLine, Summary, SummaryRow};
use crate::error::ExportError;
use crate::transcripts::Transcripts;

/// The directory of a run that has ended.
pub struct Run {
    pub(crate) directory: PathBuf,
    pub(crate) lock: SweepLock,
    pub(crate) cells: Vec<Cell>,
    pub(crate) summary: Summary,
}

/// A session with everything that the run has kept of it.
pub struct Session {
    /// Line of `results.jsonl`.
    pub result: ResultLine,
    /// Cell of the session.
    pub cell: Cell,
    /// Attempts, by number.
    pub attempts: Vec<AttemptLine>,
    /// Transcripts of those attempts that left one, by number.
    pub transcripts: Vec<StoredTranscript>,
}

impl Run {
    /// Opens the run in `directory`, which `regatta run` or `regatta export` has written.
    ///
    /// # Errors
    /// When its lock or its summary cannot be read.
    pub fn open(directory: &Path) -> Result<Self, ExportError> {
        let read = |name: &str| {
            let path = directory.join(name);
            std::fs::read_to_string(&path).map_err(ExportError::read(&path))
        };
        let path = directory.join("sweep.lock.yaml");
        let lock = SweepLock::from_yaml(&read("sweep.lock.yaml")?);
        let lock = lock.map_err(|error| ExportError::content(&path, error))?;
        let path = directory.join("summary.json");
        let summary = read_untrusted_json(read("summary.json")?.as_bytes());
        let summary: Summary = summary.map_err(|error| ExportError::content(&path, error))?;
        summary.check().map_err(|problem| ExportError::content(&path, problem))?;
        Ok(Self { directory: directory.to_owned(), cells: lock.cells(), lock, summary })
    }

    /// `true` if the transcripts that attempts name are at hand; also where none names one.
    ///
    /// # Errors
    /// When `attempts.jsonl` cannot be read.
    pub fn has_transcripts(&self) -> Result<bool, ExportError> {
        if Transcripts::of(&self.directory).are_there() {
            return Ok(true);
        }
        let mut attempts = self.attempts()?;
        while let Some(attempt) = attempts.next()? {
            if attempt.segment.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The row of the summary that `cell` belongs to.
    pub(crate) fn row(&self, cell: &Cell) -> Option<&SummaryRow> {
        let is_of = |row: &&SummaryRow| {
            row.benchmark == cell.benchmark && row.setting == cell.setting && row.model == cell.model
        };
        self.summary.rows.iter().find(is_of)
    }

    /// Lines of `results.jsonl`.
    pub(crate) fn results(&self) -> Result<Lines<ResultLine>, ExportError> {
        Lines::open(&self.directory.join("results.jsonl"))
    }

    /// Lines of `attempts.jsonl`.
    pub(crate) fn attempts(&self) -> Result<Lines<AttemptLine>, ExportError> {
        Lines::open(&self.directory.join("attempts.jsonl"))
    }

    /// All sessions. Attempts of one cell are in memory at a time.
    pub(crate) fn sessions(&self) -> Result<Sessions, ExportError> {
        Ok(Sessions {
            cells: self.cells.clone(),
            results: self.results()?,
            attempts: self.attempts()?,
            next_attempt: None,
            of_cell: None,
            transcripts: Transcripts::of(&self.directory),
        })
    }
}

/// Iterator over the sessions of a run.
pub(crate) struct Sessions {
    cells: Vec<Cell>,
    results: Lines<ResultLine>,
    attempts: Lines<AttemptLine>,
    next_attempt: Option<AttemptLine>,
    /// Attempts of the cell that is read.
    of_cell: Option<(u32, HashMap<ItemId, Vec<AttemptLine>>)>,
    transcripts: Transcripts,
}

impl Sessions {
    /// The next session; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Session>, ExportError> {
        let Some(result) = self.results.next()? else { return Ok(None) };
        self.results.in_order(result.cell)?;
        let unknown = || self.results.problem(format!("the grid of sweep.lock.yaml has no cell {}", result.cell));
        let cell = self.cells.get(result.cell as usize).cloned().ok_or_else(unknown)?;
        let attempts = self.attempts_of(result.cell)?.remove(&result.item).unwrap_or_default();
        let mut transcripts = Vec::new();
        if self.transcripts.are_there() {
            for attempt in &attempts {
                if let (Some(segment), Some(line)) = (&attempt.segment, attempt.line) {
                    let stored = self.transcripts.read(segment, line)?;
                    if stored.attempt_id != attempt.id {
                        let problem =
                            format!("line {line} is of the attempt {}, not {}", stored.attempt_id, attempt.id);
                        return Err(ExportError::Content { path: segment.clone(), problem });
                    }
                    transcripts.push(stored);
                }
            }
        }
        Ok(Some(Session { result, cell, attempts, transcripts }))
    }

    /// Attempts at the sessions of `cell`, which no session has taken yet. Both files have the order of the grid.
    fn attempts_of(&mut self, cell: u32) -> Result<&mut HashMap<ItemId, Vec<AttemptLine>>, ExportError> {
        if self.of_cell.as_ref().is_none_or(|(of, _)| *of != cell) {
            let mut found: HashMap<ItemId, Vec<AttemptLine>> = HashMap::new();
            loop {
                let next = match self.next_attempt.take() {
                    Some(attempt) => Some(attempt),
                    None => self.attempts.next()?,
                };
                let Some(attempt) = next else { break };
                self.attempts.in_order(attempt.cell)?;
                if attempt.cell > cell {
                    self.next_attempt = Some(attempt);
                    break;
                }
                if attempt.cell == cell
                    && let Some(item) = attempt.item.clone()
                {
                    found.entry(item).or_default().push(attempt);
                }
            }
            return Ok(&mut self.of_cell.insert((cell, found)).1);
        }
        // The branch above has set it otherwise.
        Ok(&mut self.of_cell.get_or_insert_with(|| (cell, HashMap::new())).1)
    }
}

impl Session {
    /// The attempt that counts: whose answers were scored, or else the last one that was not wasted.
    #[must_use]
    pub fn counting(&self) -> Option<&AttemptLine> {
        let scored = self.attempts.iter().find(|attempt| attempt.served.is_some());
        scored.or_else(|| self.attempts.iter().rfind(|attempt| !attempt.wasted)).or_else(|| self.attempts.last())
    }

    /// The transcript of the attempt that counts, or else the last one that there is.
    #[must_use]
    pub fn transcript(&self) -> Option<&StoredTranscript> {
        let counting = self.counting()?;
        let found = self.transcripts.iter().find(|stored| stored.attempt_id == counting.id);
        found.or_else(|| self.transcripts.last())
    }
}

/// The lines of a file, each a JSON document, one at a time.
pub(crate) struct Lines<T> {
    path: PathBuf,
    reader: BufReader<File>,
    number: u64,
    /// Cell of the line before.
    cell: u32,
    line: String,
    of: std::marker::PhantomData<T>,
}

impl<T: DeserializeOwned> Lines<T> {
    fn open(path: &Path) -> Result<Self, ExportError> {
        let reader = BufReader::new(File::open(path).map_err(ExportError::read(path))?);
        Ok(Self {
            path: path.to_owned(),
            reader,
            number: 0,
            cell: 0,
            line: String::new(),
            of: std::marker::PhantomData,
        })
    }

    pub(crate) fn next(&mut self) -> Result<Option<T>, ExportError> {
        loop {
            self.line.clear();
            self.number += 1;
            if self.reader.read_line(&mut self.line).map_err(ExportError::read(&self.path))? == 0 {
                return Ok(None);
            }
            if !self.line.trim().is_empty() {
                return serde_json::from_str(&self.line).map(Some).map_err(|error| self.problem(error));
            }
        }
    }

    /// Notes that a line is of `cell`. Lines that are not in the order of the grid would be lost to the sessions that they belong to.
    fn in_order(&mut self, cell: u32) -> Result<(), ExportError> {
        if cell < self.cell {
            return Err(self.problem(format!("it is of cell {cell} and comes after cell {}", self.cell)));
        }
        self.cell = cell;
        Ok(())
    }

    fn problem(&self, problem: impl ToString) -> ExportError {
        ExportError::Content {
            path: format!("{}, line {}", self.path.display(), self.number),
            problem: problem.to_string(),
        }
    }
}
