//! The style, the script and the icon, which are the only resources that pages load.

use axum::Router;
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use regatta_report::DESIGN_TOKENS;

use crate::page;

const STYLE: &str = include_str!("../assets/style.css");
const SCRIPT: &str = include_str!("../assets/viewer.js");
const ICON: &str = include_str!("../assets/icon.svg");

/// Served without a token, because they tell nothing of any run.
pub(crate) fn routes() -> Router {
    Router::new()
        .route(
            "/ui/assets/style.css",
            get(|| async { file("text/css; charset=utf-8", [DESIGN_TOKENS, STYLE].concat()) }),
        )
        .route("/ui/assets/viewer.js", get(|| async { file("text/javascript; charset=utf-8", SCRIPT) }))
        .route("/ui/assets/icon.svg", get(|| async { file("image/svg+xml", ICON) }))
}

fn file(media_type: &'static str, content: impl Into<Body>) -> Response {
    let mut response = ([(header::CONTENT_TYPE, media_type)], content.into()).into_response();
    page::protect(response.headers_mut());
    response
}
