//! Bodies of requests, read within the budget of bytes that the process may hold: where there is no room, nothing is read.

use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::StreamExt as _;
use regatta_memory::{ByteBudget, HeldBytes, parsed_bytes};
use regatta_proto::OwnerName;
use regatta_serving::{BODY_TIME_MAX, SharedTurns, Turn};
use tokio::time::{Instant, timeout, timeout_at};

use super::{BODY_BYTES_MAX, Problem};
use crate::Principal;

/// Longest pause between two pieces of a body.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Longest body that takes no turn, in bytes: the budget has a share of its own for so short ones.
const SHORT_BYTES_MAX: usize = 128 << 10;
/// Longer bodies that are held at once.
const LONG_MAX: usize = 16;
/// Most of one owner: whoever sends several slowly would hold as much of the budget as there is for all.
const LONG_OF_ONE_MAX: usize = 1;
/// Longest wait for the turn of a long body.
const LONG_WAIT: Duration = Duration::from_secs(30);

/// Reads bodies within a budget; clones share it.
#[derive(Debug, Clone)]
pub(super) struct Holding {
    bytes: ByteBudget,
    long: SharedTurns<OwnerName>,
}

impl Holding {
    pub(super) fn within(bytes: ByteBudget) -> Self {
        Self { bytes, long: SharedTurns::new(LONG_MAX, LONG_OF_ONE_MAX) }
    }
}

/// Reads the body of `request` whole, and holds it until the request is answered.
pub(super) async fn hold(State(holding): State<Holding>, request: Request, next: Next) -> Response {
    let Some(owner) = request.extensions().get::<Principal>().map(|principal| principal.owner.clone()) else {
        // The guard stands before every route.
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let (head, body) = request.into_parts();
    let mut held = holding.bytes.holder().read();
    match read(body, &mut held, &holding.long, &owner).await {
        Ok((body, _turn)) => next.run(Request::from_parts(head, Body::from(body))).await,
        Err((status, error)) => (status, Json(Problem { error })).into_response(),
    }
}

/// The body, and its turn if it is a long one.
async fn read(
    body: Body,
    held: &mut HeldBytes,
    long: &SharedTurns<OwnerName>,
    owner: &OwnerName,
) -> Result<(Bytes, Option<Turn>), (StatusCode, String)> {
    let too_large = |limit: u64| (StatusCode::PAYLOAD_TOO_LARGE, format!("a request has at most {limit} bytes"));
    let declared = body.size_hint().lower();
    if declared > BODY_BYTES_MAX as u64 {
        return Err(too_large(BODY_BYTES_MAX as u64));
    }
    let (mut pieces, mut whole, mut turn) = (body.into_data_stream(), Vec::new(), None);
    let mut end = Instant::now() + BODY_TIME_MAX;
    loop {
        let piece = match timeout_at(end, timeout(PAUSE_MAX, pieces.next())).await {
            Ok(Ok(Some(Ok(piece)))) => piece,
            Ok(Ok(Some(Err(error)))) => {
                return Err((StatusCode::BAD_REQUEST, format!("the request broke off: {error}")));
            }
            Ok(Ok(None)) => break,
            Ok(Err(_)) => {
                let problem = format!("the request paused for {} s; send it again", PAUSE_MAX.as_secs());
                return Err((StatusCode::REQUEST_TIMEOUT, problem));
            }
            Err(_) => {
                let problem = format!("the request took longer than {} s; send it again", BODY_TIME_MAX.as_secs());
                return Err((StatusCode::REQUEST_TIMEOUT, problem));
            }
        };
        let length = whole.len() + piece.len();
        if length > BODY_BYTES_MAX {
            return Err(too_large(BODY_BYTES_MAX as u64));
        }
        let waiting = Instant::now();
        if length > SHORT_BYTES_MAX && turn.is_none() {
            let taken = long.take(owner.clone(), LONG_WAIT).await;
            turn = Some(taken.ok_or_else(|| {
                let problem = format!("{owner} has too many long requests at once; try again in a moment");
                (StatusCode::TOO_MANY_REQUESTS, problem)
            })?);
        }
        held.grow(piece.len() as u64).await.map_err(|error| too_large(error.limit))?;
        // Whoever waits for room is not slow.
        end += waiting.elapsed();
        whole.extend_from_slice(&piece);
    }
    let parsed = parsed_bytes(&whole) - whole.len() as u64;
    held.grow(parsed).await.map_err(|error| too_large(error.limit))?;
    Ok((whole.into(), turn))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::{FutureExt as _, stream};
    use tokio::time::sleep;

    use super::*;

    /// Of which one request has a quarter at most.
    const BUDGET: u64 = 1024;

    fn body(pieces: &[usize]) -> Body {
        let pieces: Vec<_> = pieces.iter().map(|length| Ok::<_, Infallible>(vec![b'x'; *length])).collect();
        Body::from_stream(stream::iter(pieces))
    }

    fn alice() -> OwnerName {
        "alice".parse().unwrap()
    }

    fn turns() -> SharedTurns<OwnerName> {
        Holding::within(ByteBudget::default()).long
    }

    async fn read_within(body: Body, held: &mut HeldBytes) -> Result<Bytes, (StatusCode, String)> {
        read(body, held, &turns(), &alice()).await.map(|(body, _)| body)
    }

    async fn read_alone(body: Body) -> Result<Bytes, (StatusCode, String)> {
        read_within(body, &mut ByteBudget::new(BUDGET).holder().read()).await
    }

    /// A body of `length` bytes, and a byte more each `pause` for ever.
    fn dripping(length: usize, pause: Duration) -> Body {
        let begin = stream::iter([Ok::<_, Infallible>(Bytes::from(vec![b'x'; length]))]);
        Body::from_stream(begin.chain(stream::unfold((), move |()| async move {
            sleep(pause).await;
            Some((Ok(Bytes::from_static(b"x")), ()))
        })))
    }

    #[tokio::test]
    async fn a_body_counts_as_long_as_it_is_held() {
        let budget = ByteBudget::new(BUDGET);
        let mut held = budget.holder().read();
        assert_eq!(read_within(body(&[100, 50]), &mut held).await.unwrap().len(), 150);
        assert_eq!(budget.held(), 150);
        drop(held);
        assert_eq!(budget.held(), 0);
    }

    #[tokio::test]
    async fn a_body_waits_while_others_use_the_budget_up() {
        let budget = ByteBudget::new(BUDGET);
        let others = budget.holder();
        others.keep(BUDGET / 8 * 5);
        // One read goes on beyond the budget.
        let (mut first, mut second) = (budget.holder().read(), budget.holder().read());
        first.grow(100).await.unwrap();
        let reading = read_within(body(&[100]), &mut second);
        tokio::pin!(reading);
        assert!((&mut reading).now_or_never().is_none());
        drop(others);
        assert_eq!(reading.await.unwrap().len(), 100);
    }

    #[tokio::test]
    async fn a_body_that_one_request_cannot_hold_is_too_large() {
        let (status, error) = read_alone(body(&[200, 57])).await.unwrap_err();
        assert_eq!((status, error.as_str()), (StatusCode::PAYLOAD_TOO_LARGE, "a request has at most 256 bytes"));
        let declared = Body::from(vec![b'x'; BODY_BYTES_MAX + 1]);
        let (status, error) = read_alone(declared).await.unwrap_err();
        assert_eq!((status, error.as_str()), (StatusCode::PAYLOAD_TOO_LARGE, "a request has at most 8388608 bytes"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_pauses_for_long_is_given_up() {
        let (status, error) =
            read_alone(Body::from_stream(stream::pending::<Result<Bytes, Infallible>>())).await.unwrap_err();
        assert_eq!(
            (status, error.as_str()),
            (StatusCode::REQUEST_TIMEOUT, "the request paused for 30 s; send it again")
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_given_up_after_a_minute() {
        let begun = Instant::now();
        let (status, error) = read_alone(dripping(1, Duration::from_secs(7))).await.unwrap_err();
        assert_eq!(
            (status, error.as_str(), begun.elapsed()),
            (StatusCode::REQUEST_TIMEOUT, "the request took longer than 60 s; send it again", BODY_TIME_MAX)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn one_owner_holds_one_long_body_at_a_time_and_nobody_else_waits_for_it() {
        let holding = Holding::within(ByteBudget::new(1 << 30));
        let ask = |name: &str, body: Body| {
            let (holding, owner) = (holding.clone(), name.parse::<OwnerName>().unwrap());
            async move { read(body, &mut holding.bytes.holder().read(), &holding.long, &owner).await }
        };
        let slow = tokio::spawn(ask("alice", dripping(SHORT_BYTES_MAX + 1, Duration::from_secs(7))));
        sleep(Duration::from_secs(1)).await;
        let begun = Instant::now();
        let long = || body(&[SHORT_BYTES_MAX, 1]);
        let (_, turn) = ask("bob", long()).await.unwrap();
        assert_eq!((turn.is_some(), begun.elapsed()), (true, Duration::ZERO));
        let (_, turn) = ask("alice", body(&[SHORT_BYTES_MAX])).await.unwrap();
        assert_eq!((turn.is_none(), begun.elapsed()), (true, Duration::ZERO), "a short one takes no turn");
        let (status, error) = ask("alice", long()).await.unwrap_err();
        assert_eq!(
            (status, error.as_str(), begun.elapsed()),
            (
                StatusCode::TOO_MANY_REQUESTS,
                "alice has too many long requests at once; try again in a moment",
                LONG_WAIT
            )
        );
        assert_eq!(slow.await.unwrap().unwrap_err().0, StatusCode::REQUEST_TIMEOUT);
        assert!(ask("alice", long()).await.is_ok(), "its turn is free again");
    }
}
