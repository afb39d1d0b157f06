//! Answers that hold something until they are sent: a turn, or bytes of a budget.

use std::error::Error;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream};
use tokio::time::Instant;

/// Longest time for which an answer holds something: the largest file on a slow line. A client that takes nothing at all is dropped by the
/// listener long before.
pub const SEND_MAX: Duration = Duration::from_secs(600);
/// Size of the pieces of an answer, in bytes: what a connection has taken of a longer one would count as sent.
const PIECE_BYTES: usize = 64 << 10;

/// The same bytes in small pieces. Holds `held` until all are taken; breaks off after [`SEND_MAX`].
pub fn hold_until_sent<E>(
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
    held: impl Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static
where
    E: Into<Box<dyn Error + Send + Sync>> + Send + 'static,
{
    let end = Instant::now() + SEND_MAX;
    stream::unfold(Some((pieces, Bytes::new(), held)), move |state| async move {
        let (mut pieces, mut left, held) = state?;
        if Instant::now() >= end {
            let problem = format!("the answer was not taken within {} s", SEND_MAX.as_secs());
            return Some((Err(io::Error::new(io::ErrorKind::TimedOut, problem)), None));
        }
        while left.is_empty() {
            left = match pieces.next().await? {
                Ok(piece) => piece,
                Err(error) => return Some((Err(io::Error::other(error)), None)),
            };
        }
        let piece = left.split_to(left.len().min(PIECE_BYTES));
        Some((Ok(piece), Some((pieces, left, held))))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn pieces(lengths: &[usize]) -> impl Stream<Item = Result<Bytes, io::Error>> + Send + Unpin + 'static {
        let pieces: Vec<_> = lengths.iter().map(|length| Ok(Bytes::from(vec![b'x'; *length]))).collect();
        stream::iter(pieces)
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_taken_for_ever_breaks_off_and_gives_back_what_it_held() {
        let turn = Arc::new(());
        let mut sent = Box::pin(hold_until_sent(pieces(&[3 * PIECE_BYTES]), Arc::clone(&turn)));
        assert_eq!(sent.next().await.unwrap().unwrap().len(), PIECE_BYTES);
        tokio::time::advance(SEND_MAX - Duration::from_secs(1)).await;
        assert_eq!(sent.next().await.unwrap().unwrap().len(), PIECE_BYTES);
        assert_eq!(Arc::strong_count(&turn), 2);
        tokio::time::advance(Duration::from_secs(1)).await;
        sent.next().await.unwrap().unwrap_err();
        assert_eq!(Arc::strong_count(&turn), 1);
        assert!(sent.next().await.is_none());
    }

    #[tokio::test]
    async fn all_is_sent_and_then_given_back() {
        let turn = Arc::new(());
        let sent: Vec<_> = hold_until_sent(pieces(&[0, 10, PIECE_BYTES + 1]), Arc::clone(&turn)).collect().await;
        let lengths: Vec<_> = sent.into_iter().map(|piece| piece.unwrap().len()).collect();
        assert_eq!(lengths, [10, PIECE_BYTES, 1]);
        assert_eq!(Arc::strong_count(&turn), 1);
        let failed = stream::iter([Err::<Bytes, _>(io::Error::other("gone"))]);
        let sent: Vec<_> = hold_until_sent(failed, ()).collect().await;
        assert!(sent.len() == 1 && sent[0].is_err(), "an answer that breaks off is no whole one");
    }
}
