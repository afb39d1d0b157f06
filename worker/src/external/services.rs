//! Clients of agents that are services: one for each address, so that sessions share its connections, and certificates are read once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use regatta_llm::{EgressRules, http_client};
use reqwest::{Client, Url};

use super::post::CONNECT_MAX;

/// Clients that are kept. A worker sees the addresses of all sweeps that it works on, and no more than a few at a time.
const KEPT: usize = 64;

/// The clients by the addresses that they post to.
#[derive(Default)]
pub(super) struct Services(Mutex<HashMap<String, Client>>);

impl Services {
    /// The client that posts to `url`, within `egress`, which is always the same.
    ///
    /// # Errors
    /// When the address is none, or nothing may be sent there.
    pub(super) fn client(&self, url: &str, egress: &Arc<EgressRules>) -> Result<Client, String> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(url) {
            return Ok(client.clone());
        }
        let address = url.parse::<Url>().map_err(|error| format!("{url} is no address: {error}"))?;
        let client = http_client(&address, CONNECT_MAX, Arc::clone(egress)).map_err(|error| error.to_string())?;
        if clients.len() >= KEPT {
            clients.clear();
        }
        clients.insert(url.to_owned(), client.clone());
        Ok(client)
    }
}
