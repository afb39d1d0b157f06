//! The sweeps a process knows: locks and data sets, written once to Blobs when a sweep is planned and read once by every process.

mod audited;
mod catalog;
mod checkpoints;
mod contests;
mod dataset;
mod decided;
mod decided_so_far;
mod inputs;
mod recent;
mod release;
mod segment;
mod sweep;

pub use catalog::{Catalog, CatalogError, read_lock};
pub use checkpoints::{checkpoint_key, checkpoint_keys, remove_checkpoints};
pub use contests::{DecideError, SweepContest, contests, decidable};
pub use dataset::{load_dataset, read_manifest, store_dataset, store_manifest};
pub use decided::{DecidedContest, DecidedContestant, DecidedSequence, SequencePoint, SequenceRelation, cost_of_grid};
pub use decided_so_far::{ContestSoFar, DecidedSoFar, decided_so_far, stage_of_rounds};
pub use inputs::{Input, InputKind, read_input, store_input, sweep_inputs};
pub use release::Release;
pub use segment::{
    Reported, SegmentError, StoredTranscript, is_intact, line_in_full, read_lines_of_segment, read_segment,
    read_transcript, segment_lines, write_segment, write_segment_in_full,
};
pub use sweep::Sweep;
