//! Files of a run as they are: the report, a transcript, a picture.

use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::session;
use crate::problem::Problem;
use crate::{Viewer, page};

/// The report brings its style with it, and runs nothing.
const POLICY_OF_REPORT: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
                                form-action 'none'; frame-ancestors 'none'";
/// So do pictures, which are nothing but pictures.
const POLICY_OF_PICTURE: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

fn response(media_type: &'static str, policy: Option<&'static str>, content: Vec<u8>) -> Response {
    let mut response = ([(header::CONTENT_TYPE, media_type)], content).into_response();
    let headers = response.headers_mut();
    if let Some(policy) = policy {
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    }
    page::protect(headers);
    response
}

/// `report.html` as the sweep has left it behind.
pub(crate) async fn report(State(viewer): State<Viewer>, Path(name): Path<String>) -> Result<Response, Problem> {
    let run = viewer.source.run(&name).await?;
    let key = format!("sweeps/{}/report.html", run.row.id);
    let found = run.store.catalog.blobs().get(&key).await?;
    let content = found.ok_or_else(|| Problem::missing("the run has no report yet; it has one when it has ended"))?;
    Ok(response("text/html; charset=utf-8", Some(POLICY_OF_REPORT), content.to_vec()))
}

/// The transcript of a session, as JSON to be read by people.
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

/// A picture that the benchmark draws of a session.
pub(crate) async fn picture(
    State(viewer): State<Viewer>,
    Path((name, cell, item, number)): Path<(String, u32, u32, usize)>,
) -> Result<Response, Problem> {
    let found = session::find(&viewer, &name, cell, item).await?;
    let pictures = match (found.sweep.suite(&found.cell), &found.transcript) {
        (Some(suite), Some(transcript)) => suite.pictures(found.item, &found.cell.setting, transcript),
        (None, _) | (_, None) => Vec::new(),
    };
    let picture = pictures.into_iter().nth(number);
    let picture = picture.ok_or_else(|| Problem::missing(format!("the session has no picture {number}")))?;
    Ok(response("image/svg+xml", Some(POLICY_OF_PICTURE), picture.svg.into_bytes()))
}
