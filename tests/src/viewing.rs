//! Pages of runs, asked for as browsers do, one connection a request.

use std::path::Path;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::HarnessError;
use crate::regatta::{Process, finish, regatta};

/// An answer of a server.
#[derive(Debug)]
pub struct Answer {
    /// Status line and headers.
    pub head: String,
    /// Body, which is text.
    pub body: String,
}

impl Answer {
    /// The status.
    #[must_use]
    pub fn status(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    /// The value of the header `name`, which is in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// `host:port` of an address.
#[must_use]
pub fn host(url: &str) -> &str {
    let rest = url.trim_start_matches("http://");
    rest.split_once('/').map_or(rest, |(host, _)| host)
}

/// Gets `url` with the lines of `head`, or, where these are empty, with the host of the address.
///
/// # Errors
/// When nobody answers, or what comes is no answer of text.
pub async fn ask(url: &str, head: &str) -> Result<Answer, HarnessError> {
    let named = format!("host: {}\r\n", host(url));
    send(url, "GET", if head.is_empty() { &named } else { head }, "").await
}

/// Sends the form `body` to `url`, as the page of `origin` does; no page if it is empty.
///
/// # Errors
/// When nobody answers, or what comes is no answer of text.
pub async fn post(url: &str, origin: &str, body: &str) -> Result<Answer, HarnessError> {
    let origin = if origin.is_empty() { String::new() } else { format!("origin: {origin}\r\n") };
    let head = format!(
        "host: {}\r\n{origin}content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n",
        host(url),
        body.len()
    );
    send(url, "POST", &head, body).await
}

async fn send(url: &str, method: &str, head: &str, body: &str) -> Result<Answer, HarnessError> {
    let failed = || HarnessError::io(format!("{method} {url}"));
    let path = url.trim_start_matches("http://").strip_prefix(host(url)).unwrap_or("/");
    let mut stream = TcpStream::connect(host(url)).await.map_err(failed())?;
    stream.write_all(format!("{method} {path} HTTP/1.0\r\n{head}\r\n").as_bytes()).await.map_err(failed())?;
    // A server that refuses a body answers before it has read the whole.
    let _ = stream.write_all(body.as_bytes()).await;
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer).await
        && answer.is_empty()
    {
        return Err(failed()(error));
    }
    let answer = String::from_utf8(answer).map_err(HarnessError::refused("read an answer"))?;
    let (head, body) =
        answer.split_once("\r\n\r\n").ok_or_else(|| HarnessError::Binary(format!("{url} gives no answer")))?;
    Ok(Answer { head: head.to_owned(), body: body.to_owned() })
}

/// Runs `spec` into `directory`.
///
/// # Errors
/// When the run does not end well.
pub async fn run(spec: &Path, directory: &Path) -> Result<(), HarnessError> {
    let mut command = regatta()?;
    command.arg("run").arg(spec).arg("--output").arg(directory);
    let output = finish(command).await?;
    match output.status.success() {
        true => Ok(()),
        false => Err(HarnessError::Binary(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

/// Starts `command`, which is `regatta view` in some way: its process, and the address of its pages without the last slash.
///
/// # Errors
/// When it ends without an address.
pub async fn started(command: Command) -> Result<(Process, String), HarnessError> {
    let process = Process::start_and_read(command).await?;
    let address = process.first_line.trim_end_matches('/').to_owned();
    Ok((process, address))
}

/// The viewer of `directory` with further arguments.
///
/// # Errors
/// When it ends without an address.
pub async fn view(directory: &Path, arguments: &[&str]) -> Result<(Process, String), HarnessError> {
    let mut command = regatta()?;
    command.arg("view").args(arguments).arg(directory);
    started(command).await
}
