//! Division of reports into partitions. One consumer has a partition at a time, so that in it nothing overtakes a report, whoever records it.

use regatta_proto::{Digest, Report, SessionKey};

/// The number of the partition of `of` that `report` goes to. All of one session go to the same.
pub(super) fn partition_of(report: &Report, of: u8) -> u8 {
    if of <= 1 {
        return 0;
    }
    let of_text = |text: &str| Digest::of(text.as_bytes());
    let key = match report {
        Report::Echo { partition, .. } => return partition.number.min(of - 1),
        Report::Session(outcome) => of_session(&outcome.key),
        Report::HandedOver { key, .. } => of_session(key),
        Report::Judge(outcome) => of_text(outcome.attempt.as_str()),
        Report::Progress(progress) => of_text(progress.worker.as_str()),
        Report::Rejudge { sweep, .. } | Report::Tabulate { sweep, .. } => of_text(sweep.as_str()),
    };
    key.bytes()[0] % of
}

fn of_session(SessionKey { sweep, cell, item }: &SessionKey) -> Digest {
    Digest::of_parts([sweep.as_str().as_bytes(), &cell.0.to_le_bytes(), &item.0.to_le_bytes()])
}
