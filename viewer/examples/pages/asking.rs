//! Requests of pages, as a browser on this machine sends them.

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use tower::ServiceExt;

use crate::Failure;
use crate::filling::Filled;

/// Requests of one page.
const TIMES: usize = 20;
/// Largest page, in bytes.
const PAGE_BYTES: usize = 64 << 20;

/// Times of one page.
pub(crate) struct Times {
    pub(crate) median: Duration,
    /// Mostly the first one: what reads every session is remembered.
    pub(crate) slowest: Duration,
}

/// Every page that reads the ledger, with its name.
pub(crate) fn pages(filled: &Filled) -> Vec<(&'static str, String)> {
    let run = format!("/ui/runs/{}", filled.sweep);
    let last = filled.items.saturating_sub(1);
    let of_run = [
        ("Overview", String::new()),
        ("Leaderboard of a run that goes on", "/leaderboard".to_owned()),
        ("Items", "/items".to_owned()),
        ("Items, page 200", "/items?page=200".to_owned()),
        ("Items by outcome", "/items?outcome=not_measured".to_owned()),
        ("Items by cause", "/items?cause=timeout".to_owned()),
        ("Items by flag", "/items?flag=truncated".to_owned()),
        ("Items by id", format!("/items?text=item-{last}")),
        ("Items by disagreement", "/items?sort=disagreement".to_owned()),
        ("Items with a range of values", "/items?low=0.5&high=1".to_owned()),
        ("Items, a sample of those that failed", "/items?outcome=not_measured&sample=100&seed=7".to_owned()),
        ("Items that failed and are annotated", "/items?outcome=not_measured&annotated=by_anyone".to_owned()),
        ("a session", format!("/sessions/0/{last}")),
        ("its transcript", format!("/sessions/0/{last}/transcript")),
        ("Compare", "/compare".to_owned()),
        ("Compare, page 3 of one side", "/compare?page_a=2".to_owned()),
        ("Endpoints", "/endpoints".to_owned()),
        ("Money", "/money".to_owned()),
        ("Cancel", "/cancel".to_owned()),
    ];
    let of_all = [
        ("Runs", "/ui/".to_owned()),
        ("Money of all runs", "/ui/money".to_owned()),
        ("Endpoints of all runs", "/ui/endpoints".to_owned()),
        ("Schedules", "/ui/schedules".to_owned()),
    ];
    of_all.into_iter().chain(of_run.into_iter().map(|(name, rest)| (name, format!("{run}{rest}")))).collect()
}

/// Asks for the page at `address` again and again.
///
/// # Errors
/// When it is not there.
pub(crate) async fn ask(pages: &Router, address: &str) -> Result<Times, Failure> {
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let request = Request::get(address).header(header::HOST, "localhost").body(Body::empty())?;
        let begun = Instant::now();
        let response = match pages.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let status = response.status();
        let page = to_bytes(response.into_body(), PAGE_BYTES).await?;
        times.push(begun.elapsed());
        if status != StatusCode::OK {
            return Err(format!("{address} answers {status}: {}", String::from_utf8_lossy(&page)).into());
        }
    }
    times.sort();
    let (median, slowest) = (times.get(TIMES / 2), times.last());
    Ok(Times { median: *median.ok_or("no request")?, slowest: *slowest.ok_or("no request")? })
}
