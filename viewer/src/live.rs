//! Server-sent events that announce a change. The page then fetches itself again, and gets the same bytes as a new visitor.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::problem::Problem;
use crate::{Viewer, page, progress};

/// Most streams that are open at once.
const STREAMS_MAX: usize = 64;
/// Time between two checks for changes.
const PERIOD: Duration = Duration::from_secs(1);
/// Longest duration of a stream. A browser that still shows the page opens another one.
const STREAM_MAX: Duration = Duration::from_secs(600);
/// Time after which a browser opens the stream again.
const RETRY: Duration = Duration::from_secs(3);

/// Limits the number of open streams.
#[derive(Clone)]
pub(crate) struct Watching {
    places: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Watching {
    pub(crate) fn new(stop: CancellationToken) -> Self {
        Self { places: Arc::new(Semaphore::new(STREAMS_MAX)), stop }
    }

    fn place(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.places.clone().try_acquire_owned().map_err(|_| {
            Problem::busy(format!("{STREAMS_MAX} pages are updated live already; reload this one to see newer results"))
        })
    }
}

/// The state of one stream.
struct Follower {
    viewer: Viewer,
    run: Option<String>,
    before: Option<String>,
    until: Instant,
    _place: OwnedSemaphorePermit,
}

impl Follower {
    async fn fingerprint(&self) -> Result<String, Problem> {
        match &self.run {
            Some(name) => {
                let run = self.viewer.source.run(name).await?;
                Ok(progress::of(&run).await?.fingerprint(run.state()))
            }
            None => {
                let mut all = String::new();
                for run in self.viewer.source.newest().await?.runs {
                    let cells = run.store.ledger.cell_progress(&run.row.id).await?;
                    let totals = progress::Totals::of(&cells);
                    all += &format!("{}/{}/{}/{};", run.name, run.state(), totals.recorded, totals.cost.known.0);
                }
                Ok(all)
            }
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

fn follow(viewer: Viewer, run: Option<String>) -> Result<Response, Problem> {
    let place = viewer.watching.place()?;
    let follower = Follower { viewer, run, before: None, until: Instant::now() + STREAM_MAX, _place: place };
    let mut response =
        Sse::new(stream::unfold(follower, Follower::next)).keep_alive(KeepAlive::default()).into_response();
    page::protect(response.headers_mut());
    Ok(response)
}

pub(crate) async fn of_run(State(viewer): State<Viewer>, Path(run): Path<String>) -> Result<Response, Problem> {
    viewer.source.run(&run).await?;
    follow(viewer, Some(run))
}

pub(crate) async fn of_all(State(viewer): State<Viewer>) -> Result<Response, Problem> {
    follow(viewer, None)
}
