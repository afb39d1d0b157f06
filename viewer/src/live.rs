//! Server-sent events that announce a change. The page then fetches itself again, and gets the same bytes as a new visitor.

use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use regatta_serving::{SharedTurns, Turn};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::access::Reader;
use crate::problem::Problem;
use crate::progress::Totals;
use crate::source::Source;
use crate::{Viewer, page, progress};

/// Most streams that are open at once.
const STREAMS_MAX: usize = 64;
/// Most of one reader: whoever follows many pages leaves others theirs.
const STREAMS_OF_ONE_MAX: usize = 48;
/// Time between two checks for changes.
const PERIOD: Duration = Duration::from_secs(1);
/// Longest duration of a stream. A browser that still shows the page opens another one.
const STREAM_MAX: Duration = Duration::from_secs(600);
/// Time after which a browser opens the stream again.
const RETRY: Duration = Duration::from_secs(3);

/// Limits the number of open streams.
#[derive(Clone)]
pub(crate) struct Watching {
    places: SharedTurns<Reader>,
    stop: CancellationToken,
}

impl Watching {
    pub(crate) fn new(stop: CancellationToken) -> Self {
        Self { places: SharedTurns::new(STREAMS_MAX, STREAMS_OF_ONE_MAX), stop }
    }

    fn place(&self, reader: Reader) -> Result<Turn, Problem> {
        self.places.take_now(reader).ok_or_else(|| {
            Problem::busy(format!(
                "{STREAMS_MAX} pages, or {STREAMS_OF_ONE_MAX} of one reader, are updated live already; reload this one to see newer results"
            ))
        })
    }
}

/// The state of one stream.
struct Follower {
    viewer: Viewer,
    run: Option<String>,
    before: Option<String>,
    until: Instant,
    _place: Turn,
}

impl Follower {
    async fn fingerprint(&self) -> Result<String, Problem> {
        match &self.run {
            Some(name) => {
                let run = self.viewer.source.run(name).await?;
                Ok(progress::of(&run).await?.fingerprint(run.state()))
            }
            None => fingerprint_of_newest(&self.viewer.source).await,
        }
    }

    /// Waits for a change and returns its event; `None` when the stream is over.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        loop {
            let now = self.fingerprint().await.ok()?;
            let is_first = self.before.is_none();
            if self.before.as_ref() != Some(&now) {
                self.before = Some(now);
                let name = if is_first { "following" } else { "changed" };
                // Browsers do not dispatch an event without data.
                return Some((Ok(Event::default().event(name).retry(RETRY).data("look")), self));
            }
            if Instant::now() >= self.until {
                return None;
            }
            self.viewer.watching.stop.run_until_cancelled(tokio::time::sleep(PERIOD)).await?;
        }
    }
}

/// A text that changes with what pages of all runs show. Only runs that go on are asked about: each stream would ask about hundreds every second.
async fn fingerprint_of_newest(source: &Source) -> Result<String, Problem> {
    let mut all = String::new();
    for run in source.newest().await?.runs {
        let totals = match run.goes_on() {
            true => Totals::of(&run.store.ledger.cell_progress(&run.row.id).await?),
            false => Totals::default(),
        };
        all += &format!("{}/{}/{}/{};", run.name, run.state(), totals.recorded, totals.cost.known.0);
    }
    Ok(all)
}

fn follow(viewer: Viewer, reader: Reader, run: Option<String>) -> Result<Response, Problem> {
    let place = viewer.watching.place(reader)?;
    let follower = Follower { viewer, run, before: None, until: Instant::now() + STREAM_MAX, _place: place };
    let mut response =
        Sse::new(stream::unfold(follower, Follower::next)).keep_alive(KeepAlive::default()).into_response();
    page::protect(response.headers_mut());
    Ok(response)
}

pub(crate) async fn of_run(
    State(viewer): State<Viewer>,
    Extension(reader): Extension<Reader>,
    Path(run): Path<String>,
) -> Result<Response, Problem> {
    viewer.source.run(&run).await?;
    follow(viewer, reader, Some(run))
}

pub(crate) async fn of_all(
    State(viewer): State<Viewer>,
    Extension(reader): Extension<Reader>,
) -> Result<Response, Problem> {
    follow(viewer, reader, None)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::{BoxFuture, ready};
    use jiff::Timestamp;
    use regatta_backends::faults::{Fate, Trouble, Troubles};
    use regatta_backends::{Blobs, Ledger, NewSweep, Quota};
    use regatta_benchmarks::Registry;
    use regatta_catalog::Catalog;
    use regatta_proto::{Digest, SweepId, SweepState};

    use super::*;
    use crate::source::Store;

    /// Lets every call happen, and counts them.
    #[derive(Default)]
    struct Calls(AtomicUsize);

    impl Fate for Calls {
        fn before(&self) -> BoxFuture<'_, Result<(), Trouble>> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Box::pin(ready(Ok(())))
        }
    }

    fn sweep(name: &str) -> NewSweep {
        NewSweep {
            id: name.parse().unwrap(),
            lock: Digest::of(name.as_bytes()),
            name: name.to_owned(),
            budget: None,
            created_at: Timestamp::UNIX_EPOCH,
            cells: Vec::new(),
            shards: Vec::new(),
            owner: None,
            quota: Quota::default(),
            inputs: BTreeSet::new(),
        }
    }

    #[tokio::test]
    async fn runs_that_have_ended_are_not_asked_about_and_their_end_is_a_change() {
        let (ledger, calls) = (Ledger::in_memory().unwrap(), Arc::new(Calls::default()));
        for name in ["a", "b", "c"] {
            ledger.create_sweep(sweep(name)).await.unwrap();
        }
        let catalog = Catalog::new(Blobs::memory(), Registry::new(&[]));
        let store = Store { ledger: ledger.troubled(Troubles::new(calls.clone())), catalog, permits: None };
        let source = Source::Deployment(store);
        let look = async || {
            let before = calls.0.load(Ordering::SeqCst);
            let text = fingerprint_of_newest(&source).await.unwrap();
            (text, calls.0.load(Ordering::SeqCst) - before)
        };
        let (all_go_on, asked) = look().await;
        assert_eq!(asked, 4, "a page of runs, and each run");
        for name in ["a", "b"] {
            let sweep: SweepId = name.parse().unwrap();
            let ended = ledger.transition(&sweep, &[SweepState::Running], SweepState::Cancelled, Timestamp::UNIX_EPOCH);
            assert!(ended.await.unwrap());
        }
        let (one_goes_on, asked) = look().await;
        assert_eq!(asked, 2, "a page of runs, and the run that goes on");
        assert_ne!(all_go_on, one_goes_on);
    }

    #[test]
    fn a_reader_who_follows_many_pages_leaves_others_theirs() {
        let watching = Watching::new(CancellationToken::new());
        let (many, other) = (Reader::of_token("many"), Reader::of_token("other"));
        let held: Vec<Turn> = (0..STREAMS_MAX).filter_map(|_| watching.place(many).ok()).collect();
        assert_eq!(held.len(), STREAMS_OF_ONE_MAX);
        let of_other: Vec<Turn> = (0..STREAMS_MAX).filter_map(|_| watching.place(other).ok()).collect();
        assert_eq!(held.len() + of_other.len(), STREAMS_MAX);
        drop(held);
        assert!(watching.place(many).is_ok());
    }
}
