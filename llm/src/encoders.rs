//! Encoders of one process: each directory is loaded once, whichever endpoints of whichever sweeps name it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use regatta_proto::EndpointName;

use crate::encoding::Encoding;
use crate::open_error::OpenError;

/// Encoders that are loaded, each while an endpoint uses it; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Encoders(Arc<Mutex<BTreeMap<PathBuf, Place>>>);

/// An encoder, behind a lock that is held while it is loaded.
type Place = Arc<Mutex<Weak<Encoding>>>;

impl Encoders {
    /// The encoder of `directory`. Blocks while it is loaded.
    ///
    /// # Errors
    /// When its files cannot be used; names the endpoint.
    pub(crate) fn open(&self, endpoint: &EndpointName, directory: &Path) -> Result<Arc<Encoding>, OpenError> {
        let place =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(directory.to_owned()).or_default().clone();
        let mut loaded = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(encoder) = loaded.upgrade() {
            return Ok(encoder);
        }
        let encoder = Arc::new(Encoding::open(endpoint, directory)?);
        *loaded = Arc::downgrade(&encoder);
        Ok(encoder)
    }
}
