//! Reports of workers, awaited one by one.

use regatta_backends::{Consumer, Queue};
use regatta_proto::{Digest, JudgeOutcome, OpenAttempt, Report, SessionOutcome};

use super::within;

/// Reports of workers, in the order in which they come.
pub(crate) struct Reports(pub(super) Consumer<Report>);

impl Reports {
    pub(crate) async fn next(&mut self) -> Report {
        let delivery = within(self.0.next()).await.expect("the queue is open");
        delivery.receipt.ack().await;
        delivery.message
    }

    /// The next report that is not about progress.
    pub(crate) async fn result(&mut self) -> Report {
        loop {
            match self.next().await {
                Report::Progress(_) => {}
                result => return result,
            }
        }
    }

    pub(crate) async fn outcome(&mut self) -> SessionOutcome {
        match self.result().await {
            Report::Session(outcome) => *outcome,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn verdicts(&mut self) -> JudgeOutcome {
        match self.result().await {
            Report::Judge(outcome) => outcome,
            other => panic!("{other:?}"),
        }
    }

    /// The next attempt in progress for which `wanted` holds.
    pub(crate) async fn progress(&mut self, wanted: impl Fn(&OpenAttempt) -> bool) -> OpenAttempt {
        loop {
            match self.next().await {
                Report::Progress(progress) => {
                    if let Some(open) = progress.open.into_iter().find(|open| wanted(open)) {
                        return open;
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Reports that were not read yet, without progress. For when no worker is left.
    pub(crate) async fn rest(mut self, queue: &Queue) -> Vec<Report> {
        let end = Report::Tabulate { sweep: "end".parse().unwrap(), lock: Digest::of(b"end"), generation: None };
        queue.publish_reports(vec![end.clone()]).await.unwrap();
        let mut rest = Vec::new();
        loop {
            match self.result().await {
                report if report == end => return rest,
                report => rest.push(report),
            }
        }
    }
}
