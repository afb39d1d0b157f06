//! Connections that others can look at while they are served: a repeated request joins an earlier call only if nobody waits for it any
//! more.

use std::io;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A connection, as it is served.
pub(crate) struct Connection(Arc<Stream>);

/// The client at the other end of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Peer(Weak<Stream>);

/// A stream of either kind of listener.
#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_read_ready(cx),
            Self::Unix(stream) => stream.poll_read_ready(cx),
        }
    }

    fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_write_ready(cx),
            Self::Unix(stream) => stream.poll_write_ready(cx),
        }
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_read(buffer),
            Self::Unix(stream) => stream.try_read(buffer),
        }
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            Self::Unix(stream) => stream.try_write(bytes),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Connection {
    pub(crate) fn new(stream: Stream) -> Self {
        Self(Arc::new(stream))
    }

    pub(crate) fn peer(&self) -> Peer {
        Peer(Arc::downgrade(&self.0))
    }
}

/// A client that may wait for an answer.
pub(crate) trait Waiting {
    /// True if the client has closed its connection.
    fn is_gone(&self) -> bool;
}

impl Waiting for Peer {
    /// The system is asked, not whoever serves the connection: a client that closes one connection and asks again on another may be served
    /// on the second before anybody has looked at the first.
    fn is_gone(&self) -> bool {
        let Some(stream) = self.0.upgrade() else { return true };
        if has_hung_up(&stream) {
            return true;
        }
        match SockRef::from(&*stream).peek(&mut [MaybeUninit::uninit()]) {
            Ok(bytes) => bytes == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

/// `true` if the client has closed its side, also behind bytes that nobody has read: with TLS there is always a farewell.
#[cfg(target_os = "linux")]
fn has_hung_up(stream: &Stream) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let ends = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    let mut looked_at = [PollFd::new(stream, PollFlags::RDHUP)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut looked_at, Some(&at_once)).is_ok() && looked_at[0].revents().intersects(ends)
}

/// Other systems tell it only once everything before was read.
#[cfg(not(target_os = "linux"))]
fn has_hung_up(_: &Stream) -> bool {
    false
}

impl AsyncRead for Connection {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            match self.0.try_read(buffer.initialize_unfilled()) {
                Ok(read) => {
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.0).shutdown(Shutdown::Write))
    }
}
