//! Inputs that stored documents name. A document is known by its digest and never changes, so that it is read once for all pages of a removal.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::join_all;
use regatta_catalog::{CatalogError, Input, InputKind, read_lock, read_manifest};
use regatta_proto::causes;

use crate::{Coordinator, CoordinatorError, Submission};

/// Most inputs whose documents are remembered, of 40 bytes each; other documents are read again for each page.
const NAMED_MAX: usize = 1_000_000;

/// Inputs that a document names, or a reason why it cannot be read.
pub(super) type Named = Result<Arc<[Input]>, String>;

/// Documents that were read, with what they name.
#[derive(Debug, Default)]
pub(super) struct Documents {
    named: HashMap<Input, Arc<[Input]>>,
    /// Number of all inputs that they name.
    count: usize,
}

impl Documents {
    fn remember(&mut self, document: Input, named: &Arc<[Input]>) {
        if self.count + named.len() <= NAMED_MAX && self.named.insert(document, Arc::clone(named)).is_none() {
            self.count += named.len();
        }
    }
}

impl Coordinator {
    /// Inputs that `document` names: a lock, a manifest, or the submission of a schedule, which is stored as content.
    ///
    /// # Errors
    /// When the blob store cannot be reached.
    pub(super) async fn named_by(&self, document: Input, documents: &mut Documents) -> Result<Named, CoordinatorError> {
        let named = self.read_named_by(document, documents).await?;
        if let Ok(named) = &named {
            documents.remember(document, named);
        }
        Ok(named)
    }

    /// Inputs that each of a few documents names, in their order.
    ///
    /// # Errors
    /// When the blob store cannot be reached.
    pub(super) async fn all_named_by(
        &self,
        some: Vec<Input>,
        documents: &mut Documents,
    ) -> Result<Vec<Named>, CoordinatorError> {
        let known: &Documents = documents;
        let read = join_all(some.iter().map(|document| self.read_named_by(*document, known))).await;
        let all = read.into_iter().collect::<Result<Vec<Named>, CatalogError>>()?;
        for (document, named) in some.into_iter().zip(&all) {
            if let Ok(named) = named {
                documents.remember(document, named);
            }
        }
        Ok(all)
    }

    async fn read_named_by(&self, document: Input, documents: &Documents) -> Result<Named, CatalogError> {
        if let Some(named) = documents.named.get(&document) {
            return Ok(Ok(Arc::clone(named)));
        }
        let (blobs, digest) = (self.catalog.blobs(), &document.digest);
        let read: Result<Arc<[Input]>, CatalogError> = match document.kind {
            InputKind::Lock => read_lock(blobs, digest).await.map(|lock| Input::of_lock(&lock).collect()),
            InputKind::Manifest => read_manifest(blobs, digest).await.map(|read| Input::of_manifest(&read).collect()),
            InputKind::Content => self.files_of_submission(document).await,
        };
        match read {
            Err(error) if error.is_outage() => Err(error),
            read => Ok(read.map_err(|error| causes(&error))),
        }
    }

    async fn files_of_submission(&self, document: Input) -> Result<Arc<[Input]>, CatalogError> {
        let bytes = self.catalog.blobs().get_content(&document.digest).await?;
        let submission: Submission = serde_json::from_slice(&bytes)?;
        Ok(submission.contents().map(|digest| Input { kind: InputKind::Content, digest: *digest }).collect())
    }
}
