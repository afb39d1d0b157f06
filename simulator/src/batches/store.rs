//! The store of files and batches.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jiff::Timestamp;
use regatta_proto::Digest;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::lines::LineCounts;
use crate::api_error::{ApiError, Dialect};
use crate::formats::Format;

/// Most bytes of uploaded files. Nothing is ever deleted, so this is the limit of an endpoint's lifetime.
const MAX_STORED_BYTES: usize = 1 << 30;
/// Most batches of an endpoint.
const MAX_BATCHES: usize = 10_000;

/// A file, uploaded or with results.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) purpose: &'static str,
    pub(super) created: Timestamp,
    pub(super) content: Bytes,
}

/// One batch.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    pub(super) id: String,
    pub(super) origin: Origin,
    /// Number of requests.
    pub(super) total: u64,
    pub(super) created: Timestamp,
    /// Time at which its client requested cancellation.
    pub(super) cancelling: Option<Timestamp>,
    /// Cancels the processing of the batch.
    pub(super) cancel: CancellationToken,
    pub(super) end: Option<End>,
}

/// The provider's API by which a batch was submitted, and the batch's further properties there.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    Openai { input_file: String, format: Format, metadata: Option<BTreeMap<String, String>> },
    Anthropic,
}

/// The end of a batch.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) at: Timestamp,
    pub(super) counts: LineCounts,
    pub(super) results: Results,
}

/// Results of a batch.
#[derive(Debug, Clone)]
pub(super) enum Results {
    /// Ids of the files with answers and with errors; `None` if there are none.
    Files { output: Option<String>, errors: Option<String> },
    /// Lines of JSON.
    Lines(Bytes),
    /// None, because the submitted file was rejected.
    Rejected(Vec<Mistake>),
}

/// An error in a file of requests.
#[derive(Debug, Clone)]
pub(super) struct Mistake {
    pub(super) code: &'static str,
    pub(super) message: String,
    /// Line of the file, from 1.
    pub(super) line: Option<usize>,
    pub(super) param: Option<&'static str>,
}

impl Origin {
    pub(super) const fn dialect(&self) -> Dialect {
        match self {
            Self::Openai { .. } => Dialect::Openai,
            Self::Anthropic => Dialect::Anthropic,
        }
    }
}

/// Files and batches by id.
#[derive(Debug, Default)]
pub(super) struct Store(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    files: HashMap<String, File>,
    uploaded_bytes: usize,
    /// Batches in the order of their creation.
    batches: Vec<Batch>,
    ids: u64,
}

impl Store {
    /// Returns an id that is unique at the endpoint, and the same in every run with the same sequence of requests.
    pub(super) fn new_id(&self, prefix: &str) -> String {
        let mut kept = self.kept();
        kept.ids += 1;
        let digest =
            Digest::of_parts([b"regatta/simulated-id/1".as_slice(), prefix.as_bytes(), &kept.ids.to_le_bytes()]);
        format!("{prefix}{}", &digest.to_string()[..24])
    }

    /// Stores an uploaded file, if there is space.
    pub(super) fn upload(&self, file: File) -> Result<(), ApiError> {
        let mut kept = self.kept();
        let bytes = kept.uploaded_bytes + file.content.len();
        if bytes > MAX_STORED_BYTES {
            let message = format!("this endpoint takes {MAX_STORED_BYTES} bytes of files in its life; start another");
            return Err(ApiError::too_large(message));
        }
        kept.uploaded_bytes = bytes;
        kept.files.insert(file.id.clone(), file);
        Ok(())
    }

    /// Stores a file of results.
    pub(super) fn keep(&self, file: File) {
        self.kept().files.insert(file.id.clone(), file);
    }

    /// All files, the newest first.
    pub(super) fn files(&self) -> Vec<File> {
        let mut files: Vec<File> = self.kept().files.values().cloned().collect();
        files.sort_by(|one, other| other.created.cmp(&one.created).then_with(|| one.id.cmp(&other.id)));
        files
    }

    pub(super) fn file(&self, id: &str) -> Option<File> {
        self.kept().files.get(id).cloned()
    }

    /// Stores a new batch, if there is space.
    pub(super) fn create(&self, batch: Batch) -> Result<(), ApiError> {
        let mut kept = self.kept();
        if kept.batches.len() == MAX_BATCHES {
            let message = format!("this endpoint takes {MAX_BATCHES} batches in its life; start another");
            return Err(ApiError::bad_request(None, message));
        }
        kept.batches.push(batch);
        Ok(())
    }

    pub(super) fn batch(&self, dialect: Dialect, id: &str) -> Option<Batch> {
        self.kept().batches.iter().find(|batch| batch.id == id && batch.origin.dialect() == dialect).cloned()
    }

    /// All batches of `dialect`, newest first.
    pub(super) fn batches(&self, dialect: Dialect) -> Vec<Batch> {
        self.kept().batches.iter().rev().filter(|batch| batch.origin.dialect() == dialect).cloned().collect()
    }

    /// Requests the cancellation of a batch, and returns the batch; one that has ended is returned unchanged.
    pub(super) fn cancel(&self, dialect: Dialect, id: &str, now: Timestamp) -> Option<Batch> {
        let mut kept = self.kept();
        let batch = kept.batches.iter_mut().find(|batch| batch.id == id && batch.origin.dialect() == dialect)?;
        if batch.end.is_none() {
            batch.cancelling.get_or_insert(now);
            batch.cancel.cancel();
        }
        Some(batch.clone())
    }

    /// Ends a batch.
    pub(super) fn end(&self, id: &str, end: End) {
        if let Some(batch) = self.kept().batches.iter_mut().find(|batch| batch.id == id) {
            batch.end = Some(end);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The batches of an endpoint.
#[derive(Debug)]
pub(crate) struct Batches {
    pub(super) store: Store,
    /// Tracks the tasks that process batches.
    pub(super) tasks: TaskTracker,
    /// Aborts all of these tasks.
    pub(super) stopping: CancellationToken,
}

impl Batches {
    /// No batches. Their tasks are tracked by `tasks`, and aborted when `stopping` fires.
    pub(crate) fn new(tasks: TaskTracker, stopping: CancellationToken) -> Self {
        Self { store: Store::default(), tasks, stopping }
    }
}
