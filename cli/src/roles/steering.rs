//! Steering of sweeps from the coordinator's pages, and the names under which people annotate there. What a page asks for is asked of the API, in this process and with the credential that came
//! with the page: rights, owners, limits and the audit log are the API's alone.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use axum::response::Response;
use futures::future::BoxFuture;
use regatta_coordinator::{BudgetChange, ConcurrencyChange, PeerCertificate, Readers, Resumption};
use regatta_proto::{OwnerName, SweepId};
use regatta_viewer::annotations::Annotator;
use regatta_viewer::{Asker, Authors, Order, Refused, Steering};
use serde::Deserialize;
use tower::ServiceExt as _;

/// Longest answer of the API that is read for its reason, in bytes.
const PROBLEM_BYTES_MAX: usize = 64 << 10;

/// Steers by the API `api`.
pub(super) struct ApiSteering {
    pub(super) api: Router,
    pub(super) readers: Readers,
}

impl Steering for ApiSteering {
    fn allows<'a>(&'a self, asker: &'a Asker, owner: Option<&'a OwnerName>) -> BoxFuture<'a, bool> {
        self.readers.may_change(asker.token.as_deref(), asker.extensions.get::<PeerCertificate>(), owner)
    }

    fn steer<'a>(
        &'a self,
        asker: &'a Asker,
        sweep: &'a SweepId,
        order: &'a Order,
    ) -> BoxFuture<'a, Result<(), Refused>> {
        Box::pin(async move {
            let response = match self.api.clone().oneshot(request(asker, sweep, order)?).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
            match response.status() {
                status if status.is_success() => Ok(()),
                status => Err(Refused { status, reason: reason(response).await }),
            }
        })
    }
}

impl Authors for ApiSteering {
    fn name<'a>(&'a self, asker: &'a Asker) -> BoxFuture<'a, Option<Annotator>> {
        Box::pin(async move {
            let certificate = asker.extensions.get::<PeerCertificate>();
            let owner = self.readers.submitter(asker.token.as_deref(), certificate).await?;
            owner.as_str().parse().ok()
        })
    }

    fn begin<'a>(&'a self, asker: &'a Asker, path: &'a str) -> BoxFuture<'a, Result<u64, Refused>> {
        Box::pin(async move {
            let certificate = asker.extensions.get::<PeerCertificate>();
            let begun = self.readers.begin_annotation(asker.token.as_deref(), certificate, path).await;
            begun.map_err(|(status, reason)| Refused { status, reason })
        })
    }

    fn end<'a>(&'a self, number: u64, path: &'a str, failure: Option<&'a str>) -> BoxFuture<'a, ()> {
        self.readers.end_annotation(number, path, failure)
    }
}

/// The request that `order` is at the API.
fn request(asker: &Asker, sweep: &SweepId, order: &Order) -> Result<Request<Body>, Refused> {
    let unwritten = |reason: String| Refused { status: StatusCode::BAD_REQUEST, reason };
    let (action, body) = match order {
        Order::Pause => ("pause", Ok(Vec::new())),
        Order::Cancel => ("cancel", Ok(Vec::new())),
        Order::Resume { budget } => {
            ("resume", serde_json::to_vec(&Resumption { budget: budget.map(BudgetChange::To) }))
        }
        Order::Throttle { endpoint, calls } => {
            ("concurrency", serde_json::to_vec(&ConcurrencyChange { endpoint: endpoint.clone(), calls: *calls }))
        }
    };
    let body = body.map_err(|error| unwritten(error.to_string()))?;
    let mut request =
        Request::post(format!("/v1/sweeps/{sweep}/{action}")).header(header::CONTENT_TYPE, "application/json");
    if let Some(token) = &asker.token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let mut request = request.body(Body::from(body)).map_err(|error| unwritten(error.to_string()))?;
    // Nothing else of the page's request: where it was routed to is no place of the API.
    if let Some(certificate) = asker.extensions.get::<PeerCertificate>() {
        request.extensions_mut().insert(certificate.clone());
    }
    Ok(request)
}

/// The sentence of the API's answer.
async fn reason(response: Response) -> String {
    #[derive(Deserialize)]
    struct Problem {
        error: String,
    }
    let status = response.status();
    match to_bytes(response.into_body(), PROBLEM_BYTES_MAX).await {
        Ok(body) => serde_json::from_slice(&body)
            .map_or_else(|_| String::from_utf8_lossy(&body).into_owned(), |Problem { error }| error),
        Err(error) => format!("the API answered {status}, and its reason could not be read: {error}"),
    }
}

#[cfg(test)]
mod tests;
