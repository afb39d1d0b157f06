//! The services of a deployment, from the command line and the environment. One that is away is waited for, with a sentence; one that
//! refuses what it is asked is an error.

use std::time::Duration;

use anyhow::Context;
use futures::future::BoxFuture;
use regatta_backends::{
    BlobError, Blobs, CertificateFiles, Ledger, LedgerError, Permits, PermitsError, PostgresConfig, Queue, QueueError,
    RabbitMqConfig, S3Config,
};

use super::readiness::Readiness;
use crate::args::{BlobArgs, LedgerArgs, QueueArgs, Schema};
use crate::credentials::refuse_credentials;
use crate::exit::BadConfiguration;
use crate::plain_http::is_in_the_clear;

/// Pause before the second try, doubled for each further one.
const PAUSE: Duration = Duration::from_millis(500);
/// Longest pause between two tries.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// Time in which a bucket answers a look of a role that is at work. The client would try again for longer.
const BUCKET_ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// The queue, as `set` sets it.
pub(crate) async fn queue(
    args: &QueueArgs,
    readiness: &Readiness,
    set: impl Fn(RabbitMqConfig) -> RabbitMqConfig,
) -> anyhow::Result<Queue> {
    let connect = || {
        let config = RabbitMqConfig::new(broker_url(args), args.queue_prefix.clone());
        Queue::connect(set(RabbitMqConfig { compact_transcripts: args.compact_transcripts, ..config }))
    };
    let connected = wait_for("RabbitMQ", readiness, connect, QueueError::is_outage).await;
    connected.context("failed to connect to RabbitMQ; check AMQP_URL")
}

pub(crate) async fn ledger(args: &LedgerArgs, readiness: &Readiness) -> anyhow::Result<Ledger> {
    let open = || match args.schema {
        Schema::Migrate => Ledger::postgres(database(args)),
        Schema::Check => Ledger::postgres_as_it_is(database(args)),
    };
    let opened = wait_for("PostgreSQL", readiness, open, LedgerError::is_outage).await;
    opened.context("failed to open the ledger; check DATABASE_URL")
}

/// The store of permits lies in the same database as the ledger.
pub(crate) async fn permits(args: &LedgerArgs, readiness: &Readiness) -> anyhow::Result<Permits> {
    let open = || match args.schema {
        Schema::Migrate => Permits::postgres(database(args)),
        Schema::Check => Permits::postgres_as_it_is(database(args)),
    };
    let is_outage = |error: &PermitsError| match error {
        PermitsError::Store(error) => error.is_outage(),
        PermitsError::UnknownAccount { .. }
        | PermitsError::UnreadableAccount { .. }
        | PermitsError::Grants { .. }
        | PermitsError::Pools { .. } => false,
    };
    let opened = wait_for("PostgreSQL", readiness, open, is_outage).await;
    opened.context("failed to open the store of permits; check DATABASE_URL")
}

/// Brings the schemas of ledger and permits to this build.
pub(crate) async fn migrate(database_url: &str, readiness: &Readiness) -> anyhow::Result<()> {
    let args = LedgerArgs { database_url: database_url.to_owned(), database_connections: 1, schema: Schema::Migrate };
    ledger(&args, readiness).await?;
    permits(&args, readiness).await?;
    Ok(())
}

fn database(args: &LedgerArgs) -> PostgresConfig {
    let url = with_certificates(&args.database_url, &|name| std::env::var(name).ok());
    PostgresConfig { url, pool_size: args.database_connections as usize }
}

/// The broker's URL, which says that the way may be unencrypted where the command line does.
fn broker_url(args: &QueueArgs) -> String {
    match args.amqp_plain && args.amqp_url.starts_with("amqp://") {
        true => with_option(&args.amqp_url, "sslmode", "disable"),
        false => args.amqp_url.clone(),
    }
}

/// `url` with the certificates that libpq's variables name, where it names none itself.
fn with_certificates(url: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let mut url = url.to_owned();
    for (parameter, name) in [("sslrootcert", "PGSSLROOTCERT"), ("sslcert", "PGSSLCERT"), ("sslkey", "PGSSLKEY")] {
        if let Some(value) = variable(name).filter(|value| !value.is_empty()) {
            url = with_option(&url, parameter, &value);
        }
    }
    url
}

/// `url` with this option, unless it has one of the same name.
fn with_option(url: &str, parameter: &str, value: &str) -> String {
    let options = url.split_once('?').map(|(_, options)| options);
    // A password may have the same words.
    if options.is_some_and(|options| options.split('&').any(|option| option.starts_with(&format!("{parameter}=")))) {
        return url.to_owned();
    }
    let joint = if options.is_some() { '&' } else { '?' };
    format!("{url}{joint}{parameter}={value}")
}

/// Refuses an S3 server on another machine that is reached unencrypted, unless somebody said that the way is safe.
fn check_encryption(args: &BlobArgs) -> anyhow::Result<()> {
    // Without an endpoint of ours the client takes that of AWS's own variables.
    let named = || ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"].iter().find_map(|name| std::env::var(name).ok());
    let url = args.s3_endpoint.clone().or_else(named);
    if let Some(url) = &url {
        let instead = "give the key in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
        refuse_credentials(url, "--s3-endpoint, S3_ENDPOINT or AWS_ENDPOINT_URL", instead)?;
    }
    match url.filter(|url| is_in_the_clear(url)) {
        Some(url) if !args.certificates.s3_plain_http => Err(BadConfiguration(format!(
            "transcripts would go to {url} unencrypted: write https:// (--s3-endpoint, S3_ENDPOINT), or say that the way is safe with \
             --s3-plain-http (REGATTA_S3_PLAIN_HTTP=true)"
        ))
        .into()),
        Some(_) | None => Ok(()),
    }
}

pub(crate) async fn blobs(args: &BlobArgs, readiness: &Readiness) -> anyhow::Result<Blobs> {
    check_encryption(args)?;
    let config = S3Config {
        bucket: args.bucket.clone(),
        prefix: args.bucket_prefix.clone(),
        endpoint_url: args.s3_endpoint.clone(),
        region: std::env::var("AWS_REGION").ok(),
        // Servers other than AWS rarely resolve bucket names as hosts.
        path_style: args.s3_endpoint.is_some(),
        certificates: CertificateFiles {
            authorities: args.certificates.s3_ca.clone(),
            certificate: args.certificates.s3_cert.clone(),
            key: args.certificates.s3_key.clone(),
        },
    };
    let blobs = Blobs::s3(config)
        .await
        .context("failed to open the blob store; check REGATTA_BUCKET, S3_ENDPOINT and the AWS variables")?;
    // The service says in words alone why it refused: a bucket that is to be made looks like one that nobody will make.
    let look = || -> BoxFuture<'_, Result<_, BlobError>> { Box::pin(async { blobs.list("readiness/").await }) };
    wait_for("the bucket", readiness, look, |error| matches!(error, BlobError::S3 { .. })).await?;
    Ok(blobs)
}

/// Fails unless the bucket answers. There is no such object, so nothing is read.
pub(crate) async fn reach_bucket(blobs: &Blobs) -> anyhow::Result<()> {
    match tokio::time::timeout(BUCKET_ANSWERS_WITHIN, blobs.size("readiness/look")).await {
        Ok(answer) => answer.map(drop).context("the bucket does not answer"),
        Err(_) => anyhow::bail!("the bucket does not answer within {} s", BUCKET_ANSWERS_WITHIN.as_secs()),
    }
}

/// Tries until it works, or fails for another reason than that `service` is away.
async fn wait_for<'a, T, E>(
    service: &str,
    readiness: &Readiness,
    connect: impl Fn() -> BoxFuture<'a, Result<T, E>>,
    is_outage: impl Fn(&E) -> bool,
) -> Result<T, E>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let mut pause = PAUSE;
    readiness.lacks(format!("connecting to {service}"));
    loop {
        let error = match connect().await {
            Err(error) if is_outage(&error) => error,
            done => return done,
        };
        let reason = with_sources(&error);
        tracing::warn!("waiting for {service}: {reason}; trying again in {:.1} s", pause.as_secs_f64());
        readiness.lacks(format!("waiting for {service}: {reason}"));
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let said = source.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        next = source.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        ledger: LedgerArgs,
    }

    #[test]
    fn a_role_leaves_the_schema_to_regatta_migrate_unless_somebody_says_otherwise() {
        let schema = |words: &[&str]| {
            let line = [&["worker", "--database-url", "postgres://h/d"][..], words].concat();
            Line::parse_from(line).ledger.schema
        };
        assert_eq!(schema(&[]), Schema::Check);
        assert_eq!(schema(&["--schema", "migrate"]), Schema::Migrate);
    }

    #[test]
    fn certificates_of_the_database_may_come_from_its_usual_variables() {
        let variable = |name: &str| (name == "PGSSLROOTCERT").then(|| "/etc/ca.pem".to_owned());
        assert_eq!(with_certificates("postgres://h/d", &variable), "postgres://h/d?sslrootcert=/etc/ca.pem");
        assert_eq!(with_certificates("postgres://h/d?a=b", &variable), "postgres://h/d?a=b&sslrootcert=/etc/ca.pem");
        assert_eq!(with_certificates("postgres://h/d?sslrootcert=x", &variable), "postgres://h/d?sslrootcert=x");
    }

    #[test]
    fn the_command_line_can_say_for_the_broker_that_the_way_is_safe() {
        let url = |amqp_url: &str, amqp_plain| {
            let (amqp_url, queue_prefix) = (amqp_url.to_owned(), "regatta".to_owned());
            broker_url(&QueueArgs { amqp_url, amqp_plain, queue_prefix, compact_transcripts: false })
        };
        assert_eq!(url("amqp://u:p@h/v?heartbeat=5", true), "amqp://u:p@h/v?heartbeat=5&sslmode=disable");
        assert_eq!(url("amqp://u:p@h/v?sslmode=disable", true), "amqp://u:p@h/v?sslmode=disable");
        assert_eq!(url("amqp://u:p@h/v", false), "amqp://u:p@h/v");
        assert_eq!(url("amqps://u:p@h/v", true), "amqps://u:p@h/v");
    }

    #[test]
    fn a_bucket_on_another_machine_is_reached_over_tls_or_by_an_explicit_word() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            blobs: BlobArgs,
        }
        let checked = |arguments: &[&str]| {
            let line = [&["regatta", "--bucket", "b"], arguments].concat();
            check_encryption(&<Line as clap::Parser>::parse_from(line).blobs)
        };
        let refused = checked(&["--s3-endpoint", "http://s3.example:9000"]).unwrap_err().to_string();
        assert!(refused.contains("http://s3.example:9000") && refused.contains("--s3-plain-http"), "{refused}");
        checked(&["--s3-endpoint", "http://s3.example:9000", "--s3-plain-http"]).unwrap();
        checked(&["--s3-endpoint", "https://s3.example"]).unwrap();
        checked(&["--s3-endpoint", "http://127.0.0.1:9000"]).unwrap();
        checked(&[]).unwrap();
    }

    #[derive(Debug, thiserror::Error)]
    enum Refused {
        #[error("connection refused")]
        Away,
        #[error("wrong password")]
        Password,
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_is_away_is_waited_for_and_one_that_refuses_is_not() {
        let (tries, readiness) = (AtomicU32::new(0), Readiness::default());
        let connect = || -> BoxFuture<'_, Result<u32, Refused>> {
            let tried = tries.fetch_add(1, Ordering::Relaxed);
            Box::pin(async move { if tried < 20 { Err(Refused::Away) } else { Ok(tried) } })
        };
        let connected = wait_for("RabbitMQ", &readiness, connect, |error| matches!(error, Refused::Away)).await;
        assert_eq!(connected.unwrap(), 20);
        let refuse = || -> BoxFuture<'_, Result<(), Refused>> { Box::pin(async { Err(Refused::Password) }) };
        let refused = wait_for("RabbitMQ", &readiness, refuse, |error| matches!(error, Refused::Away)).await;
        assert_eq!(refused.unwrap_err().to_string(), "wrong password");
    }
}
