//! Every session job that anybody publishes, as the broker itself tells of it.

use std::collections::BTreeMap;

use futures::StreamExt;
use lapin::message::Delivery;
use lapin::options::{BasicConsumeOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, Connection, ConnectionProperties};
use regatta_tests::unique_name;
use regatta_tests::waiting::in_time;
use serde_json::Value;
use tokio::sync::watch;

/// Times that each session was published, by cell and item.
type Published = BTreeMap<(u64, u64), u64>;

/// A listener of the broker's tracing, on a virtual host that has it.
pub(crate) struct Dispatches {
    published: watch::Receiver<Published>,
    /// Both close when they are dropped.
    _connection: (Connection, Channel),
}

impl Dispatches {
    /// Listens from now on.
    pub(crate) async fn of(amqp_url: &str) -> Self {
        let connection = Connection::connect(amqp_url, ConnectionProperties::default()).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        let queue = unique_name("witness");
        let exclusive = QueueDeclareOptions { exclusive: true, ..QueueDeclareOptions::default() };
        channel.queue_declare(queue.as_str().into(), exclusive, FieldTable::default()).await.unwrap();
        let (of, any) = ("amq.rabbitmq.trace", "publish.#");
        let bound = channel.queue_bind(
            queue.as_str().into(),
            of.into(),
            any.into(),
            QueueBindOptions::default(),
            FieldTable::default(),
        );
        bound.await.unwrap();
        let unacknowledged = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
        let consumed = channel.basic_consume(queue.as_str().into(), "".into(), unacknowledged, FieldTable::default());
        let mut copies = consumed.await.unwrap();
        let (told, published) = watch::channel(Published::new());
        tokio::spawn(async move {
            // It ends with the connection.
            while let Some(Ok(copy)) = copies.next().await {
                if let Some(session) = session_of(&copy) {
                    told.send_modify(|published| *published.entry(session).or_default() += 1);
                }
            }
        });
        Self { published, _connection: (connection, channel) }
    }

    /// Waits until `sessions` different sessions have been published; returns those of them that were published more than once, with how
    /// often.
    pub(crate) async fn more_than_once(&mut self, sessions: u64) -> Published {
        let all = self.published.wait_for(|published| published.len() as u64 >= sessions);
        let published = in_time(&format!("{sessions} sessions that were published"), all).await.unwrap().unwrap();
        published.iter().filter(|(_, times)| **times > 1).map(|(session, times)| (*session, *times)).collect()
    }
}

/// Cell and item of a copy of a session's job; `None` for other messages.
fn session_of(copy: &Delivery) -> Option<(u64, u64)> {
    let headers = copy.properties.headers().as_ref()?;
    let AMQPValue::FieldArray(keys) = headers.inner().get("routing_keys")? else { return None };
    let AMQPValue::LongString(key) = keys.as_slice().first()? else { return None };
    if !key.to_string().contains(".jobs.") {
        return None;
    }
    // Jobs of sessions that begin are small, and small messages are not compressed.
    let message: Value = serde_json::from_slice(&copy.data).ok()?;
    let key = &message["message"]["session"]["key"];
    Some((key["cell"].as_u64()?, key["item"].as_u64()?))
}
