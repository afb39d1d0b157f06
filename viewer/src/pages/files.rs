//! Files of a run, unchanged: the report, a transcript, a picture. And what others make for a page of its own: the drift of a schedule.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use regatta_proto::ScheduleName;

use super::session;
use crate::problem::Problem;
use crate::{Viewer, page};

/// Content security policy of the report, which has its style inside and runs no script.
const POLICY_OF_REPORT: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
                                form-action 'none'; frame-ancestors 'none'";
/// Content security policy of pictures, which have their style inside, and maybe an image, and run no script.
const POLICY_OF_PICTURE: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

fn response(media_type: &'static str, policy: Option<&'static str>, content: impl Into<Body>) -> Response {
    let mut response = ([(header::CONTENT_TYPE, media_type)], content.into()).into_response();
    let headers = response.headers_mut();
    if let Some(policy) = policy {
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    }
    page::protect(headers);
    response
}

/// `report.html` as the sweep has written it, sent as it is read.
pub(crate) async fn report(State(viewer): State<Viewer>, Path(name): Path<String>) -> Result<Response, Problem> {
    let run = viewer.source.run(&name).await?;
    let key = format!("sweeps/{}/report.html", run.row.id);
    let found = run.store.catalog.blobs().open(&key).await?;
    let report = found.ok_or_else(|| Problem::missing("the run has no report yet; it has one when it has ended"))?;
    let content = Body::from_stream(report.pieces);
    let mut response = response("text/html; charset=utf-8", Some(POLICY_OF_REPORT), content);
    response.headers_mut().insert(header::CONTENT_LENGTH, report.bytes.into());
    Ok(response)
}

/// Drawings of what changed over the last nights of a schedule, with the causes.
pub(crate) async fn drift(State(viewer): State<Viewer>, Path(name): Path<String>) -> Result<Response, Problem> {
    let missing = || Problem::missing(format!("there is no schedule {name:?} here"));
    let schedule: ScheduleName = name.parse().map_err(|_| missing())?;
    let (Some(store), Some(drifts)) = (viewer.source.deployment(), &viewer.drifts) else { return Err(missing()) };
    store.ledger.schedule(&schedule).await?.ok_or_else(missing)?;
    let page = drifts.page(&schedule).await?;
    let page = page.ok_or_else(|| Problem::missing(format!("{schedule} has no night that ended with results yet")))?;
    Ok(response("text/html; charset=utf-8", Some(POLICY_OF_REPORT), page))
}

/// The transcript of a session, as indented JSON.
pub(crate) async fn transcript(
    State(viewer): State<Viewer>,
    Path((name, cell, item)): Path<(String, u32, u32)>,
) -> Result<Response, Problem> {
    let found = session::find(&viewer, &name, cell, item).await?;
    let missing = || Problem::missing("this session has no transcript");
    let transcript = found.transcript.ok_or_else(missing)?;
    let text = serde_json::to_vec_pretty(&transcript).map_err(|error| Problem::wrong(error.to_string()))?;
    Ok(response("text/plain; charset=utf-8", None, text))
}

/// A picture of a session, drawn by its benchmark.
pub(crate) async fn picture(
    State(viewer): State<Viewer>,
    Path((name, cell, item, number)): Path<(String, u32, u32, usize)>,
) -> Result<Response, Problem> {
    let found = session::find(&viewer, &name, cell, item).await?;
    let picture = match (found.at.sweep.suite(&found.at.cell), &found.transcript) {
        (Some(suite), Some(transcript)) => suite.picture(found.at.item, &found.at.cell.setting, transcript, number),
        (None, _) | (_, None) => None,
    };
    let picture = picture.ok_or_else(|| Problem::missing(format!("the session has no picture {number}")))?;
    Ok(response("image/svg+xml", Some(POLICY_OF_PICTURE), picture.svg.into_bytes()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::future::ready;
    use std::sync::Arc;

    use axum::body::to_bytes;
    use axum::http::Request;
    use futures::future::BoxFuture;
    use jiff::Timestamp;
    use regatta_backends::{Blobs, Ledger, NewSchedule};
    use regatta_benchmarks::Registry;
    use regatta_catalog::Catalog;
    use regatta_proto::ManualClock;
    use tokio_util::sync::CancellationToken;
    use tower::ServiceExt as _;

    use super::*;
    use crate::{Access, DriftError, Drifts, Source, Store};

    /// Says the same of every schedule.
    struct Said(Result<Option<String>, DriftError>);

    impl Drifts for Said {
        fn page<'a>(&'a self, _: &'a ScheduleName) -> BoxFuture<'a, Result<Option<String>, DriftError>> {
            Box::pin(ready(self.0.clone()))
        }
    }

    /// Status and text of a page of a deployment that has the schedule `nightly`.
    async fn page(access: Access, path: &str) -> (u16, String) {
        let ledger = Ledger::in_memory().unwrap();
        let schedule = NewSchedule {
            name: "nightly".parse().unwrap(),
            document: "{}".to_owned(),
            owner: None,
            at: Timestamp::UNIX_EPOCH,
            inputs: BTreeSet::new(),
        };
        ledger.put_schedule(&schedule, None).await.unwrap();
        let catalog = Catalog::new(Blobs::memory(), Registry::new(&[]));
        let source = Source::Deployment(Store { ledger, catalog, permits: None });
        let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
        let routes = crate::router(source, access, clock, CancellationToken::new());
        let request = Request::get(path).header(header::HOST, "127.0.0.1").body(Body::empty()).unwrap();
        let response = routes.oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let text = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, String::from_utf8(text.to_vec()).unwrap())
    }

    fn says(drift: Result<Option<&str>, DriftError>) -> Access {
        Access::loopback().with_drifts(Arc::new(Said(drift.map(|page| page.map(str::to_owned)))))
    }

    #[tokio::test]
    async fn the_drift_of_a_schedule_is_a_page_that_its_entry_leads_to() {
        let path = "/ui/schedules/nightly/drift";
        let (status, schedules) = page(says(Ok(Some("drawn"))), "/ui/schedules").await;
        assert!(status == 200 && schedules.contains(&format!("href=\"{path}\"")), "{schedules}");
        assert_eq!(page(says(Ok(Some("drawn"))), path).await, (200, "drawn".to_owned()));
        let (status, none_yet) = page(says(Ok(None)), path).await;
        assert!(status == 404 && none_yet.contains("nightly has no night that ended with results yet"), "{none_yet}");
        assert_eq!(page(says(Err(DriftError::Busy)), path).await.0, 503);
        let (status, failed) = page(says(Err(DriftError::Failed("the bucket is away".to_owned()))), path).await;
        assert!(status == 503 && failed.contains("the bucket is away"), "{failed}");
        assert_eq!(
            page(says(Ok(Some("drawn"))), "/ui/schedules/weekly/drift").await.0,
            404,
            "there is no such schedule"
        );
    }

    #[tokio::test]
    async fn where_nobody_compares_nights_the_command_is_named_and_no_page() {
        let (_, schedules) = page(Access::loopback(), "/ui/schedules").await;
        assert!(schedules.contains("regatta drift nightly") && !schedules.contains("/drift\""), "{schedules}");
        assert_eq!(page(Access::loopback(), "/ui/schedules/nightly/drift").await.0, 404);
    }
}
