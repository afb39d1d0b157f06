//! Names of checkpoints of running sessions in Blobs, and their removal.

use futures::future::{BoxFuture, join_all};
use regatta_backends::{BlobError, Blobs};
use regatta_proto::{SessionKey, SweepId};

/// Most objects that are removed at the same time.
const AT_ONCE: usize = 16;

/// Key of a session's checkpoint in Blobs.
#[must_use]
pub fn checkpoint_key(session: &SessionKey) -> String {
    format!("{}{}-{}", of_sweep(&session.sweep), session.cell.0, session.item.0)
}

fn of_sweep(sweep: &SweepId) -> String {
    format!("checkpoints/{sweep}/")
}

/// Keys of the checkpoints of a sweep. Those that are left of one that has ended are of sessions whose worker died before it could remove its own.
///
/// # Errors
/// When the store fails.
pub fn checkpoint_keys<'a>(blobs: &'a Blobs, sweep: &'a SweepId) -> BoxFuture<'a, Result<Vec<String>, BlobError>> {
    Box::pin(async move { blobs.list(&of_sweep(sweep)).await })
}

/// Removes the checkpoints of these keys.
///
/// # Errors
/// When the store fails; what is gone by then stays gone.
pub fn remove_checkpoints<'a>(blobs: &'a Blobs, keys: &'a [String]) -> BoxFuture<'a, Result<(), BlobError>> {
    Box::pin(async move {
        for some in keys.chunks(AT_ONCE) {
            for removed in join_all(some.iter().map(|key| blobs.delete(key))).await {
                removed?;
            }
        }
        Ok(())
    })
}
