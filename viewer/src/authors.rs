//! Authors of annotations of a deployment's sweeps. Whoever serves the pages knows who looks at them; pages know neither tokens nor rights.

use futures::future::BoxFuture;

use crate::annotations::Annotator;
use crate::steering::{Asker, Refused};

/// Knows the people who look at the pages.
pub trait Authors: Send + Sync {
    /// The name under which `asker` annotates; `None` for those who may only read.
    fn name<'a>(&'a self, asker: &'a Asker) -> BoxFuture<'a, Option<Annotator>>;

    /// Notes that `asker` is about to annotate the session at `path`, and returns the number of the note. What is not noted is not stored.
    ///
    /// # Errors
    /// When they may not, ask too often, or it cannot be noted.
    fn begin<'a>(&'a self, asker: &'a Asker, path: &'a str) -> BoxFuture<'a, Result<u64, Refused>>;

    /// Notes under `number` that the annotation is stored, or the reason for which it is not.
    fn end<'a>(&'a self, number: u64, path: &'a str, failure: Option<&'a str>) -> BoxFuture<'a, ()>;
}
