//! Lists of prices that others publish: a file, or an address that is asked once.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use regatta_llm::PRICE_FILE_BYTES_MAX;
use regatta_proto::{TlsOptions, causes, with_handshake_advice};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Url};

use crate::exit::{BadConfiguration, bad_configuration};
use crate::plain_http::is_in_the_clear;
use crate::price_tables::read_bounded;
use crate::tls;

/// For how long a connection is waited for.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// For how long the whole list may take.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(60);
/// Redirections that are followed, within one host.
const REDIRECTIONS_FOLLOWED: usize = 5;

/// Most that a list at an address may be and take.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    bytes: usize,
    time: Duration,
}

const BOUNDS: Bounds = Bounds { bytes: PRICE_FILE_BYTES_MAX, time: TRANSFER_TIMEOUT };

/// A list as it was read.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) bytes: Vec<u8>,
    /// The file or the address, which holds no secret.
    pub(super) at: String,
}

/// The list at `from`, a file or an address.
pub(super) async fn read(from: &str) -> anyhow::Result<Published> {
    if from.contains("://") {
        return fetch(&address(from)?, BOUNDS).await;
    }
    let path = Path::new(from);
    let bytes = read_bounded(path).with_context(|| from.to_owned()).map_err(bad_configuration)?;
    Ok(Published { bytes, at: from.to_owned() })
}

/// The address `from`, where prices may be read: nobody on the way changes them.
fn address(from: &str) -> Result<Url, BadConfiguration> {
    let refused = |problem: &str| BadConfiguration(format!("the address of --from {problem}"));
    let url: Url = from.parse().map_err(|_| refused("is none; write it as https://prices.example/list.json"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("has a user or a password; leave them out, because the table names the address"));
    }
    if url.host_str().is_none() || !matches!(url.scheme(), "https" | "http") {
        return Err(refused("is not of https; a file is named by its path"));
    }
    if is_in_the_clear(url.as_str()) {
        return Err(refused("is of http, where everybody on the way may change prices; write https"));
    }
    Ok(url)
}

async fn fetch(url: &Url, bounds: Bounds) -> anyhow::Result<Published> {
    let host = url.host_str().unwrap_or("nowhere");
    let refused = |reason: String| anyhow::anyhow!("failed to read prices from {host}: {reason}");
    let failed = |error: reqwest::Error| match error.is_timeout() {
        true => refused(format!(
            "it took longer than it may: {CONNECT_TIMEOUT:?} to a connection, {:?} altogether",
            bounds.time
        )),
        false => refused(with_handshake_advice(causes(&error.without_url()), TlsOptions::OF_SYSTEM)),
    };
    let mut response = client(bounds.time)?.get(url.clone()).send().await.map_err(failed)?;
    if !response.status().is_success() {
        return Err(refused(format!("it answered {}", response.status())));
    }
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(failed)? {
        if bytes.len() + piece.len() > bounds.bytes {
            return Err(refused(format!("it has more than {} bytes", bounds.bytes)));
        }
        bytes.extend_from_slice(&piece);
    }
    // Parameters may be secret, and a table is read by many.
    let mut at = url.clone();
    at.set_query(None);
    at.set_fragment(None);
    Ok(Published { bytes, at: at.into() })
}

fn client(time: Duration) -> anyhow::Result<Client> {
    crate::embedded::install_tls();
    Client::builder()
        .tls_backend_preconfigured(tls::client(None, None)?)
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(time)
        .redirect(Policy::custom(redirection))
        .build()
        .context("failed to start the HTTP client")
}

/// Follows what stays at the host that was named, at the same port.
fn redirection(attempt: Attempt<'_>) -> Action {
    if attempt.previous().len() > REDIRECTIONS_FOLLOWED {
        return attempt.error("too many redirections");
    }
    if attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin()) {
        return attempt.follow();
    }
    let problem =
        format!("it leads to {}; name that address if it is meant", attempt.url().host_str().unwrap_or("nowhere"));
    attempt.error(problem)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    const FEW: Bounds = Bounds { bytes: 1000, time: TRANSFER_TIMEOUT };

    /// The address of a host that answers whoever asks first by `answer`, after the head of a body that ends with the connection.
    fn serving(answer: impl FnOnce(&mut TcpStream) + Send + 'static) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/list.json", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.extend(byte);
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n").unwrap();
            answer(&mut stream);
        });
        url.parse().unwrap()
    }

    async fn refusal(url: &Url, bounds: Bounds) -> String {
        fetch(url, bounds).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn a_list_is_read_up_to_its_bound_and_no_byte_further() {
        let full = serving(|stream| stream.write_all(&[b' '; 1000]).unwrap());
        assert_eq!(fetch(&full, FEW).await.unwrap().bytes.len(), 1000);
        // One that never ends: it notices that nobody reads any more.
        let endless = serving(|stream| while stream.write_all(&[b' '; 4096]).is_ok() {});
        let refused = refusal(&endless, FEW).await;
        assert_eq!(refused, "failed to read prices from 127.0.0.1: it has more than 1000 bytes");
    }

    #[tokio::test]
    async fn a_host_that_begins_a_list_and_falls_silent_is_waited_for_no_longer_than_its_bound() {
        let silent = serving(|stream| {
            stream.write_all(b"{").unwrap();
            // Until whoever waits has left.
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let refused = refusal(&silent, Bounds { time: Duration::from_millis(200), ..FEW }).await;
        assert_eq!(
            refused,
            "failed to read prices from 127.0.0.1: it took longer than it may: 10s to a connection, 200ms altogether"
        );
    }
}
