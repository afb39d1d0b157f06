//! Addresses that notices are posted to.

use std::time::Duration;

use anyhow::{Context, ensure};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder};

use crate::tls;

/// For how long an answer is waited for.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A client that follows no redirection: a notice is for the address that somebody gave.
pub(crate) fn client() -> anyhow::Result<Client> {
    crate::embedded::install_tls();
    Client::builder()
        .tls_backend_preconfigured(tls::client(None, None)?)
        .redirect(Policy::none())
        .timeout(TIMEOUT)
        .build()
        .context("failed to start the HTTP client")
}

/// Sends `request`, which somebody has to take.
///
/// # Errors
/// When nobody answers, or with another status than 2xx. The address is not told: it may hold a token in its path, as receivers of chats do.
pub(crate) async fn taken(request: RequestBuilder) -> anyhow::Result<()> {
    let response = request.send().await.map_err(|error| error.without_url()).context("failed to get an answer")?;
    let status = response.status();
    ensure!(status.is_success(), "it answered {status}");
    Ok(())
}
