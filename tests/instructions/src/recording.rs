//! Sessions in the ledger, in batches as a scorer sends them.

use regatta_backends::Ledger;
use regatta_backends::ledger::{CallSums, NewSweep, RecordState, SessionRecord, TranscriptRef};
use regatta_proto::{CellIndex, Digest, ItemIndex, SessionKey, SweepId, Trial, Usage};

use crate::recorded;

/// Sessions of a batch.
const BATCH: u32 = 64;

/// Batches of sessions that have ended and are scored.
pub(crate) fn records(times: u32) {
    // One thread beside that of the ledger: others would look for work, more or less often.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::sqlite(folder.path().join("ledger.sqlite")).await.unwrap();
        let sweep: SweepId = "instructions".parse().unwrap();
        ledger.create_sweep(new_sweep(&sweep)).await.unwrap();
        for batch in 0..times {
            let items = batch * BATCH..(batch + 1) * BATCH;
            ledger.record(items.map(|item| record(&sweep, ItemIndex(item))).collect()).await.unwrap();
        }
    });
}

fn new_sweep(id: &SweepId) -> NewSweep {
    let cells = vec![recorded::cell(0, Trial(0), 1_000_000, "lab")];
    NewSweep { lock: Digest::of(b"lock"), ..recorded::new_sweep(id, cells, Vec::new()) }
}

fn record(sweep: &SweepId, item: ItemIndex) -> SessionRecord {
    let key = SessionKey { sweep: sweep.clone(), cell: CellIndex(0), item };
    let transcript = TranscriptRef { segment: "transcripts/000123-3f9a2c.zst".to_owned(), line: item.0 };
    let state = RecordState::Settled { scores: recorded::scores() };
    SessionRecord {
        usage: Usage { input: 1200, output: 300, ..Usage::default() },
        ..recorded::record(key, u64::from(item.0), CallSums::default(), transcript, state)
    }
}
