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

use super::{BODY_BYTES_MAX, Problem};

/// Longest pause between two pieces of a body.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Reads the body of `request` whole, and holds it until the request is answered.
pub(super) async fn hold(State(bytes): State<ByteBudget>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let mut held = bytes.holder().read();
    match read(body, &mut held).await {
        Ok(body) => next.run(Request::from_parts(head, Body::from(body))).await,
        Err((status, error)) => (status, Json(Problem { error })).into_response(),
    }
}

async fn read(body: Body, held: &mut HeldBytes) -> Result<Bytes, (StatusCode, String)> {
    let too_large = |limit: u64| (StatusCode::PAYLOAD_TOO_LARGE, format!("a request has at most {limit} bytes"));
    let declared = body.size_hint().lower();
    if declared > BODY_BYTES_MAX as u64 {
        return Err(too_large(BODY_BYTES_MAX as u64));
    }
    let (mut pieces, mut whole) = (body.into_data_stream(), Vec::new());
    loop {
        let piece = match tokio::time::timeout(PAUSE_MAX, pieces.next()).await {
            Ok(Some(Ok(piece))) => piece,
            Ok(Some(Err(error))) => return Err((StatusCode::BAD_REQUEST, format!("the request broke off: {error}"))),
            Ok(None) => break,
            Err(_) => {
                let problem = format!("the request paused for {} s; send it again", PAUSE_MAX.as_secs());
                return Err((StatusCode::REQUEST_TIMEOUT, problem));
            }
        };
        if whole.len() + piece.len() > BODY_BYTES_MAX {
            return Err(too_large(BODY_BYTES_MAX as u64));
        }
        held.grow(piece.len() as u64).await.map_err(|error| too_large(error.limit))?;
        whole.extend_from_slice(&piece);
    }
    let parsed = parsed_bytes(&whole) - whole.len() as u64;
    held.grow(parsed).await.map_err(|error| too_large(error.limit))?;
    Ok(whole.into())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::{FutureExt as _, stream};

    use super::*;

    /// Of which one request has a quarter at most.
    const BUDGET: u64 = 1024;

    fn body(pieces: &[usize]) -> Body {
        let pieces: Vec<_> = pieces.iter().map(|length| Ok::<_, Infallible>(vec![b'x'; *length])).collect();
        Body::from_stream(stream::iter(pieces))
    }

    async fn read_alone(body: Body) -> Result<Bytes, (StatusCode, String)> {
        read(body, &mut ByteBudget::new(BUDGET).holder().read()).await
    }

    #[tokio::test]
    async fn a_body_counts_as_long_as_it_is_held() {
        let budget = ByteBudget::new(BUDGET);
        let mut held = budget.holder().read();
        assert_eq!(read(body(&[100, 50]), &mut held).await.unwrap().len(), 150);
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
        let reading = read(body(&[100]), &mut second);
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
}
