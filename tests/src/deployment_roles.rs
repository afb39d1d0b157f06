//! Logins of a deployment's roles in its database, each with the rights of `deploy/postgres-roles.sql` and no others.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Output, Stdio};

use tokio::process::Command;
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};

use crate::postgres::{client_program, copy_database};
use crate::regatta::{binary, finish, program, workspace};
use crate::{Deployment, HarnessError, Services};

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

/// A migrated database with the rights of all roles, which is copied for each deployment, and a login for each role.
#[derive(Debug)]
pub(crate) struct Template {
    server: String,
    database: String,
    /// Logins by role.
    logins: BTreeMap<&'static str, String>,
}

impl Template {
    /// Template in the services that all tests of this process share: the owner migrates it, as `regatta migrate` in a deployment.
    ///
    /// # Errors
    /// When the services cannot be had, or the database cannot be made.
    pub(crate) async fn shared() -> Result<&'static Self, HarnessError> {
        static SHARED: OnceCell<Template> = OnceCell::const_new();
        SHARED.get_or_try_init(Self::make).await
    }

    async fn make() -> Result<Self, HarnessError> {
        let services = Services::shared().await?;
        let server = services.postgres_url.clone();
        let url = services.create_database().await?;
        migrate(binary()?, &url).await?;
        grant(&url, GRANTS).await?;
        let database = database_of(&url).to_owned();
        Ok(Self { server, logins: login_names(&url).await?, database })
    }

    /// A copy: its URL for the owner, and those of the roles.
    ///
    /// # Errors
    /// When the server refuses.
    pub(crate) async fn copy(&self) -> Result<(String, BTreeMap<&'static str, String>), HarnessError> {
        let url = copy_database(&self.server, &self.database).await?;
        let urls = login_urls(&url, &self.logins);
        Ok((url, urls))
    }
}

/// Grants what the roles may in the migrated database at `url`, and makes a login for each of them; its URLs for the roles.
///
/// # Errors
/// When the server refuses.
pub async fn create_logins(url: &str) -> Result<BTreeMap<&'static str, String>, HarnessError> {
    grant(url, GRANTS).await?;
    logins_of_roles(url).await
}

/// Makes a login for each role of the database at `url`, whose rights are granted; its URLs for the roles.
///
/// # Errors
/// When the server refuses.
pub(crate) async fn logins_of_roles(url: &str) -> Result<BTreeMap<&'static str, String>, HarnessError> {
    Ok(login_urls(url, &login_names(url).await?))
}

/// `regatta migrate` of the program at `path`, with the owner's `url`.
///
/// # Errors
/// When it fails; says why.
pub(crate) async fn migrate(path: &Path, url: &str) -> Result<(), HarnessError> {
    let mut migrate = program(path);
    migrate.arg("migrate").env("DATABASE_URL", url);
    let migrated = finish(migrate).await?;
    if migrated.status.success() {
        return Ok(());
    }
    Err(HarnessError::Binary(String::from_utf8_lossy(&migrated.stderr).into_owned()))
}

/// Grants in the migrated database at `url`, the owner's, what `grants` says.
///
/// # Errors
/// When the server refuses.
pub(crate) async fn grant(url: &str, grants: &str) -> Result<(), HarnessError> {
    let failed = |error: tokio_postgres::Error| HarnessError::io("grant rights")(std::io::Error::other(error));
    connect(url).await?.batch_execute(grants).await.map_err(failed)
}

impl Deployment {
    /// Runs `deploy/postgres-roles.sql` as its first lines say, a statement at a time; `psql` goes on after one that fails.
    ///
    /// # Errors
    /// When `psql` is not there.
    pub async fn grant_by_psql(&self) -> Result<Output, HarnessError> {
        let mut psql = Command::new(client_program("psql")?);
        psql.args(["--no-psqlrc", self.database_url(), "--file"]).arg(workspace().join("deploy/postgres-roles.sql"));
        psql.stdin(Stdio::null()).kill_on_drop(true);
        finish(psql).await
    }
}

fn login_urls(url: &str, logins: &BTreeMap<&'static str, String>) -> BTreeMap<&'static str, String> {
    let (_, host) = url.rsplit_once('@').unwrap_or(("", url));
    let of_role = |(role, login): (&&'static str, &String)| (*role, format!("postgres://{login}:{PASSWORD}@{host}"));
    logins.iter().map(of_role).collect()
}

/// Rights of the roles, in the version under test.
pub(crate) const GRANTS: &str = include_str!("../../deploy/postgres-roles.sql");

/// Of all logins; unlike any other word, so that a search finds it wherever it was written down.
const PASSWORD: &str = "database93c1f06apassword";

fn database_of(url: &str) -> &str {
    let name = url.rsplit('/').next().unwrap_or_default();
    name.split('?').next().unwrap_or_default()
}

/// Makes a login for each role of the database at `url`; their names.
async fn login_names(url: &str) -> Result<BTreeMap<&'static str, String>, HarnessError> {
    let failed = |error: tokio_postgres::Error| HarnessError::io("make logins")(std::io::Error::other(error));
    let client = connect(url).await?;
    let mut logins = BTreeMap::new();
    for role in ROLES {
        // Logins belong to the server, which other tests share.
        let login = format!("{role}_{}", database_of(url).replace('-', "_"));
        let login = &login[..login.len().min(63)];
        let create = format!("CREATE ROLE {login} LOGIN PASSWORD '{PASSWORD}' IN ROLE regatta_{role}");
        client.batch_execute(&create).await.map_err(failed)?;
        logins.insert(role, login.to_owned());
    }
    Ok(logins)
}
