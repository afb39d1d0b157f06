//! The sweeps a process knows: locks and data sets, written once to Blobs when a sweep is planned and read once by every process.

mod catalog;
mod contests;
mod dataset;
mod release;
mod segment;
mod sweep;

pub use catalog::{Catalog, CatalogError};
pub use contests::{DecideError, SweepContest, contests, decidable};
pub use dataset::{load_dataset, store_dataset, store_manifest};
pub use release::Release;
pub use segment::{SegmentError, StoredTranscript, read_segment, read_transcript, write_segment};
pub use sweep::Sweep;
