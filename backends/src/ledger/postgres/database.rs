//! The database itself, among others of the same server and of other servers.

use deadpool_postgres::Object;

use super::pool::Fault;

/// A name that no other database has: a copy has another one, unless it is made of the whole server's files.
pub(super) async fn name(client: &Object) -> Result<String, Fault> {
    let select = "SELECT s.system_identifier::text || '-' || d.oid::text
         FROM pg_control_system() s, pg_database d WHERE d.datname = current_database()";
    Ok(client.query_one(select, &[]).await?.try_get(0)?)
}
