//! The pages of one run as files, for people who do not have the run: the output of the same routes, with links between files.
//!
//! Every page of the run that another page links to becomes a file. Forms, the script and links to other runs are left out, so no server is
//! needed.

mod links;

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use regatta_files::own_folder;
use tower::ServiceExt as _;

use self::links::{Links, file_of};
use crate::address;

/// Most pages of a site; each session has one, and one for its transcript.
const PAGES_MAX: usize = 50_000;
/// Largest page in bytes; transcripts can be large.
const PAGE_BYTES_MAX: usize = 256 << 20;
/// The `Host` of the requests, as a browser on this machine sends it.
const HOST: &str = "127.0.0.1";

/// A site that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// A route failed.
    #[error("failed to make the page {address}: {problem}")]
    Page {
        /// Address of the page.
        address: String,
        /// The status and the message of the failed route.
        problem: String,
    },
    /// A file could not be written.
    #[error("failed to write {path}")]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The error of the file system.
        source: std::io::Error,
    },
    /// The run has more sessions than a site may have pages.
    #[error(
        "a site has at most {PAGES_MAX} pages, and this run has more sessions than that; look at it with `regatta view`"
    )]
    TooMany,
}

/// Writes the pages of the run `name`, which `router` serves, into `directory`. Returns the number of files.
///
/// # Errors
/// When a page cannot be made or written, or the run has too many sessions.
pub async fn write_site(router: Router, name: &str, directory: &Path) -> Result<usize, SiteError> {
    let root = address::run(name);
    let mut known = BTreeSet::from([root.clone()]);
    let mut wanted = VecDeque::from([root.clone()]);
    for asset in ["/ui/assets/style.css", "/ui/assets/icon.svg"] {
        known.insert(asset.to_owned());
        wanted.push_back(asset.to_owned());
    }
    while let Some(address) = wanted.pop_front() {
        let Some((content, is_page)) = ask(&router, &address).await? else { continue };
        let Some(file) = file_of(&root, &address) else { continue };
        let content = if is_page && !address.ends_with("/report") {
            let page = String::from_utf8_lossy(&content);
            let Links { page, found } = links::between_files(&root, &file, &page);
            for link in found {
                if known.insert(link.clone()) {
                    wanted.push_back(link);
                }
            }
            if known.len() > PAGES_MAX {
                return Err(SiteError::TooMany);
            }
            page.into_bytes()
        } else {
            content
        };
        write(directory, &file, &content)?;
    }
    Ok(known.len())
}

/// The response at `address`, with `true` if it is a page; `None` if there is nothing, as before a run has its report.
async fn ask(router: &Router, address: &str) -> Result<Option<(Vec<u8>, bool)>, SiteError> {
    let failed = |problem: String| SiteError::Page { address: address.to_owned(), problem };
    let request = Request::get(address).header(header::HOST, HOST).body(Body::empty());
    let request = request.map_err(|error| failed(error.to_string()))?;
    // The error type of a router is `Infallible`.
    let response = match router.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    let status = response.status();
    let media_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_page = media_type.is_some_and(|media_type| media_type.starts_with("text/html"));
    let content = to_bytes(response.into_body(), PAGE_BYTES_MAX).await.map_err(|error| failed(error.to_string()))?;
    match status {
        StatusCode::OK => Ok(Some((content.to_vec(), is_page))),
        StatusCode::NOT_FOUND => Ok(None),
        other => Err(failed(format!("it answers {other}"))),
    }
}

/// Writes `file` below `directory`, in folders that no link leads out of.
fn write(directory: &Path, file: &str, content: &[u8]) -> Result<(), SiteError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| SiteError::Write { path, source }
    };
    let mut path = directory.to_owned();
    for part in file.split('/') {
        own_folder(&path).map_err(|error| failed(&path)(error.into()))?;
        path.push(part);
    }
    regatta_files::write(&path, content).map_err(failed(&path))
}
