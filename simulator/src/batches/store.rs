//! What is kept of files and batches.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jiff::Timestamp;
use regatta_proto::Digest;
use tokio_util::sync::CancellationToken;

use super::lines::LineCounts;
use crate::api_error::{ApiError, Dialect};
use crate::formats::Format;

/// Most bytes of uploaded files at once. Nothing is ever deleted, so this is what an endpoint can take in its life.
const MAX_STORED_BYTES: usize = 1 << 30;
/// Most batches of an endpoint.
const MAX_BATCHES: usize = 10_000;

/// A file, uploaded or made of results.
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
    /// Requests.
    pub(super) total: u64,
    pub(super) created: Timestamp,
    /// When its client asked for its end.
    pub(super) cancelling: Option<Timestamp>,
    /// Tells the work on it to end.
    pub(super) cancel: CancellationToken,
    pub(super) end: Option<End>,
}

/// Who handed a batch in, and what is told about it besides.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    Openai { input_file: String, format: Format, metadata: Option<BTreeMap<String, String>> },
    Anthropic,
}

/// How a batch ended.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) at: Timestamp,
    pub(super) counts: LineCounts,
    pub(super) results: Results,
}

/// What a batch left behind.
#[derive(Debug, Clone)]
pub(super) enum Results {
    /// Ids of the files of answers and of errors, where there are any.
    Files { output: Option<String>, errors: Option<String> },
    /// Lines of JSON.
    Lines(Bytes),
    /// Nothing: the file handed in was not one of requests.
    Rejected(Vec<Mistake>),
}

/// What is wrong with a file of requests.
#[derive(Debug, Clone)]
pub(super) struct Mistake {
    pub(super) code: &'static str,
    pub(super) message: String,
    /// Of the file, from 1.
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
    /// In the order of their creation.
    batches: Vec<Batch>,
    ids: u64,
}

impl Store {
    /// An id that no other file or batch of the endpoint has; the same in every run that does the same in the same order.
    pub(super) fn new_id(&self, prefix: &str) -> String {
        let mut kept = self.kept();
        kept.ids += 1;
        let digest =
            Digest::of_parts([b"regatta/simulated-id/1".as_slice(), prefix.as_bytes(), &kept.ids.to_le_bytes()]);
        format!("{prefix}{}", &digest.to_string()[..24])
    }

    /// Keeps an uploaded file, while there is room.
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

    /// Keeps a file of results.
    pub(super) fn keep(&self, file: File) {
        self.kept().files.insert(file.id.clone(), file);
    }

    pub(super) fn file(&self, id: &str) -> Option<File> {
        self.kept().files.get(id).cloned()
    }

    /// Keeps a new batch, while there is room.
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

    /// Every batch of `dialect`, newest first.
    pub(super) fn batches(&self, dialect: Dialect) -> Vec<Batch> {
        self.kept().batches.iter().rev().filter(|batch| batch.origin.dialect() == dialect).cloned().collect()
    }

    /// Asks for the end of a batch that has not ended, and returns it; a batch that has ended is returned as it is.
    pub(super) fn cancel(&self, dialect: Dialect, id: &str, now: Timestamp) -> Option<Batch> {
        let mut kept = self.kept();
        let batch = kept.batches.iter_mut().find(|batch| batch.id == id && batch.origin.dialect() == dialect)?;
        if batch.end.is_none() {
            batch.cancelling.get_or_insert(now);
            batch.cancel.cancel();
        }
        Some(batch.clone())
    }

    /// A batch has ended.
    pub(super) fn end(&self, id: &str, end: End) {
        if let Some(batch) = self.kept().batches.iter_mut().find(|batch| batch.id == id) {
            batch.end = Some(end);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
