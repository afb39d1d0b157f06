//! Annotations of a deployment's sweep: an object each beside its results, never changed, so that neither two people nor two coordinators lose one.
//!
//! The names of the objects begin with the time, so that their order is that of a file's lines.

use std::io;

use axum::body::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::SignedDuration;
use regatta_backends::{BlobError, Blobs};
use regatta_proto::{Digest, SweepId};

use super::{Annotation, Annotations};

/// Most annotations of a sweep; pages read all of them.
pub(crate) const STORED_MAX: usize = 2_000;
/// Objects that are read at once for one page.
const READ_AT_ONCE: usize = 32;

/// Folder of the objects among the files of a sweep, with its last slash.
pub const FOLDER: &str = "annotations/";

fn folder(sweep: &SweepId) -> String {
    format!("sweeps/{sweep}/{FOLDER}")
}

/// Reads the annotations of `sweep`.
pub(crate) async fn read(blobs: &Blobs, sweep: &SweepId) -> Result<Annotations, BlobError> {
    let mut keys = blobs.list(&folder(sweep)).await?;
    keys.sort_unstable();
    let lines = stream::iter(keys).map(|key| async move { blobs.get(&key).await }).buffered(READ_AT_ONCE);
    let lines: Vec<Option<Bytes>> = lines.try_collect().await?;
    let lines: Vec<Bytes> = lines.into_iter().flatten().collect();
    Ok(Annotations::parse(&lines.join(b"\n".as_slice())))
}

/// `annotation` with a time after those of the person's annotations that are `known`, though another coordinator's clock may have been ahead.
pub(crate) fn after(known: &Annotations, annotation: Annotation) -> Annotation {
    let before = known.lines.iter().filter(|(_, of)| of.by == annotation.by).filter_map(|(_, of)| of.at).max();
    let next = before.and_then(|at| at.checked_add(SignedDuration::from_nanos(1)).ok());
    Annotation { at: annotation.at.max(next), ..annotation }
}

/// Adds `annotation`, which has a time, to those of `sweep`.
pub(crate) async fn add(blobs: &Blobs, sweep: &SweepId, annotation: &Annotation) -> Result<(), StoredError> {
    let line = serde_json::to_vec(annotation).map_err(io::Error::from)?;
    let at = annotation.at.map_or(0, |at| at.as_nanosecond());
    let key = format!("{}{at:020}-{}.json", folder(sweep), Digest::of(&line).short());
    Ok(blobs.put(&key, line.into()).await?)
}

/// An annotation that was not stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoredError {
    #[error("failed to write the annotation as JSON")]
    Line(#[from] io::Error),
    #[error("failed to store the annotation")]
    Store(#[from] BlobError),
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn annotation(second: i64, by: &str, mark: &str) -> Annotation {
        let at = Timestamp::from_second(second).unwrap();
        let line = format!(
            r#"{{"at":"{at}","by":"{by}","benchmark":"b","setting":"s","model":"e/m","item":"i","mark":"{mark}"}}"#
        );
        serde_json::from_str(&line).unwrap()
    }

    #[tokio::test]
    async fn what_people_say_at_once_is_all_there_and_the_last_word_of_each_counts() {
        let (blobs, sweep) = (Blobs::memory(), "s".parse().unwrap());
        // In another order than that of their times, as from two coordinators.
        let said = [(9, "ann", "unsure"), (10, "ann", "right"), (10, "bob", "wrong"), (8, "ann", "wrong")];
        for (second, by, mark) in said {
            add(&blobs, &sweep, &annotation(second, by, mark)).await.unwrap();
        }
        let all = read(&blobs, &sweep).await.unwrap();
        assert_eq!((all.lines.len(), all.unreadable.len()), (4, 0));
        let latest = all.latest();
        assert_eq!(latest.len(), 1, "{latest:?}");
        let people = latest.values().next().unwrap();
        let marks: Vec<_> = people.values().map(|(_, of)| (of.by.as_str(), of.mark.unwrap().as_str())).collect();
        assert_eq!(marks, [("ann", "right"), ("bob", "wrong")]);
        assert!(read(&blobs, &"another".parse().unwrap()).await.unwrap().lines.is_empty());
    }

    #[tokio::test]
    async fn who_changes_an_annotation_has_the_last_word_though_the_clock_is_behind() {
        let (blobs, sweep) = (Blobs::memory(), "s".parse().unwrap());
        for (second, mark) in [(60, "wrong"), (10, "right"), (90, "unsure")] {
            let known = read(&blobs, &sweep).await.unwrap();
            add(&blobs, &sweep, &after(&known, annotation(second, "ann", mark))).await.unwrap();
            let all = read(&blobs, &sweep).await.unwrap();
            let said =
                all.latest().into_values().flat_map(std::collections::BTreeMap::into_values).map(|(_, of)| of.mark);
            assert_eq!(said.collect::<Vec<_>>(), [annotation(0, "ann", mark).mark]);
        }
        let bob = after(&read(&blobs, &sweep).await.unwrap(), annotation(20, "bob", "right"));
        assert_eq!(bob, annotation(20, "bob", "right"), "nobody else's time counts");
    }
}
