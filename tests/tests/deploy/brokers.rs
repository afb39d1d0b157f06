//! Settings of the compose files' broker: the tests' broker has them as far as its version knows them, and workers keep to them.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use lapin::options::{
    BasicGetOptions, BasicNackOptions, BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Connection, ConnectionProperties};
use regatta_tests::RabbitMq;
use regatta_tests::regatta::{binary, workspace};

use crate::healthchecks::installed;
use crate::{compose, succeeds, words};

/// Settings of `deploy/rabbitmq.conf`.
fn settings() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(workspace().join("deploy/rabbitmq.conf")).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pairs = lines.map(|line| line.split_once(" = ").unwrap());
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Milliseconds after which a broker takes back what is not settled.
fn consumer_timeout() -> u64 {
    settings()["consumer_timeout"].parse().unwrap()
}

#[test]
fn every_broker_of_the_compose_files_has_the_settings() {
    for file in ["compose.yaml", "services.yaml"] {
        let mounts = words(&compose(file)["services"]["rabbitmq"]["volumes"]);
        let mount = "./rabbitmq.conf:/etc/rabbitmq/conf.d/20-regatta.conf:ro";
        assert!(mounts.iter().any(|one| one == mount), "{file}: {mounts:?}");
    }
}

#[test]
fn workers_hand_a_session_over_before_the_broker_takes_it_back() {
    let help = succeeds(Command::new(binary().unwrap()).args(["worker", "--help"]));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, option) = help.split_once("[env: REGATTA_HAND_OVER_AFTER_S").unwrap();
    let (_, default) = option.split_once("[default: ").unwrap();
    let (seconds, _) = default.split_once(']').unwrap();
    let hand_over_after: u64 = seconds.parse().unwrap();
    // A call that is under way then is awaited first.
    const LAST_CALL: u64 = 300;
    assert!((hand_over_after + LAST_CALL) * 1000 < consumer_timeout(), "{hand_over_after} s");
}

#[test]
fn nothing_that_is_deprecated_is_permitted_that_no_queue_and_no_consumer_uses() {
    let settings = settings();
    for feature in ["transient_nonexcl_queues", "global_qos"] {
        assert_eq!(settings[&format!("deprecated_features.permit.{feature}")], "false");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_broker_of_tests_takes_back_what_is_not_settled_after_the_same_time() {
    let Some(rabbitmq) = installed(RabbitMq::start().await) else { return };
    let asked = ["eval", "--quiet", "application:get_env(rabbit, consumer_timeout)."].map(str::to_owned);
    let told = rabbitmq.run_tool("rabbitmqctl", &asked).await.unwrap();
    let text = String::from_utf8_lossy(&told.stdout);
    assert_eq!(text.trim(), format!("{{ok,{}}}", consumer_timeout()), "{told:?}");
}

/// Name of the queue of dead letters.
const DEAD: &str = "regatta.dead";

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_is_there_however_often_somebody_looks_at_it_and_puts_it_back() {
    /// More often than version 4 redelivers by default.
    const LOOKS: u32 = 25;
    let Some(rabbitmq) = installed(RabbitMq::start().await) else { return };
    let connection = Connection::connect(&rabbitmq.amqp_url(), ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
    channel.queue_declare(DEAD.into(), QueueDeclareOptions::durable(), arguments).await.unwrap();
    let properties = BasicProperties::default().with_delivery_mode(2);
    let published =
        channel.basic_publish("".into(), DEAD.into(), BasicPublishOptions::default(), b"a report", properties);
    published.await.unwrap().await.unwrap();
    let looks = async {
        for _ in 0..LOOKS {
            let letter = loop {
                let got = channel.basic_get(DEAD.into(), BasicGetOptions::default()).await.unwrap();
                if let Some(letter) = got {
                    break letter;
                }
            };
            letter.delivery.nack(BasicNackOptions { multiple: false, requeue: true }).await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), looks).await.unwrap();
}
