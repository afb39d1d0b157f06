//! Queues to test, and helpers of the rules.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use regatta_backends::queue::{MemoryQueue, RabbitMqConfig};
use regatta_backends::{Consumer, Delivery, Queue};
use regatta_proto::{
    Attempt, AttemptTotals, CellIndex, Control, Digest, ItemIndex, Job, Partition, Report, SessionJob, SessionKey,
    Transcript,
};
use regatta_tests::{RabbitMq, unique_name};
use tokio::sync::OnceCell;

/// Redeliveries after which a message becomes a dead letter, in all tests.
pub(crate) const DELIVERY_LIMIT: u32 = 3;

/// Time after which a report that is set aside returns, in all tests.
pub(crate) const SET_ASIDE_FOR: Duration = Duration::from_secs(2);

pub(crate) fn memory_queue() -> Queue {
    Queue::Memory(MemoryQueue::new(DELIVERY_LIMIT, SET_ASIDE_FOR, PARTITIONS))
}

pub(crate) async fn rabbitmq_queue() -> Queue {
    Queue::connect(config(unique_name("queue")).await).await.unwrap()
}

pub(crate) async fn config(prefix: String) -> RabbitMqConfig {
    RabbitMqConfig {
        delivery_limit: DELIVERY_LIMIT,
        set_aside_for: SET_ASIDE_FOR,
        ..RabbitMqConfig::new(broker_url().await, prefix)
    }
}

pub(crate) async fn broker_url() -> String {
    static BROKER: OnceCell<RabbitMq> = OnceCell::const_new();
    match std::env::var("REGATTA_TEST_AMQP_URL") {
        Ok(url) => url,
        Err(_) => BROKER.get_or_try_init(RabbitMq::start).await.unwrap().amqp_url(),
    }
}

pub(crate) async fn publish_raw(queue: &str, body: &[u8]) {
    use lapin::options::BasicPublishOptions;
    let connection = lapin::Connection::connect(&broker_url().await, Default::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    channel.confirm_select(Default::default()).await.unwrap();
    let options = BasicPublishOptions { mandatory: true, immediate: false };
    let sent = channel.basic_publish("".into(), queue.into(), options, body, Default::default()).await.unwrap();
    assert_eq!(sent.await.unwrap(), lapin::Confirmation::Ack(None));
}

/// The next message of `queue`, as it is stored.
pub(crate) async fn take_raw(queue: &str) -> Vec<u8> {
    use lapin::options::BasicGetOptions;
    let connection = lapin::Connection::connect(&broker_url().await, Default::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    channel.basic_get(queue.into(), BasicGetOptions { no_ack: true }).await.unwrap().unwrap().delivery.data
}

pub(crate) fn jobs(items: std::ops::Range<u32>) -> Vec<Job> {
    let job = |item| SessionJob {
        key: SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(item) },
        lock: Digest::of(b"lock"),
        attempt: 1,
        generation: 0,
        transcript: Transcript::default(),
    };
    items.map(|item| Job::Session(Box::new(job(item)))).collect()
}

pub(crate) fn item(job: &Job) -> u32 {
    match job {
        Job::Session(job) => job.key.item.0,
        other => panic!("a session was expected, not {other:?}"),
    }
}

pub(crate) fn items(deliveries: &[Delivery<Job>]) -> BTreeSet<u32> {
    deliveries.iter().map(|delivery| item(&delivery.message)).collect()
}

/// Reports of sweeps that are named by their numbers.
pub(crate) fn tabulations(sweeps: std::ops::Range<u32>) -> Vec<Report> {
    let report = |sweep: u32| Report::Tabulate {
        sweep: sweep.to_string().parse().unwrap(),
        lock: Digest::of(b"lock"),
        generation: None,
    };
    sweeps.map(report).collect()
}

/// The number of the sweep of one of [`tabulations`].
pub(crate) fn sweep_number(report: &Report) -> u32 {
    match report {
        Report::Tabulate { sweep, .. } => sweep.as_str().parse().unwrap(),
        other => panic!("a request for tables was expected, not {other:?}"),
    }
}

/// Partitions of the reports that are published, in all tests.
pub(crate) const PARTITIONS: u8 = 8;

/// Questions with these numbers in each partition, in order.
pub(crate) fn echoes(numbers: std::ops::Range<u64>) -> Vec<Report> {
    let ask = |number, partition| Report::Echo { sweep: "s".parse().unwrap(), number, waited: false, partition };
    numbers.flat_map(|number| Partition::all(PARTITIONS).map(move |partition| ask(number, partition))).collect()
}

/// Partition and number of one of [`echoes`].
pub(crate) fn echo(report: &Report) -> (u8, u64) {
    match report {
        Report::Echo { number, partition, .. } => (partition.number, *number),
        other => panic!("a question was expected, not {other:?}"),
    }
}

/// Reports of so many attempts at one session, by their numbers.
pub(crate) fn handovers(item: u32, attempts: u32) -> Vec<Report> {
    let handover = |number| Report::HandedOver {
        key: SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(item) },
        attempt: Attempt {
            id: format!("{item}-{number}").parse().unwrap(),
            number,
            worker: "w".parse().unwrap(),
            started_at: Timestamp::UNIX_EPOCH,
            ended_at: Timestamp::UNIX_EPOCH,
        },
        totals: AttemptTotals::default(),
        taken_over: false,
    };
    (1..=attempts).map(handover).collect()
}

pub(crate) async fn take<T: Clone + Send + Sync + 'static>(
    consumer: &mut Consumer<T>,
    count: usize,
) -> Vec<Delivery<T>> {
    let mut taken = Vec::new();
    for _ in 0..count {
        taken.push(consumer.next().await.unwrap());
    }
    taken
}

pub(crate) fn control(sweep: &str) -> Control {
    Control { cancelled: vec![sweep.parse().unwrap()], ..Control::default() }
}

/// Polls until the depth is reached, with a round trip to the broker each time. The test's time limit asserts that it is.
pub(crate) async fn eventually_depth(queue: &Queue, name: &str, depth: u64) {
    while queue.depth(name).await.unwrap() != depth {
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn eventually_dead(queue: &Queue, count: u64) {
    while queue.dead_letters().await.unwrap() != count {
        tokio::task::yield_now().await;
    }
}

/// Limits the time of a test, generously, because it may include starting a broker on a busy machine.
pub(crate) async fn within<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(240), test).await.expect("the test ended in time")
}
