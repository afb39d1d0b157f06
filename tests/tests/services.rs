//! The harness keeps its word: each service answers a real client, and nothing is left when it ends.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own steps fail the test")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use futures::StreamExt;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Confirmation, Connection, ConnectionProperties};
use regatta_tests::{S3Config, Services, unique_name};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio_postgres::NoTls;

/// Starting takes 5 s on a free machine, ending less.
const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::test]
async fn quorum_queue_delivers_what_was_confirmed() {
    let services = Services::shared().await.unwrap();
    let queue = unique_name("jobs");
    let channel = declare_quorum_queue(&services.amqp_url, &queue).await;

    publish_confirmed(&channel, &queue, b"a job").await;

    assert_eq!(consume_one(&channel, &queue).await, b"a job");
}

#[tokio::test]
async fn queues_of_the_same_name_in_two_virtual_hosts_are_two_queues() {
    let services = Services::shared().await.unwrap();
    let (ours, theirs) = tokio::try_join!(services.create_vhost(), services.create_vhost()).unwrap();
    let (ours, theirs) = (declare_quorum_queue(&ours, "jobs").await, declare_quorum_queue(&theirs, "jobs").await);
    for (channel, body) in [(&ours, b"our job"), (&theirs, b"another")] {
        publish_confirmed(channel, "jobs", body).await;
    }

    assert_eq!(consume_one(&theirs, "jobs").await, b"another");
    assert_eq!(consume_one(&ours, "jobs").await, b"our job");
}

#[tokio::test]
async fn each_test_has_a_database_of_its_own() {
    let services = Services::shared().await.unwrap();
    let (ours, theirs) = (services.create_database().await.unwrap(), services.create_database().await.unwrap());

    query(&ours, "create table results (id int)").await.unwrap();

    assert!(query(&ours, "select version()").await.unwrap().starts_with("PostgreSQL "));
    assert_eq!(query(&ours, "select count(*)::text from results").await.unwrap(), "0");
    assert!(
        query(&theirs, "select count(*)::text from results").await.is_err(),
        "the table is in the other database too"
    );
}

#[tokio::test]
async fn wrong_database_password_is_refused() {
    let services = Services::shared().await.unwrap();
    if std::env::var_os("REGATTA_TEST_POSTGRES_URL").is_some() {
        println!("skipped: the password rules are those of the server that the environment names");
        return;
    }
    let wrong = services.postgres_url.replace("regatta:regatta@", "regatta:wrong@");
    assert_ne!(wrong, services.postgres_url);
    assert!(query(&wrong, "select 'in'").await.is_err());
}

#[tokio::test]
async fn stored_object_is_read_back_from_its_bucket_only() {
    let services = Services::shared().await.unwrap();
    let ours = services.create_bucket().await.unwrap();
    let theirs = services.create_bucket().await.unwrap();

    put(&ours, "sweeps/1/report.md", b"# Report").await.unwrap();

    assert_eq!(get(&ours, "sweeps/1/report.md").await.unwrap(), b"# Report");
    assert!(get(&theirs, "sweeps/1/report.md").await.is_err());
}

#[tokio::test]
async fn request_signed_with_a_wrong_secret_is_refused() {
    let services = Services::shared().await.unwrap();
    let wrong = S3Config { secret_key: "wrong".to_owned(), ..services.s3.clone() };

    let refusal = put(&wrong, "key", b"value").await.unwrap_err();

    assert_eq!(refusal, "SignatureDoesNotMatch");
}

#[tokio::test]
async fn two_sets_of_services_know_nothing_of_each_other() {
    if overridden() {
        println!("skipped: the environment names the services, so there is one set only");
        return;
    }
    let shared = Services::shared().await.unwrap();
    let own = Services::start().await.unwrap();
    assert_ne!(own.amqp_url, shared.amqp_url);
    assert_ne!(own.postgres_url, shared.postgres_url);
    assert_ne!(own.s3.endpoint_url, shared.s3.endpoint_url);
    let queue = unique_name("jobs");

    declare_quorum_queue(&own.amqp_url, &queue).await;

    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    let elsewhere = confirming_channel(&shared.amqp_url).await;
    assert!(elsewhere.queue_declare(queue.into(), passive, FieldTable::default()).await.is_err());
}

#[tokio::test]
async fn confirmed_messages_survive_a_stop_and_a_kill_of_the_broker() {
    if overridden() {
        println!("skipped: only a broker of our own may be stopped");
        return;
    }
    let broker = regatta_tests::RabbitMq::start().await.unwrap();
    let queue = "jobs";
    {
        let channel = declare_quorum_queue(&broker.amqp_url(), queue).await;
        publish_confirmed(&channel, queue, b"before the stop").await;
    }

    broker.stop().await.unwrap();
    assert!(Connection::connect(&broker.amqp_url(), ConnectionProperties::default()).await.is_err());
    broker.restart().await.unwrap();
    {
        let channel = confirming_channel(&broker.amqp_url()).await;
        assert_eq!(consume_one(&channel, queue).await, b"before the stop");
        publish_confirmed(&channel, queue, b"before the kill").await;
    }

    broker.kill().await.unwrap();
    broker.restart().await.unwrap();
    let channel = confirming_channel(&broker.amqp_url()).await;
    assert_eq!(consume_one(&channel, queue).await, b"before the kill");
}

#[tokio::test]
async fn services_end_with_their_process_even_when_it_is_killed() {
    let folder = folder_for_everyone();
    let mut program = tokio::process::Command::from(services_program(folder.path()));
    let mut program = program.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let first = tokio::time::timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().unwrap();
    assert!(first.starts_with("export AMQP_URL='amqp://"), "{first}");
    assert!(processes_of(folder.path()).len() >= 3, "{:?}", processes_of(folder.path()));

    program.start_kill().unwrap(); // SIGKILL
    program.wait().await.unwrap();

    nothing_is_left(folder.path()).await;
}

#[tokio::test]
async fn command_gets_the_services_and_its_exit_code_is_passed_on() {
    let folder = folder_for_everyone();
    let mut program = services_program(folder.path());
    program.args(["sh", "-c", "echo $AMQP_URL $DATABASE_URL $S3_ENDPOINT; exit 3"]);
    let output = tokio::process::Command::from(program).kill_on_drop(true).output();

    let output = tokio::time::timeout(PATIENCE, output).await.unwrap().unwrap();

    let stdout = String::from_utf8(output.stdout).unwrap();
    let urls: Vec<&str> = stdout.split_whitespace().collect();
    let schemes: Vec<&str> = urls.iter().filter_map(|url| Some(url.split_once("://")?.0)).collect();
    assert_eq!(schemes, ["amqp", "postgres", "http"], "{stdout}");
    assert_eq!(output.status.code(), Some(3));
    nothing_is_left(folder.path()).await;
}

/// Variables that name running services.
const OVERRIDES: [&str; 3] = ["REGATTA_TEST_AMQP_URL", "REGATTA_TEST_POSTGRES_URL", "REGATTA_TEST_S3_ENDPOINT"];

fn overridden() -> bool {
    OVERRIDES.iter().any(|name| std::env::var_os(name).is_some())
}

async fn confirming_channel(url: &str) -> Channel {
    let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    channel
}

/// Declares `queue` and returns the channel. A broker that is starved of processors gives up forming the queue's cluster of one, and closes
/// the connection with an internal error: it is asked again on another one.
async fn declare_quorum_queue(url: &str, queue: &str) -> Channel {
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
    let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    let declared = async {
        loop {
            let channel = confirming_channel(url).await;
            match channel.queue_declare(queue.into(), options, arguments.clone()).await {
                Ok(_) => break channel,
                Err(error) => assert!(error.to_string().contains("cluster_not_formed"), "{error}"),
            }
        }
    };
    tokio::time::timeout(PATIENCE, declared).await.unwrap()
}

async fn publish_confirmed(channel: &Channel, queue: &str, body: &[u8]) {
    let properties = BasicProperties::default().with_delivery_mode(2);
    let published = channel.basic_publish("".into(), queue.into(), BasicPublishOptions::default(), body, properties);
    let confirmation = published.await.unwrap().await.unwrap();
    assert!(matches!(confirmation, Confirmation::Ack(None)), "{confirmation:?}");
}

async fn consume_one(channel: &Channel, queue: &str) -> Vec<u8> {
    let consumer =
        channel.basic_consume(queue.into(), "test".into(), BasicConsumeOptions::default(), FieldTable::default());
    let mut consumer = consumer.await.unwrap();
    let delivery = tokio::time::timeout(PATIENCE, consumer.next()).await.unwrap().unwrap().unwrap();
    delivery.ack(BasicAckOptions::default()).await.unwrap();
    delivery.data
}

/// The first column of the first row, or nothing when there is no row.
async fn query(url: &str, sql: &str) -> Result<String, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    let rows = client.query(sql, &[]).await?;
    Ok(rows.first().map(|row| row.get(0)).unwrap_or_default())
}

/// The error is the code that the server answered.
async fn put(config: &S3Config, key: &str, body: &'static [u8]) -> Result<(), String> {
    let request = config.client().put_object().bucket(&config.bucket).key(key).body(body.to_vec().into());
    let answer = request.send().await;
    answer.map(drop).map_err(|error| error.into_service_error().meta().code().unwrap_or("no code").to_owned())
}

async fn get(config: &S3Config, key: &str) -> Result<Vec<u8>, String> {
    let answer = config.client().get_object().bucket(&config.bucket).key(key).send().await;
    let answer = answer.map_err(|error| format!("{error:?}"))?;
    let mut body = Vec::new();
    answer.body.into_async_read().read_to_end(&mut body).await.map_err(|error| error.to_string())?;
    Ok(body)
}

/// A temporary folder that the user PostgreSQL runs as can pass through.
fn folder_for_everyone() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::Builder::new().prefix("regatta-test-").tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// The program `services`, with all its traces in `folder` and none of the caller's services.
fn services_program(folder: &Path) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_services"));
    program.env("TMPDIR", folder).stdin(Stdio::null());
    for name in OVERRIDES {
        program.env_remove(name);
    }
    program
}

/// Command lines of the processes whose environment or arguments name `folder`.
fn processes_of(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let read = |file: &str| std::fs::read(entry.path().join(file)).unwrap_or_default();
        let (environment, arguments) = (read("environ"), read("cmdline"));
        let names_folder = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(folder);
        if names_folder(&environment) || names_folder(&arguments) {
            found.push(String::from_utf8_lossy(&arguments).replace('\0', " "));
        }
    }
    found
}

/// Waits until neither a process nor a file is left, which the end of a killed process does not wait for.
async fn nothing_is_left(folder: &Path) {
    let gone = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        while !processes_of(folder).is_empty() || std::fs::read_dir(folder).unwrap().next().is_some() {
            ticks.tick().await;
        }
    };
    if tokio::time::timeout(PATIENCE, gone).await.is_err() {
        let files: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
        panic!("left over: {:#?} {files:#?}", processes_of(folder));
    }
}
