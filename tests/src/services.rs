//! The three services a deployment needs, brought up together.

use std::env;

use tokio::sync::OnceCell;

use crate::vhost::{IMPORT_DEFINITIONS, Tracing, VirtualHost};
use crate::{HarnessError, Postgres, RabbitMq, S3Config, S3Server, create_bucket, create_database};

static SHARED: OnceCell<Services> = OnceCell::const_new();

/// RabbitMQ, PostgreSQL and an S3 server: private ones, or those that the environment names.
///
/// `REGATTA_TEST_AMQP_URL`, `REGATTA_TEST_POSTGRES_URL` and `REGATTA_TEST_S3_ENDPOINT` (with `AWS_ACCESS_KEY_ID`,
/// `AWS_SECRET_ACCESS_KEY` and `AWS_REGION`) each replace one. Private ones stop, and their data goes, on drop and also
/// when the process is killed.
#[derive(Debug)]
pub struct Services {
    /// A broker with all rights on its default virtual host. Tests that share it take [`Services::create_vhost`].
    pub amqp_url: String,
    /// A server on which databases may be created; see [`Services::create_database`].
    pub postgres_url: String,
    /// A server with an empty bucket of our own.
    pub s3: S3Config,
    rabbitmq: Option<RabbitMq>,
    postgres: Option<Postgres>,
    s3_server: Option<S3Server>,
}

impl Services {
    /// Brings up all three, for the caller alone, and returns when they answer.
    ///
    /// # Errors
    /// When one is not installed or does not come up.
    pub async fn start() -> Result<Self, HarnessError> {
        let (rabbitmq, postgres, s3) = tokio::try_join!(start_rabbitmq(), start_postgres(), start_s3())?;
        Ok(Self {
            amqp_url: rabbitmq.0,
            postgres_url: postgres.0,
            s3: s3.0,
            rabbitmq: rabbitmq.1,
            postgres: postgres.1,
            s3_server: s3.1,
        })
    }

    /// The services that all tests of this process share. They end with the process.
    ///
    /// # Errors
    /// When one is not installed or does not come up.
    pub async fn shared() -> Result<&'static Self, HarnessError> {
        SHARED.get_or_try_init(Self::start).await
    }

    /// The private broker, to stop and restart it; `None` when the environment named one.
    #[must_use]
    pub fn rabbitmq(&self) -> Option<&RabbitMq> {
        self.rabbitmq.as_ref()
    }

    /// The private PostgreSQL, to kill and restart it; `None` when the environment named one.
    #[must_use]
    pub fn postgres(&self) -> Option<&Postgres> {
        self.postgres.as_ref()
    }

    /// The private S3 server, to fill its disk; `None` when the environment named one.
    #[must_use]
    pub fn s3_server(&self) -> Option<&S3Server> {
        self.s3_server.as_ref()
    }

    /// The AMQP URL of a new, empty virtual host. On a broker that the environment names, `REGATTA_TEST_IMPORT_DEFINITIONS` makes it: a
    /// program that imports what it reads; without one, `curl` does by the management plugin on port 15672.
    ///
    /// # Errors
    /// When the broker refuses.
    pub async fn create_vhost(&self) -> Result<String, HarnessError> {
        self.create(Tracing::Off).await
    }

    /// The same of one in which `amq.rabbitmq.trace` has a copy of every message that is published.
    ///
    /// # Errors
    /// When the broker refuses.
    pub async fn create_traced_vhost(&self) -> Result<String, HarnessError> {
        self.create(Tracing::On).await
    }

    async fn create(&self, tracing: Tracing) -> Result<String, HarnessError> {
        let vhost = VirtualHost::new(&self.amqp_url, tracing);
        match &self.rabbitmq {
            Some(rabbitmq) => rabbitmq.create(vhost).await,
            None => vhost.create_elsewhere().await,
        }
    }

    /// The URL of a new, empty database.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn create_database(&self) -> Result<String, HarnessError> {
        create_database(&self.postgres_url).await
    }

    /// The same S3 server with a new, empty bucket.
    ///
    /// # Errors
    /// When the server refuses.
    pub async fn create_bucket(&self) -> Result<S3Config, HarnessError> {
        create_bucket(&self.s3).await
    }

    /// Environment variables by which other test processes use these services instead of their own.
    ///
    /// # Errors
    /// When the script that makes virtual hosts cannot be written.
    pub fn test_environment(&self) -> Result<Vec<(&'static str, String)>, HarnessError> {
        let mut variables = vec![
            ("REGATTA_TEST_AMQP_URL", self.amqp_url.clone()),
            ("REGATTA_TEST_POSTGRES_URL", self.postgres_url.clone()),
            ("REGATTA_TEST_S3_ENDPOINT", self.s3.endpoint_url.clone()),
            ("AWS_REGION", self.s3.region.clone()),
            ("AWS_ACCESS_KEY_ID", self.s3.access_key.clone()),
            ("AWS_SECRET_ACCESS_KEY", self.s3.secret_key.clone()),
        ];
        if let Some(rabbitmq) = &self.rabbitmq {
            variables.push((IMPORT_DEFINITIONS, rabbitmq.import_script()?.display().to_string()));
        }
        Ok(variables)
    }

    /// Environment variables that point the programs under test to these services.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AMQP_URL", self.amqp_url.clone()),
            ("DATABASE_URL", self.postgres_url.clone()),
            ("S3_ENDPOINT", self.s3.endpoint_url.clone()),
            ("REGATTA_BUCKET", self.s3.bucket.clone()),
            ("AWS_REGION", self.s3.region.clone()),
            ("AWS_ACCESS_KEY_ID", self.s3.access_key.clone()),
            ("AWS_SECRET_ACCESS_KEY", self.s3.secret_key.clone()),
        ]
    }
}

async fn start_rabbitmq() -> Result<(String, Option<RabbitMq>), HarnessError> {
    if let Ok(url) = env::var("REGATTA_TEST_AMQP_URL") {
        return Ok((url, None));
    }
    let rabbitmq = RabbitMq::start().await?;
    Ok((rabbitmq.amqp_url(), Some(rabbitmq)))
}

async fn start_postgres() -> Result<(String, Option<Postgres>), HarnessError> {
    if let Ok(url) = env::var("REGATTA_TEST_POSTGRES_URL") {
        return Ok((url, None));
    }
    let postgres = Postgres::start().await?;
    Ok((postgres.url(), Some(postgres)))
}

async fn start_s3() -> Result<(S3Config, Option<S3Server>), HarnessError> {
    if let Ok(endpoint_url) = env::var("REGATTA_TEST_S3_ENDPOINT") {
        let of_environment = |name: &str| {
            env::var(name).map_err(|reason| HarnessError::Refused {
                action: format!("read {name}, which REGATTA_TEST_S3_ENDPOINT needs"),
                source: Box::new(reason),
            })
        };
        let config = S3Config {
            endpoint_url,
            region: env::var("AWS_REGION").unwrap_or_else(|_| "us-east-1".to_owned()),
            access_key: of_environment("AWS_ACCESS_KEY_ID")?,
            secret_key: of_environment("AWS_SECRET_ACCESS_KEY")?,
            bucket: String::new(),
        };
        return Ok((create_bucket(&config).await?, None));
    }
    let s3 = S3Server::start().await?;
    Ok((s3.config().clone(), Some(s3)))
}
