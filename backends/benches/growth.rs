//! Cost, memory and bytes of a session in a ledger in one file, as a sweep grows: `cargo bench -p regatta-backends --bench growth [-- SESSIONS]`.
//!
//! A sweep is planned, dispatched and recorded as coordinator and scorer do it, without calls, transcripts and messages. A line of JSON is
//! printed whenever ten times as many sessions are recorded; of two lines, only what was done between them is in the second. Linux only.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement may fail loudly, and prints its result")]

mod sessions;

use std::path::Path;
use std::time::Duration;

use regatta_backends::Ledger;
use regatta_backends::ledger::{CallSums, NewShard, NewSweep, RecordState, SessionRecord, ShardRow, TranscriptRef};
use regatta_proto::{CellIndex, ItemIndex, SessionKey, ShardIndex, SweepId, Trial, WorkerId};
use serde_json::json;

use self::sessions::{cell, new_sweep, record, scores};

/// Sessions of a cell, and of a shard.
const CELL: u32 = 100_000;
const SHARD: u32 = 128;
/// Sessions that are recorded at once, and shards that are looked for at once.
const BATCH: u32 = 512;
const SHARDS: u32 = 64;
const QUEUE: &str = "lab";
/// Ticks of the times in `/proc/self/stat` in a second.
const TICKS: f64 = 100.0;

#[tokio::main]
async fn main() {
    let sessions: u32 = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(1_000_000);
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::sqlite(folder.path().join("ledger.sqlite")).await.unwrap();
    let leader = WorkerId::new("leader").unwrap();
    let term = ledger.lead(&leader, Duration::from_secs(24 * 3600)).await.unwrap().unwrap();
    let sweep = SweepId::new("growth").unwrap();
    let begun = cpu_s();
    ledger.create_sweep(planned(&sweep, sessions)).await.unwrap();
    let planning = cpu_s() - begun;
    println!("{}", json!({ "planned": sessions, "cpu_us_a_session": 1e6 * planning / f64::from(sessions) }));
    let generation = ledger.sweep(&sweep).await.unwrap().unwrap().generation;
    let (mut recorded, mut batch, mut mark) = (0, Vec::new(), Mark::new());
    loop {
        let shards = ledger.next_shards(&sweep, QUEUE, SHARDS).await.unwrap();
        if shards.is_empty() {
            break;
        }
        for ShardRow { index, cell, first, count, .. } in shards {
            assert!(ledger.claim_shard(&sweep, index, generation, term).await.unwrap(), "{index:?} is claimed already");
            assert!(ledger.confirm_shard(&sweep, index, count, term).await.unwrap(), "{index:?} is confirmed already");
            batch.extend((first..first + count).map(|item| session(&sweep, cell, ItemIndex(item))));
            if batch.len() >= BATCH as usize {
                recorded += batch.len() as u32;
                ledger.record(std::mem::take(&mut batch)).await.unwrap();
                mark.tell(recorded, folder.path());
            }
        }
        // As a coordinator does in each round.
        ledger.cell_progress(&sweep).await.unwrap();
    }
    recorded += batch.len() as u32;
    ledger.record(batch).await.unwrap();
    mark.print(recorded, folder.path());
}

/// The last measurement.
struct Mark {
    /// Sessions at which it is measured next.
    next: u32,
    recorded: u32,
    cpu_s: f64,
}

impl Mark {
    fn new() -> Self {
        Self { next: 1_000, recorded: 0, cpu_s: cpu_s() }
    }

    fn tell(&mut self, recorded: u32, folder: &Path) {
        if recorded >= self.next {
            self.print(recorded, folder);
            self.next = self.next.saturating_mul(10);
        }
    }

    fn print(&mut self, recorded: u32, folder: &Path) {
        if recorded == self.recorded {
            return;
        }
        let now = cpu_s();
        let each_us = 1e6 * (now - self.cpu_s) / f64::from(recorded - self.recorded);
        let bytes = std::fs::metadata(folder.join("ledger.sqlite")).unwrap().len();
        let line = json!({
            "recorded": recorded,
            "cpu_us_a_session": each_us,
            "resident_mb": resident_mb(),
            "bytes_a_session": bytes as f64 / f64::from(recorded),
            "scores_bytes": scores().to_string().len(),
        });
        println!("{line}");
        (self.recorded, self.cpu_s) = (recorded, now);
    }
}

/// Processor time of this process so far, all threads and the kernel's part.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name, in parentheses, may have spaces; utime and stime are the twelfth and the thirteenth field after it.
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace().skip(11).take(2);
    fields.map(|ticks| ticks.parse::<f64>().unwrap() / TICKS).sum()
}

fn resident_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}

fn planned(id: &SweepId, sessions: u32) -> NewSweep {
    let cells = sessions.div_ceil(CELL);
    let items = |cell: u32| CELL.min(sessions - cell * CELL);
    let ranges = (0..cells).flat_map(|cell| {
        let firsts = (0..items(cell)).step_by(SHARD as usize);
        firsts.map(move |first| (cell, first)).collect::<Vec<_>>()
    });
    let shards = (0..).zip(ranges).map(|(index, (cell, first))| NewShard {
        index: ShardIndex(index),
        cell: CellIndex(cell),
        first,
        count: SHARD.min(items(cell) - first),
    });
    let cells = (0..cells).map(|index| cell(index, Trial(index as u16), items(index), QUEUE));
    new_sweep(id, cells.collect(), shards.collect())
}

fn session(sweep: &SweepId, cell: CellIndex, item: ItemIndex) -> SessionRecord {
    let number = u64::from(cell.0) * u64::from(CELL) + u64::from(item.0);
    let transcript = TranscriptRef {
        segment: format!("transcripts/{:016x}.jsonl.zst", number / u64::from(BATCH)),
        line: (number % u64::from(BATCH)) as u32,
    };
    let key = SessionKey { sweep: sweep.clone(), cell, item };
    record(key, number, CallSums::default(), transcript, RecordState::Settled { scores: scores() })
}
