//! Authors of annotations of a deployment's sweeps. Whoever serves the pages knows who looks at them; pages know neither tokens nor rights.

use futures::future::BoxFuture;

use crate::annotations::Annotator;
use crate::steering::Asker;

/// Knows the people who look at the pages.
pub trait Authors: Send + Sync {
    /// The name under which `asker` annotates; `None` for those who may only read.
    fn name<'a>(&'a self, asker: &'a Asker) -> BoxFuture<'a, Option<Annotator>>;
}
