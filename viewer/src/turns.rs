//! Turns at making pages: so many are in memory at once, each until it is sent.

use std::time::Duration;

use axum::Extension;
use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use regatta_serving::{SharedTurns, hold_until_sent};

use crate::access::Reader;
use crate::problem::Problem;

/// Pages that are made or sent at once. Each may hold a whole transcript.
const PAGES_MAX: usize = 4;
/// Most of one reader: who takes pages slowly leaves the others a turn.
const PAGES_OF_ONE_MAX: usize = 3;
/// Longest wait for one's turn.
const TURN_MAX: Duration = Duration::from_secs(30);

/// The turns that all requests for pages share.
#[derive(Clone)]
pub(crate) struct Turns(SharedTurns<Reader>);

impl Default for Turns {
    fn default() -> Self {
        Self(SharedTurns::new(PAGES_MAX, PAGES_OF_ONE_MAX))
    }
}

/// Makes a page when it is its turn, which lasts until the page is sent.
pub(crate) async fn take(
    State(Turns(turns)): State<Turns>,
    Extension(reader): Extension<Reader>,
    request: Request,
    next: Next,
) -> Response {
    let Some(turn) = turns.take(reader, TURN_MAX).await else {
        return Problem::busy("too many pages are asked for at once; try again in a moment").into_response();
    };
    let (mut head, body) = next.run(request).await.into_parts();
    if let Some(length) = body.size_hint().exact() {
        head.headers.entry(CONTENT_LENGTH).or_insert_with(|| length.into());
    }
    Response::from_parts(head, Body::from_stream(hold_until_sent(body.into_data_stream(), turn)))
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::to_bytes;
    use axum::http::StatusCode;
    use axum::middleware;
    use axum::routing::get;
    use tower::ServiceExt as _;

    use super::*;

    async fn ask(router: &Router, reader: &str) -> Response {
        let request = Request::get("/").extension(Reader::of_token(reader));
        router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    fn router(turns: &Turns) -> Router {
        let router = Router::new().route("/", get(async || "page"));
        router.layer(middleware::from_fn_with_state(turns.clone(), take))
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_has_its_turn_until_it_is_sent() {
        let turns = Turns::default();
        let router = router(&turns);
        let mut unsent = Vec::new();
        for reader in 0..PAGES_MAX {
            unsent.push(ask(&router, &reader.to_string()).await);
        }
        let begun = tokio::time::Instant::now();
        let refused = ask(&router, "late").await;
        assert_eq!((refused.status(), begun.elapsed()), (StatusCode::SERVICE_UNAVAILABLE, TURN_MAX));
        let page = to_bytes(refused.into_body(), 1 << 20).await.unwrap();
        assert!(String::from_utf8_lossy(&page).contains("try again in a moment"));
        let sent = unsent.pop().unwrap();
        assert_eq!(sent.headers()[CONTENT_LENGTH], "4");
        assert_eq!(to_bytes(sent.into_body(), 10).await.unwrap(), "page");
        assert_eq!(ask(&router, "late").await.status(), StatusCode::OK);
        drop(unsent);
        assert_eq!(turns.0.free(), PAGES_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_who_takes_no_page_that_was_asked_for_leaves_others_a_turn() {
        let router = router(&Turns::default());
        let mut unsent = Vec::new();
        for _ in 0..PAGES_OF_ONE_MAX {
            unsent.push(ask(&router, "slow").await);
        }
        assert_eq!(ask(&router, "slow").await.status(), StatusCode::SERVICE_UNAVAILABLE);
        let begun = tokio::time::Instant::now();
        let other = ask(&router, "other").await;
        assert_eq!((other.status(), begun.elapsed()), (StatusCode::OK, Duration::ZERO));
    }
}
