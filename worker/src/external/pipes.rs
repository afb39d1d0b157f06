//! Output of external agents, read to its end but stored only up to a limit.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// Bytes read at a time.
pub(super) const CHUNK: usize = 16 << 10;
/// Bytes kept of standard error.
const ERRORS_KEPT: usize = 8 << 10;

/// The beginning of what is written.
pub(super) struct Head {
    kept: Vec<u8>,
    bytes_max: usize,
    is_cut: bool,
}

impl Head {
    pub(super) const fn new(bytes_max: usize) -> Self {
        Self { kept: Vec::new(), bytes_max, is_cut: false }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Takes what fits; `false` when something did not.
    pub(super) fn take(&mut self, bytes: &[u8]) -> bool {
        let (fits, rest) = bytes.split_at(bytes.len().min(self.bytes_max - self.kept.len()));
        self.kept.extend_from_slice(fits);
        self.is_cut |= !rest.is_empty();
        rest.is_empty()
    }

    /// Reads until the end, or until something does not fit; `false` then.
    pub(super) async fn fill(&mut self, mut from: impl AsyncRead + Unpin) -> bool {
        let mut chunk = vec![0; CHUNK];
        // A pipe that cannot be read any more has ended.
        while let Ok(read @ 1..) = from.read(&mut chunk).await {
            if !self.take(&chunk[..read]) {
                return false;
            }
        }
        true
    }

    /// The text, and whether it is only the beginning.
    pub(super) fn text(self) -> (Arc<str>, bool) {
        (text(&self.kept), self.is_cut)
    }
}

/// The end of what is written.
#[derive(Default)]
pub(super) struct Tail(VecDeque<u8>);

impl Tail {
    /// Reads until the end.
    pub(super) async fn fill(&mut self, mut from: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; CHUNK];
        while let Ok(read @ 1..) = from.read(&mut chunk).await {
            self.take(&chunk[..read]);
        }
    }

    /// Takes what was written next.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
        self.0.drain(..self.0.len().saturating_sub(ERRORS_KEPT));
    }

    pub(super) fn text(mut self) -> Arc<str> {
        text(self.0.make_contiguous())
    }
}

/// Writes `line`, if anybody reads it, and closes the pipe.
pub(super) async fn feed(mut to: impl AsyncWrite + Unpin, line: &str) {
    // A program need not read what it is told.
    let _ = to.write_all(line.as_bytes()).await;
    let _ = to.shutdown().await;
}

fn text(bytes: &[u8]) -> Arc<str> {
    String::from_utf8_lossy(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_a_gigabyte_only_the_beginning_is_read() {
        let mut head = Head::new(1000);
        assert!(!head.fill(tokio::io::repeat(b'x').take(1 << 30)).await);
        let (text, is_cut) = head.text();
        assert_eq!((text.len(), is_cut), (1000, true));
    }

    #[tokio::test]
    async fn what_just_fits_is_whole() {
        let mut head = Head::new(3);
        assert!(head.fill(&b"abc"[..]).await);
        assert_eq!(head.text(), ("abc".into(), false));
    }

    #[tokio::test]
    async fn of_errors_the_end_is_kept_and_all_is_read() {
        let mut tail = Tail::default();
        let written = [vec![b'x'; 100_000], b"the end \xff".to_vec()].concat();
        tail.fill(&written[..]).await;
        let text = tail.text();
        assert!(text.ends_with("the end \u{fffd}") && text.len() <= ERRORS_KEPT + 2, "{}", text.len());
    }
}
