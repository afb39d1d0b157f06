//! Forms that browsers send: short, and soon there, whoever sends them.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::StreamExt as _;

use crate::problem::Problem;

/// Longest time that the body of a form may take.
pub(crate) const FORM_TIME_MAX: Duration = Duration::from_secs(10);

/// The limit of one form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FormLimit {
    /// Longest body, in bytes.
    pub(crate) bytes_max: usize,
    /// Advice to whoever sends more.
    pub(crate) advice: &'static str,
}

/// Reads the body of a request before it is handled.
pub(crate) async fn read(State(limit): State<FormLimit>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    match tokio::time::timeout(FORM_TIME_MAX, whole(body, limit)).await {
        Ok(Ok(body)) => next.run(Request::from_parts(head, Body::from(body))).await,
        Ok(Err(problem)) => problem.into_response(),
        Err(_) => {
            let seconds = FORM_TIME_MAX.as_secs();
            Problem::too_slow(format!("the form took longer than {seconds} s to arrive; send it again")).into_response()
        }
    }
}

async fn whole(body: Body, FormLimit { bytes_max, advice }: FormLimit) -> Result<Bytes, Problem> {
    let (mut pieces, mut whole) = (body.into_data_stream(), Vec::new());
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| Problem::wrong(format!("the form broke off: {error}")))?;
        if whole.len() + piece.len() > bytes_max {
            return Err(Problem::too_large(format!("the form has at most {bytes_max} bytes; {advice}")));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.into())
}
