//! HTTP/1.1 as servers of tests speak it that answer as no real one would: requests read whole, answers written whole. Behaviour of one such
//! server, as never to answer, stands with its test.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

/// A request that has been read to its end.
pub struct Request {
    /// Request line and headers, a line each, without the empty line after them.
    pub head: String,
    /// Bytes that followed them; as many as `content-length` says.
    pub body: Vec<u8>,
}

impl Request {
    /// Reads the next request of a connection. `None` once its client has closed it.
    ///
    /// # Errors
    /// When the connection breaks within a body, or a header says a length that is no number.
    pub async fn read(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Self>> {
        let mut head = String::new();
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(None);
            }
            if line.trim().is_empty() {
                break;
            }
            head.push_str(&line);
        }
        let mut request = Self { head, body: Vec::new() };
        let length = request.header("content-length").map_or(Ok(0), str::parse).map_err(io::Error::other)?;
        request.body = vec![0; length];
        stream.read_exact(&mut request.body).await?;
        Ok(Some(request))
    }

    /// Value of the header `name`, in whichever case it was sent.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        headers.find(|(sent, _)| sent.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// Bytes of an answer with `status`, as `200 OK`, and a body of the type `kind`.
#[must_use]
pub fn answer(status: &str, kind: &str, body: &str) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", body.len());
    format!("{head}{body}").into_bytes()
}
