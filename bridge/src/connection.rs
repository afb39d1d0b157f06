//! Connections that others can look at while they are served: whether their client still waits decides what a repeated request is.

use std::io;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use socket2::SockRef;
use tokio::net::TcpStream;

/// Bytes read at once.
const READ_BYTES: usize = 8 << 10;

/// A connection, as it is served.
pub(crate) struct Connection(Arc<TcpStream>);

/// The client at the other end of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Peer(Weak<TcpStream>);

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self(Arc::new(stream))
    }

    pub(crate) fn peer(&self) -> Peer {
        Peer(Arc::downgrade(&self.0))
    }
}

/// Whoever waits for an answer.
pub(crate) trait Waiting {
    /// Whether it does not any more.
    fn is_gone(&self) -> bool;
}

impl Waiting for Peer {
    /// The system is asked, not whoever serves the connection: a client that closes one connection and asks again on another may be served
    /// on the second before anybody has looked at the first.
    fn is_gone(&self) -> bool {
        let Some(stream) = self.0.upgrade() else { return true };
        match SockRef::from(&*stream).peek(&mut [MaybeUninit::uninit()]) {
            Ok(bytes) => bytes == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}

impl Read for Connection {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, mut buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let mut bytes = [0; READ_BYTES];
        let room = buffer.remaining().min(READ_BYTES);
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            match self.0.try_read(&mut bytes[..room]) {
                Ok(read) => {
                    buffer.put_slice(&bytes[..read]);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl Write for Connection {
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
