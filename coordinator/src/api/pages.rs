//! Lists in pages. Whoever asks for a list is sent its first entries as a plain list, and where there are more a `Link` to the next page (RFC
//! 8288): clients that know nothing of pages read the first one. A link names the last entry of its page, so that the next one misses
//! nothing, whatever is added and removed meanwhile.

use std::convert::Infallible;
use std::fmt::Display;
use std::str::FromStr;

use axum::body::Bytes;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures::future::BoxFuture;
use futures::stream;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use regatta_serving::Turn;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::content;
use crate::CoordinatorError;

/// Entries of a page, unless another number is asked for.
const PAGE: u32 = 1000;
/// Most entries of a page.
pub(super) const PAGE_MAX: u32 = 10_000;
/// Bytes at which a page ends, with the entry that reaches them: it is in memory whole, and schedules and subjects of the audit log may be long.
const PAGE_BYTES_MAX: usize = 8 << 20;
/// Entries that are read from the ledger at once, so that few are in memory beside the page.
const READ_AT_ONCE: u32 = 100;

/// Query of a request for a page.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "M: FromStr, M::Err: Display"))]
pub(super) struct Wanted<M> {
    /// Most entries.
    pub(super) limit: Option<u32>,
    /// Last entry of the page before, as a link names it.
    #[serde(default, deserialize_with = "parsed")]
    pub(super) after: Option<M>,
}

fn parsed<'de, D, M>(deserializer: D) -> Result<Option<M>, D::Error>
where
    D: Deserializer<'de>,
    M: FromStr,
    M::Err: Display,
{
    String::deserialize(deserializer)?.parse().map(Some).map_err(D::Error::custom)
}

/// Entries as a JSON list, and the last one of them where there are more.
pub(super) struct Page {
    pub(super) text: Vec<u8>,
    next: Option<String>,
}

/// Reads the page that is `wanted`. `read` returns at most so many entries that come after the given one, in order; `end` names an entry.
pub(super) async fn collect<'r, T: Serialize, M: Clone + Display>(
    wanted: Wanted<M>,
    end: impl Fn(&T) -> M,
    read: impl Fn(Option<M>, u32) -> BoxFuture<'r, Result<Vec<T>, CoordinatorError>>,
) -> Result<Page, CoordinatorError> {
    let limit = wanted.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let (mut text, mut count, mut last) = (vec![b'['], 0, wanted.after);
    loop {
        // One beyond the page, of which is known only that it is there.
        let most = READ_AT_ONCE.min(limit + 1 - count);
        let entries = read(last.clone(), most).await?;
        let is_end = entries.len() < most as usize;
        for entry in entries {
            if count == limit || text.len() >= PAGE_BYTES_MAX {
                text.push(b']');
                let next = last.map(|last| {
                    let after = last.to_string();
                    format!("?after={}&limit={limit}", utf8_percent_encode(&after, NON_ALPHANUMERIC))
                });
                return Ok(Page { text, next });
            }
            if count > 0 {
                text.push(b',');
            }
            serde_json::to_writer(&mut text, &entry)?;
            count += 1;
            last = Some(end(&entry));
        }
        if is_end {
            text.push(b']');
            return Ok(Page { text, next: None });
        }
    }
}

impl Page {
    /// `true` if no entry follows.
    pub(super) const fn is_last(&self) -> bool {
        self.next.is_none()
    }

    /// The page as an answer that keeps `turn` until it is sent.
    pub(super) fn send(self, turn: Turn) -> Response {
        let (length, whole) = (self.text.len() as u64, stream::iter([Ok::<_, Infallible>(Bytes::from(self.text))]));
        let mut response = content::send(length, whole, "application/json", turn);
        if let Some(Ok(link)) = self.next.map(|next| HeaderValue::try_from(format!("<{next}>; rel=\"next\""))) {
            response.headers_mut().insert(header::LINK, link);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    /// Entries `from..to`, each as long as `length`, read as from a ledger.
    async fn page(wanted: Wanted<u32>, to: u32, length: usize) -> (Vec<u32>, Option<String>) {
        let read = |after: Option<u32>, limit: u32| {
            let from = after.map_or(0, |last| last + 1);
            let entries = (from..to).take(limit as usize).map(|number| (number, "x".repeat(length))).collect();
            async move { Ok::<Vec<(u32, String)>, CoordinatorError>(entries) }.boxed()
        };
        let page = collect(wanted, |entry: &(u32, String)| entry.0, read).await.unwrap();
        let entries: Vec<(u32, String)> = serde_json::from_slice(&page.text).unwrap();
        (entries.into_iter().map(|(number, _)| number).collect(), page.next)
    }

    const fn wanted(limit: Option<u32>, after: Option<u32>) -> Wanted<u32> {
        Wanted { limit, after }
    }

    #[tokio::test]
    async fn pages_follow_each_other_until_nothing_is_left() {
        let (entries, next) = page(wanted(Some(3), None), 7, 1).await;
        assert_eq!((entries, next.as_deref()), (vec![0, 1, 2], Some("?after=2&limit=3")));
        let (entries, next) = page(wanted(Some(3), Some(2)), 7, 1).await;
        assert_eq!((entries, next.as_deref()), (vec![3, 4, 5], Some("?after=5&limit=3")));
        assert_eq!(page(wanted(Some(3), Some(5)), 7, 1).await, (vec![6], None));
        assert_eq!(page(wanted(Some(7), None), 7, 1).await, ((0..7).collect(), None));
        assert_eq!(page(wanted(Some(3), Some(6)), 7, 1).await, (vec![], None));
    }

    #[tokio::test]
    async fn a_page_has_a_thousand_entries_unless_asked_and_ten_thousand_at_most() {
        for (limit, entries) in [(None, 1000), (Some(0), 1), (Some(250), 250), (Some(u32::MAX), 10_000)] {
            let (page, next) = page(wanted(limit, None), 20_000, 1).await;
            assert_eq!(page.len(), entries);
            assert_eq!(next, Some(format!("?after={}&limit={entries}", entries - 1)));
        }
    }

    #[tokio::test]
    async fn a_page_of_long_entries_ends_early_and_the_next_one_goes_on_there() {
        let (entries, next) = page(wanted(None, None), 500, 128 << 10).await;
        assert_eq!(entries, (0..64).collect::<Vec<_>>());
        assert_eq!(next.as_deref(), Some("?after=63&limit=1000"));
        // An entry that fills a page by itself is a page.
        assert_eq!(page(wanted(None, None), 2, 9 << 20).await, (vec![0], Some("?after=0&limit=1000".to_owned())));
    }

    #[tokio::test]
    async fn a_link_can_be_followed_whatever_the_entry_is_called() {
        let read = |_, _| async { Ok(vec!["a+b|c", "d"]) }.boxed();
        let page = collect(Wanted { limit: Some(1), after: None }, |entry: &&str| (*entry).to_owned(), read).await;
        assert_eq!(page.unwrap().next.as_deref(), Some("?after=a%2Bb%7Cc&limit=1"));
    }
}
