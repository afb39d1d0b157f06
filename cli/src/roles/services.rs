//! The services of a deployment, from the command line and the environment.

use anyhow::Context;
use regatta_backends::{Blobs, Ledger, Permits, PostgresConfig, Queue, RabbitMqConfig, S3Config};

use crate::args::{BlobArgs, LedgerArgs, QueueArgs};

pub(crate) async fn queue(args: &QueueArgs, seed: u64) -> anyhow::Result<Queue> {
    let config = RabbitMqConfig { seed, ..RabbitMqConfig::new(args.amqp_url.clone(), args.queue_prefix.clone()) };
    Queue::connect(config).await.context("failed to connect to RabbitMQ; check AMQP_URL")
}

pub(crate) async fn ledger(args: &LedgerArgs) -> anyhow::Result<Ledger> {
    Ledger::postgres(database(args)).await.context("failed to open the ledger; check DATABASE_URL")
}

/// The store of permits lies in the same database as the ledger.
pub(crate) async fn permits(args: &LedgerArgs) -> anyhow::Result<Permits> {
    Permits::postgres(database(args)).await.context("failed to open the store of permits; check DATABASE_URL")
}

fn database(args: &LedgerArgs) -> PostgresConfig {
    PostgresConfig { url: args.database_url.clone(), pool_size: args.database_connections as usize }
}

pub(crate) async fn blobs(args: &BlobArgs) -> anyhow::Result<Blobs> {
    let config = S3Config {
        bucket: args.bucket.clone(),
        prefix: args.bucket_prefix.clone(),
        endpoint_url: args.s3_endpoint.clone(),
        region: std::env::var("AWS_REGION").ok(),
        // Servers other than AWS rarely resolve bucket names as hosts.
        path_style: args.s3_endpoint.is_some(),
    };
    Blobs::s3(config)
        .await
        .context("failed to open the blob store; check REGATTA_BUCKET, S3_ENDPOINT and the AWS variables")
}
