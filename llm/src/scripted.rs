//! A small HTTP server for tests that follows a script, with correct and incorrect behaviour.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

/// The server's reaction to one request.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Answers, and keeps the connection open.
    Answer { status: u16, headers: &'static str, body: Vec<u8> },
    /// Answers in chunks, without a declared length.
    Chunks(Vec<Vec<u8>>),
    /// Sends these bytes and closes the connection.
    Raw(Vec<u8>),
    /// Closes the connection without an answer.
    Close,
    /// Resets the connection.
    Reset,
    /// Sends these bytes, and then keeps silent.
    Hang(Vec<u8>),
    /// Sends the first bytes, and then the second ones repeatedly, with a pause between.
    Trickle(Vec<u8>, &'static [u8]),
    /// Answers once a permit is added to `Server::gate`.
    Gated(Vec<u8>),
}

impl Step {
    pub(crate) fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::Answer { status: 200, headers: "", body: body.into() }
    }

    pub(crate) fn status(status: u16, body: &str) -> Self {
        Self::Answer { status, headers: "", body: body.into() }
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waiting {
    pub(crate) now: usize,
    pub(crate) most: usize,
}

/// A request as it was received.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Request line and headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

pub(crate) struct Server {
    pub(crate) base_url: String,
    pub(crate) gate: Arc<Semaphore>,
    /// Number of requests that wait at the gate, so that tests can wait for them, and its maximum so far.
    pub(crate) waiting: watch::Receiver<Waiting>,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

type Script = Arc<dyn Fn(usize, &Seen) -> Step + Send + Sync>;

impl Server {
    /// Each request gets the next step; the last one is repeated.
    pub(crate) async fn scripted(steps: Vec<Step>) -> Self {
        Self::with(move |number, _| steps[number.min(steps.len() - 1)].clone()).await
    }

    /// `script` chooses the step by the number of the request, counted from 0, and by the request.
    pub(crate) async fn with(script: impl Fn(usize, &Seen) -> Step + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (seen, connections) = (Arc::default(), Arc::new(AtomicUsize::new(0)));
        let (gate, (sender, waiting)) = (Arc::new(Semaphore::new(0)), watch::channel(Waiting::default()));
        let script: Script = Arc::new(script);
        let (log, count, open_gate) = (Arc::clone(&seen), Arc::clone(&connections), Arc::clone(&gate));
        let accepting = tokio::spawn(async move {
            let sender = Arc::new(sender);
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let shared = (Arc::clone(&script), Arc::clone(&log), Arc::clone(&open_gate), Arc::clone(&sender));
                tokio::spawn(async move {
                    let (script, log, gate, waiting) = shared;
                    let _ = serve(stream, &script, &log, &gate, &waiting).await;
                });
            }
        });
        Self { base_url, gate, waiting, seen, connections, accepting }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    script: &Script,
    log: &Mutex<Vec<Seen>>,
    gate: &Semaphore,
    waiting: &watch::Sender<Waiting>,
) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(seen) = request(&mut stream, &mut buffer).await? {
        let step = {
            let mut log = log.lock().unwrap();
            let step = script(log.len(), &seen);
            log.push(seen);
            step
        };
        if act(&mut stream, step, gate, waiting).await? {
            return Ok(());
        }
    }
    Ok(())
}

/// Performs `step`; returns `true` if the connection is over.
async fn act(
    stream: &mut TcpStream,
    step: Step,
    gate: &Semaphore,
    waiting: &watch::Sender<Waiting>,
) -> std::io::Result<bool> {
    match step {
        Step::Answer { status, headers, body } => {
            let head = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n", body.len());
            stream.write_all(&[head.as_bytes(), &body].concat()).await?;
        }
        Step::Gated(body) => {
            waiting.send_modify(|waiting| {
                waiting.now += 1;
                waiting.most = waiting.most.max(waiting.now);
            });
            gate.acquire().await.unwrap().forget();
            waiting.send_modify(|waiting| waiting.now -= 1);
            let head = format!("HTTP/1.1 200 X\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all(&[head.as_bytes(), &body].concat()).await?;
        }
        Step::Chunks(chunks) => {
            stream.write_all(b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n").await?;
            for chunk in chunks {
                stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await?;
                stream.write_all(&[&chunk, b"\r\n".as_slice()].concat()).await?;
            }
            stream.write_all(b"0\r\n\r\n").await?;
        }
        Step::Raw(bytes) => {
            stream.write_all(&bytes).await?;
            return Ok(true);
        }
        Step::Close => return Ok(true),
        Step::Reset => {
            stream.set_zero_linger()?;
            return Ok(true);
        }
        Step::Trickle(begin, again) => {
            stream.write_all(&begin).await?;
            let mut pause = tokio::time::interval(std::time::Duration::from_millis(5));
            loop {
                pause.tick().await;
                stream.write_all(again).await?;
            }
        }
        Step::Hang(bytes) => {
            stream.write_all(&bytes).await?;
            // Until the client closes the connection.
            let _ = stream.read(&mut [0; 1]).await;
            return Ok(true);
        }
    }
    Ok(false)
}

async fn request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<Seen>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .map_or(0, |length| length.trim().parse().unwrap());
            if buffer.len() >= end + 4 + length {
                let body = String::from_utf8_lossy(&buffer[end + 4..end + 4 + length]).into_owned();
                buffer.drain(..end + 4 + length);
                return Ok(Some(Seen { head, body }));
            }
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}
