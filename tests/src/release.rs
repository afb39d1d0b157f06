//! Versions of the program, each with the rights that it gives to the roles of a deployment, and the database as each leaves it.

use std::path::{Path, PathBuf};

use crate::deployment_roles::{GRANTS, grant, logins_of_roles, migrate};
use crate::regatta::{binary, skipped};
use crate::{Deployment, HarnessError, Services};

/// A version of the program.
#[derive(Debug, Clone)]
pub struct Release {
    /// Path of the program.
    pub program: PathBuf,
    /// Text of its `deploy/postgres-roles.sql`.
    grants: String,
}

impl Release {
    /// The version under test.
    ///
    /// # Errors
    /// When the binary does not build.
    pub fn present() -> Result<Self, HarnessError> {
        Ok(Self { program: binary()?.to_owned(), grants: GRANTS.to_owned() })
    }

    /// The version before, of which `scripts/previous` has built the program that `REGATTA_PREVIOUS_BINARY` names, and written the rights
    /// beside it: those of this version name tables that the other has not. Says that `test` is skipped where nobody has built it.
    ///
    /// # Errors
    /// When there is a program without its rights.
    pub fn previous(test: &str) -> Result<Option<Self>, HarnessError> {
        let Some(program) = std::env::var_os("REGATTA_PREVIOUS_BINARY").map(PathBuf::from) else {
            skipped(
                test,
                "REGATTA_PREVIOUS_BINARY names no program of the previous version; scripts/previous builds one",
            );
            return Ok(None);
        };
        let beside = grants_beside(&program);
        let action = format!("read {}, which scripts/previous writes beside the program", beside.display());
        let grants = std::fs::read_to_string(&beside).map_err(HarnessError::io(action))?;
        Ok(Some(Self { program, grants }))
    }
}

fn grants_beside(program: &Path) -> PathBuf {
    let mut path = program.as_os_str().to_owned();
    path.push(".postgres-roles.sql");
    PathBuf::from(path)
}

impl Deployment {
    /// Places for a deployment whose database its owner has migrated with `release`, and whose roles have a login each with the rights that
    /// `release` gives them, and no others. Roles and clients are the version under test until told otherwise.
    ///
    /// # Errors
    /// When the services cannot be had, or the database cannot be made.
    pub async fn migrated_by(release: &Release) -> Result<Self, HarnessError> {
        let services = Services::shared().await?;
        let database_url = services.create_database().await?;
        migrate(&release.program, &database_url).await?;
        grant(&database_url, &release.grants).await?;
        let logins = logins_of_roles(&database_url).await?;
        Self::at(services.create_vhost().await?, database_url, logins, services.create_bucket().await?).await
    }

    /// The owner migrates the database with `release` and grants what the roles may from then on, as an operator does before the roles are
    /// replaced; those that run stay what they are, and logins, too.
    ///
    /// # Errors
    /// When the program fails, or the server refuses.
    pub async fn migrate(&self, release: &Release) -> Result<(), HarnessError> {
        migrate(&release.program, self.database_url()).await?;
        grant(self.database_url(), &release.grants).await
    }
}
