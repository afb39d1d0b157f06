//! Backups of a deployment as its operator makes them: the ledger by `pg_dump`, the bucket by copying its objects.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use aws_sdk_s3::primitives::ByteStream;
use tokio::process::Command;

use crate::deployment_roles::create_logins;
use crate::postgres::client_program;
use crate::{Deployment, HarnessError, S3Config, Services};

impl Deployment {
    /// Writes the ledger as it is at one moment into a file `name` of the deployment's folder.
    ///
    /// # Errors
    /// When `pg_dump` is not there, or fails.
    pub async fn dump_ledger(&self, name: &str) -> Result<PathBuf, HarnessError> {
        let file = self.folder.path().join(name);
        let mut dump = Command::new(client_program("pg_dump")?);
        dump.arg("--format=custom").arg("--file").arg(&file).arg("--dbname").arg(self.database_url());
        run(dump, "dump the ledger").await?;
        Ok(file)
    }

    /// Copies what is in the bucket into another one of the same server, one object after the other; what is removed meanwhile is left out.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn copy_bucket(&self) -> Result<S3Config, HarnessError> {
        let copy = crate::create_bucket(self.s3()).await?;
        copy_objects(self.s3(), &copy).await?;
        Ok(copy)
    }

    /// A deployment over a virtual host without queues, a new database and a new bucket of `services`, which have what `ledger` and `bucket`
    /// kept. Nothing is started.
    ///
    /// # Errors
    /// When the services refuse, or `pg_restore` fails.
    pub async fn restored(services: &Services, ledger: &Path, bucket: &S3Config) -> Result<Self, HarnessError> {
        let database_url = services.create_database().await?;
        let mut restore = Command::new(client_program("pg_restore")?);
        restore.args(["--no-owner", "--no-privileges", "--exit-on-error", "--dbname", &database_url]).arg(ledger);
        run(restore, "restore the ledger").await?;
        // Rights and logins belong to the server; a new one has none of them.
        let logins = create_logins(&database_url).await?;
        let s3 = services.create_bucket().await?;
        copy_objects(bucket, &s3).await?;
        Self::at(services.create_vhost().await?, database_url, logins, s3).await
    }
}

impl S3Config {
    /// Keys of all objects of the bucket.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn keys(&self) -> Result<BTreeSet<String>, HarnessError> {
        let mut pages = self.client().list_objects_v2().bucket(&self.bucket).into_paginator().send();
        let mut keys = BTreeSet::new();
        while let Some(page) = pages.try_next().await.map_err(HarnessError::refused("list a bucket"))? {
            keys.extend(page.contents().iter().filter_map(|object| object.key().map(str::to_owned)));
        }
        Ok(keys)
    }
}

async fn copy_objects(from: &S3Config, to: &S3Config) -> Result<(), HarnessError> {
    let (source, target) = (from.client(), to.client());
    for key in from.keys().await? {
        let got = source.get_object().bucket(&from.bucket).key(&key).send().await;
        let got = match got {
            Err(error) if error.as_service_error().is_some_and(|error| error.is_no_such_key()) => continue,
            got => got.map_err(HarnessError::refused(format!("read {key}")))?,
        };
        let bytes = got.body.collect().await.map_err(HarnessError::refused(format!("read {key}")))?;
        let put = target.put_object().bucket(&to.bucket).key(&key).body(ByteStream::from(bytes.into_bytes()));
        put.send().await.map_err(HarnessError::refused(format!("write {key}")))?;
    }
    Ok(())
}

async fn run(mut program: Command, action: &str) -> Result<(), HarnessError> {
    let output = program.stdin(Stdio::null()).kill_on_drop(true).output().await.map_err(HarnessError::io(action))?;
    if output.status.success() {
        return Ok(());
    }
    let reason = format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    Err(HarnessError::Refused { action: action.to_owned(), source: reason.into() })
}
