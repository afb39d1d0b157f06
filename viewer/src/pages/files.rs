//! Files of a run, unchanged: the report, a transcript, a picture.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

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
    let pictures = match (found.at.sweep.suite(&found.at.cell), &found.transcript) {
        (Some(suite), Some(transcript)) => suite.pictures(found.at.item, &found.at.cell.setting, transcript),
        (None, _) | (_, None) => Vec::new(),
    };
    let picture = pictures.into_iter().nth(number);
    let picture = picture.ok_or_else(|| Problem::missing(format!("the session has no picture {number}")))?;
    Ok(response("image/svg+xml", Some(POLICY_OF_PICTURE), picture.svg.into_bytes()))
}
