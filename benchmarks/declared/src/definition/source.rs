//! Reading the file, and errors that name its lines.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};

use regatta_benchmarks::DataError;
use regatta_proto::{FileSet, check_yaml, plain_message};
use serde::de::DeserializeOwned;
use serde_yaml_ng::with::singleton_map_recursive;

use super::locate::line_of;
use super::{Coded, Definition, FILE, VERSION};

/// Largest file, in bytes.
const BYTES_MAX: usize = 1 << 20;

/// Steps that all templates of a benchmark may take together while it is loaded: they are filled for each record and each setting.
const LOAD_STEPS_MAX: u64 = 200_000_000;
/// Steps that are left once the benchmark is loaded: from then on each session has the limit of its own templates alone.
const UNLIMITED: u64 = u64::MAX;

/// The text of a benchmark's file, and where it came from.
#[derive(Debug)]
pub(crate) struct Source {
    origin: String,
    text: String,
    /// Steps that its templates may still take.
    steps_left: AtomicU64,
}

impl Source {
    /// Reads the definition of the folder `files`.
    pub(crate) fn of(files: &FileSet) -> Result<Self, DataError> {
        let origin = files.origin().to_owned();
        let Some(content) = files.get(FILE) else {
            return Err(DataError::MissingFile {
                origin,
                path: FILE.to_owned(),
                hint: "no benchmark of this build has that name, and a folder that declares one has this file"
                    .to_owned(),
            });
        };
        let unreadable = |place: String, problem: String| DataError::Malformed {
            origin: files.origin().to_owned(),
            path: FILE.to_owned(),
            place,
            problem,
        };
        if content.len() > BYTES_MAX {
            let problem = format!("has {} bytes, at most {BYTES_MAX} are read", content.len());
            return Err(unreadable("whole file".to_owned(), problem));
        }
        let text = str::from_utf8(content).map_err(|error| {
            let line = content.iter().take(error.valid_up_to()).filter(|byte| **byte == b'\n').count() + 1;
            unreadable(format!("line {line}"), "not UTF-8".to_owned())
        })?;
        Ok(Self { origin, text: text.to_owned(), steps_left: AtomicU64::new(LOAD_STEPS_MAX) })
    }

    /// The source of a benchmark whose templates may take so many steps while it is loaded.
    #[cfg(test)]
    pub(crate) fn with_steps(self, steps: u64) -> Self {
        Self { steps_left: AtomicU64::new(steps), ..self }
    }

    /// Counts the steps that the template at `path` has taken.
    ///
    /// # Errors
    /// When the templates have taken more than they may while the benchmark is loaded.
    pub(crate) fn take_steps(&self, path: &str, steps: u64) -> Result<(), DataError> {
        let take = |left: u64| if left == UNLIMITED { Some(left) } else { left.checked_sub(steps) };
        match self.steps_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(()),
            Err(_) => Err(self.problem(
                path,
                format!(
                    "the templates of the benchmark take more than {LOAD_STEPS_MAX} steps in all to be filled from its records; make them \
                     simpler, or split the benchmark"
                ),
            )),
        }
    }

    /// The benchmark is loaded.
    pub(crate) fn loaded(&self) {
        self.steps_left.store(UNLIMITED, Ordering::Relaxed);
    }

    /// Reads the definition from the text.
    ///
    /// # Errors
    /// With the line of what is no YAML, unknown, missing or of another type.
    pub(crate) fn read(&self) -> Result<Definition, DataError> {
        let definition: Definition = self.parse()?;
        self.check_version(definition.v)?;
        Ok(definition)
    }

    /// Reads the definition of a benchmark with a program.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn read_coded(&self) -> Result<Coded, DataError> {
        let definition: Coded = self.parse()?;
        self.check_version(definition.v)?;
        Ok(definition)
    }

    /// `true` if a program answers the functions of this benchmark. A file that cannot be read at all names none.
    pub(crate) fn names_program(&self) -> bool {
        check_yaml(&self.text).is_ok()
            && serde_yaml_ng::from_str::<serde_yaml_ng::Value>(&self.text)
                .is_ok_and(|document| document.get("program").is_some())
    }

    fn check_version(&self, version: u32) -> Result<(), DataError> {
        if version == VERSION {
            Ok(())
        } else {
            Err(self.problem("v", format!("is {version}; this build reads {VERSION}")))
        }
    }

    fn parse<D: DeserializeOwned>(&self) -> Result<D, DataError> {
        check_yaml(&self.text).map_err(|problem| self.malformed("whole file".to_owned(), &problem))?;
        let document = serde_yaml_ng::Deserializer::from_str(&self.text);
        let definition = singleton_map_recursive::deserialize(document).map_err(|error| self.yaml(&error))?;
        // A map of ours takes the last of two equal keys without a word; a document refuses them.
        serde_yaml_ng::from_str::<serde_yaml_ng::Value>(&self.text).map_err(|error| self.yaml(&error))?;
        Ok(definition)
    }

    /// An error about the value at `path`.
    pub(crate) fn problem(&self, path: &str, problem: impl Display) -> DataError {
        self.problem_below(path, 0, problem)
    }

    /// An error about the line `below` lines below the first line of the text at `path`.
    pub(crate) fn problem_below(&self, path: &str, below: usize, problem: impl Display) -> DataError {
        let place = match line_of(&self.text, path) {
            Some(line) => format!("line {}, {path}", self.line_in_text(line, below)),
            None => path.to_owned(),
        };
        self.malformed(place, &problem)
    }

    /// A text in a block begins in the line after its `|`. Lines of a folded one are others than those of the file: then its first is told.
    fn line_in_text(&self, line: usize, below: usize) -> usize {
        let first = self.text.lines().nth(line.saturating_sub(1)).unwrap_or("").trim_end();
        let header = first.rsplit([' ', ':']).next().unwrap_or("");
        if header.starts_with('|') { line + 1 + below } else { line }
    }

    fn yaml(&self, error: &serde_yaml_ng::Error) -> DataError {
        let said = error.to_string();
        match error.location() {
            Some(at) => {
                let problem = said.rsplit_once(" at line ").map_or(said.as_str(), |(problem, _)| problem);
                self.malformed(format!("line {}, column {}", at.line(), at.column()), &plain_message(problem))
            }
            None => self.malformed("whole file".to_owned(), &plain_message(&said)),
        }
    }

    fn malformed(&self, place: String, problem: &dyn Display) -> DataError {
        DataError::Malformed { origin: self.origin.clone(), path: FILE.to_owned(), place, problem: problem.to_string() }
    }
}
