//! The server: HTTP/1.1, as little of it as clients need.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::event::Event;
use crate::events::{Said, Way, ways};
use crate::{Wire, answer::Answer};

/// A hostile endpoint that listens on loopback until it is dropped.
#[derive(Debug)]
pub struct Hostile {
    address: SocketAddr,
    seen: Seen,
    accepting: JoinHandle<()>,
}

/// Requests by the part of the address that names event, way and wire.
type Seen = Arc<Mutex<BTreeMap<String, usize>>>;

impl Hostile {
    /// Begins to listen on `port` of loopback; 0 takes a free one.
    ///
    /// # Errors
    /// When the port is taken.
    pub async fn start(port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let address = listener.local_addr()?;
        let seen = Seen::default();
        let log = Arc::clone(&seen);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let log = Arc::clone(&log);
                tokio::spawn(async move {
                    // A client that goes away is its own affair.
                    let _ = serve(stream, &log).await;
                });
            }
        });
        Ok(Self { address, seen, accepting })
    }

    /// Address at which `way` of `event` is played on `wire`: the `base_url` of an endpoint of the wire's kind.
    #[must_use]
    pub fn base_url(&self, event: Event, way: usize, wire: Wire) -> String {
        format!("http://{}{}", self.address, place(event, way, wire))
    }

    /// Requests that came for `way` of `event` on `wire`.
    #[must_use]
    pub fn seen(&self, event: Event, way: usize, wire: Wire) -> usize {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(&place(event, way, wire)).copied().unwrap_or(0)
    }

    /// Address that it listens on.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

fn place(event: Event, way: usize, wire: Wire) -> String {
    format!("/{}/{way}/{}", event.as_str(), wire.as_str())
}

/// Wire, event and way that a path names.
fn played(path: &str) -> Option<(Event, usize, Wire)> {
    let mut parts = path.split('/').skip(1);
    let (event, way, wire) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
    let event = Event::ALL.into_iter().find(|known| known.as_str() == event)?;
    let wire = Wire::ALL.into_iter().find(|known| known.as_str() == wire)?;
    Some((event, way, wire))
}

async fn serve(mut stream: TcpStream, seen: &Seen) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    while let Some((path, body)) = request(&mut stream, &mut buffer).await? {
        let is_streamed = path.contains("stream") || body.contains("\"stream\":true");
        let answer = match played(&path) {
            Some((event, number, wire)) => {
                *seen.lock().unwrap_or_else(PoisonError::into_inner).entry(place(event, number, wire)).or_default() +=
                    1;
                ways(event, wire).get(number).map(|way| written(way, wire, is_streamed))
            }
            None => None,
        };
        let answer = answer.unwrap_or_else(|| response(418, &[], "text/plain", b"nothing is played here"));
        stream.write_all(&answer).await?;
    }
    Ok(())
}

fn written(way: &Way, wire: Wire, is_streamed: bool) -> Vec<u8> {
    match way.said {
        Said::Answer(answer) if is_streamed => {
            let (kind, bytes) = Answer::stream(answer, wire);
            response(200, &[], kind, &bytes)
        }
        Said::Answer(answer) => response(200, &[], "application/json", answer.body(wire).to_string().as_bytes()),
        Said::Refused(refusal) => {
            let body = refusal.body(wire).to_string();
            response(refusal.status, &refusal.headers(wire), "application/json", body.as_bytes())
        }
        Said::Raw { status, body } => response(status, &[], "application/json", body.as_bytes()),
    }
}

fn response(status: u16, headers: &[(&str, &str)], kind: &str, body: &[u8]) -> Vec<u8> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head =
        format!("HTTP/1.1 {status} Played\r\n{headers}content-type: {kind}\r\ncontent-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// Path and body of the next request; `None` at the end of the connection.
async fn request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<(String, String)>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            let whole = end + 4 + length.unwrap_or(0);
            if buffer.len() >= whole {
                let body = String::from_utf8_lossy(&buffer[end + 4..whole]).into_owned();
                buffer.drain(..whole);
                let path = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
                return Ok(Some((path, body)));
            }
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}
