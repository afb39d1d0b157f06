//! Databases that use a bucket and prefix. Coordinators leave the name of theirs in it, and nothing is removed where another's is: that one may
//! refer to anything. Two deployments may share a bucket by mistake, or a copy of a database be brought up beside the original.

use std::time::Duration;

use regatta_backends::Outage;
use regatta_proto::causes;
use tokio_util::sync::CancellationToken;

use crate::rounds::SETBACK_MAX;
use crate::{Coordinator, CoordinatorError};

/// First pause before a name that could not be left is left again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Folder of the names in the blob store.
const FOLDER: &str = "ledgers/";

impl Coordinator {
    /// Leaves the name of the database in the bucket, and tries again until that is done or `stop` fires.
    pub(crate) async fn leave_name(&self, stop: &CancellationToken) {
        let mut outage = Outage::new(AGAIN_AFTER, SETBACK_MAX);
        loop {
            let Some(Err(error)) = stop.run_until_cancelled(self.put_name()).await else { return };
            let failed = outage.fails();
            if failed.is_told {
                let (error, tries) = (causes(&error), failed.tries);
                tracing::warn!(error, tries, "failed to leave the database's name in the bucket, trying again");
            }
            if stop.run_until_cancelled(tokio::time::sleep(failed.pause)).await.is_none() {
                return;
            }
        }
    }

    /// Leaves the name of the database in the bucket.
    ///
    /// # Errors
    /// When a store fails.
    pub(super) async fn put_name(&self) -> Result<(), CoordinatorError> {
        if let Some(key) = self.own_name().await? {
            self.catalog.blobs().put(&key, "{}".into()).await?;
        }
        Ok(())
    }

    /// The name of another database in the bucket, by its key; `None` if this one has it to itself.
    ///
    /// # Errors
    /// When a store fails.
    pub(crate) async fn neighbour(&self) -> Result<Option<String>, CoordinatorError> {
        let own = self.own_name().await?;
        let names = self.catalog.blobs().list(FOLDER).await?;
        Ok(names.into_iter().find(|name| Some(name) != own.as_ref()))
    }

    async fn own_name(&self) -> Result<Option<String>, CoordinatorError> {
        Ok(self.ledger.database_name().await?.map(|name| format!("{FOLDER}{name}.json")))
    }
}
