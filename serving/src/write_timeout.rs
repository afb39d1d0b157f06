//! Connections end when their client takes nothing of an answer any more.

use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// Longest time for which a client of any listener may take nothing of what is sent to it.
pub const WRITE_STALL_MAX: Duration = Duration::from_secs(30);

/// A stream whose writes fail with [`io::ErrorKind::TimedOut`] once the peer has taken nothing for a time. One that reads slowly is waited
/// for: each write that takes a byte begins the time anew.
#[derive(Debug)]
pub struct WriteTimeout<S> {
    stream: S,
    writing: Stall,
    /// Apart from writes: many streams have flushed at once whatever the peer does.
    flushing: Stall,
}

/// Time since which an operation is pending.
#[derive(Debug, Default)]
struct Stall(Option<Pin<Box<Sleep>>>);

impl Stall {
    /// `polled`, or the error of an operation that has been pending for too long.
    fn watch<T>(&mut self, polled: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.0 = None;
            return polled;
        }
        let sleep = self.0.get_or_insert_with(|| Box::pin(tokio::time::sleep(WRITE_STALL_MAX)));
        ready!(sleep.as_mut().poll(cx));
        let problem = format!("the peer has taken nothing of the answer for {} s", WRITE_STALL_MAX.as_secs());
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, problem)))
    }
}

impl<S> WriteTimeout<S> {
    /// `stream` with a limit of [`WRITE_STALL_MAX`].
    pub fn new(stream: S) -> Self {
        Self { stream, writing: Stall::default(), flushing: Stall::default() }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.writing.watch(polled, cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        this.writing.watch(polled, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_flush(cx);
        this.flushing.watch(polled, cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.stream).poll_shutdown(cx);
        this.flushing.watch(polled, cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufWriter, duplex};
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_never_reads_is_given_up() {
        let (near, _far) = duplex(4);
        let begun = Instant::now();
        let error = WriteTimeout::new(near).write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed().as_secs(), WRITE_STALL_MAX.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_flush_that_never_ends_is_given_up() {
        let (near, _far) = duplex(4);
        let mut stream = WriteTimeout::new(BufWriter::new(near));
        stream.write_all(&[0; 64]).await.unwrap();
        assert_eq!(stream.flush().await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_slowly_gets_everything() {
        let (near, mut far) = duplex(4);
        let reading = tokio::spawn(async move {
            let mut read = 0;
            while read < 64 {
                sleep(WRITE_STALL_MAX - Duration::from_secs(1)).await;
                read += far.read(&mut [0; 4]).await.unwrap();
            }
        });
        WriteTimeout::new(near).write_all(&[0; 64]).await.unwrap();
        reading.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_is_sent_nothing_is_not_timed() {
        let (near, mut far) = duplex(4);
        let mut stream = WriteTimeout::new(near);
        stream.write_all(&[1]).await.unwrap();
        sleep(WRITE_STALL_MAX * 10).await;
        stream.write_all(&[2]).await.unwrap();
        let mut read = [0; 2];
        far.read_exact(&mut read).await.unwrap();
        assert_eq!(read, [1, 2]);
    }
}
