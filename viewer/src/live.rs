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
    use super::*;

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
