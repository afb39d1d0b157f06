//! Logins of a deployment's roles in its database, each with the rights of `deploy/postgres-roles.sql` and no others.

use std::collections::BTreeMap;

use tokio_postgres::{Client, NoTls};

use crate::HarnessError;
use crate::regatta::workspace;

/// Roles that processes of a deployment have in the database.
pub const ROLES: [&str; 4] = ["coordinator", "scorer", "worker", "reader"];

/// A connection to the database at `url`.
///
/// # Errors
/// When the server refuses.
pub async fn connect(url: &str) -> Result<Client, HarnessError> {
    let failed =
        |error: tokio_postgres::Error| HarnessError::io("connect to the database")(std::io::Error::other(error));
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.map_err(failed)?;
    tokio::spawn(connection);
    Ok(client)
}

/// Makes a login for each role in the migrated database at `url`; returns their URLs by role.
///
/// # Errors
/// When the server refuses.
pub async fn create_logins(url: &str) -> Result<BTreeMap<&'static str, String>, HarnessError> {
    let failed = |error: tokio_postgres::Error| HarnessError::io("make logins")(std::io::Error::other(error));
    let file = workspace().join("deploy/postgres-roles.sql");
    let grants = std::fs::read_to_string(&file).map_err(HarnessError::io("read the roles"))?;
    let client = connect(url).await?;
    client.batch_execute(&grants).await.map_err(failed)?;
    let (address, database) = url.rsplit_once('/').unwrap_or((url, ""));
    let host = address.rsplit_once('@').map_or(address, |(_, host)| host);
    let mut urls = BTreeMap::new();
    for role in ROLES {
        // Logins belong to the server, which other tests share.
        let login = format!("{role}_{}", database.replace('-', "_"));
        let login = &login[..login.len().min(63)];
        let create = format!("CREATE ROLE {login} LOGIN PASSWORD 'of-a-test' IN ROLE regatta_{role}");
        client.batch_execute(&create).await.map_err(failed)?;
        urls.insert(role, format!("postgres://{login}:of-a-test@{host}/{database}"));
    }
    Ok(urls)
}
