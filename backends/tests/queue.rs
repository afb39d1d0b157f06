//! What every queue does, checked with the one in memory and with RabbitMQ; then what only a broker can do.
//!
//! `REGATTA_TEST_AMQP_URL` names a running broker; otherwise a private one is started.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's own steps fail the test")]

use std::collections::BTreeSet;
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use regatta_backends::queue::{MemoryQueue, RabbitMqConfig};
use regatta_backends::{Consumer, Delivery, Queue, QueueError, Receipt};
use regatta_proto::{CellIndex, Control, Digest, ItemIndex, Job, Report, SessionJob, SessionKey, Transcript};
use regatta_tests::{RabbitMq, unique_name};
use tokio::sync::OnceCell;

/// Redeliveries before a message is set aside, in all tests.
const DELIVERY_LIMIT: u32 = 3;

macro_rules! conformance {
    ($($rule:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test]
            async fn $rule() {
                super::within(super::$rule(&super::memory_queue())).await;
            })*
        }
        mod rabbitmq {
            $(#[tokio::test]
            async fn $rule() {
                super::within(super::$rule(&super::rabbitmq_queue().await)).await;
            })*
        }
    };
}

conformance![
    ten_thousand_jobs_arrive_in_order_and_once,
    a_queue_nobody_declared_takes_no_jobs,
    publishing_nothing_is_done_at_once,
    a_consumer_holds_no_more_than_its_prefetch,
    messages_are_spread_evenly_over_consumers,
    a_message_handed_back_comes_again_and_is_counted,
    a_dropped_receipt_hands_its_message_back,
    what_a_dropped_consumer_held_comes_to_another,
    a_receipt_of_a_dropped_consumer_settles_nothing,
    acknowledging_many_spares_those_in_between,
    a_stopped_consumer_ends_and_its_receipts_stay_good,
    a_message_delivered_too_often_is_set_aside,
    a_broadcast_reaches_every_listener,
    reports_go_to_whoever_consumes_reports,
    queues_are_separate,
    depth_counts_what_waits,
    a_closed_queue_ends_consumers_and_listeners_and_takes_nothing,
    dropping_the_last_handle_ends_consumers,
    names_that_no_queue_can_have_are_refused,
];

async fn ten_thousand_jobs_arrive_in_order_and_once(queue: &Queue) {
    const JOBS: u32 = 10_000;
    queue.declare_jobs("q").await.unwrap();
    let mut consumer = queue.consume_jobs("q", 500).await.unwrap();
    let consume = async {
        let mut seen = Vec::new();
        let mut receipts = Vec::new();
        while seen.len() < JOBS as usize {
            let delivery = consumer.next().await.unwrap();
            assert_eq!(delivery.redeliveries, 0);
            seen.push(item(&delivery.message));
            receipts.push(delivery.receipt);
            if receipts.len() == 100 {
                Receipt::ack_all(std::mem::take(&mut receipts)).await;
            }
        }
        seen
    };
    let (published, seen) = tokio::join!(queue.publish_jobs("q", jobs(0..JOBS)), consume);
    published.unwrap();
    assert!(seen.into_iter().eq(0..JOBS));
    drop(consumer);
    eventually_depth(queue, "q", 0).await;
}

async fn a_queue_nobody_declared_takes_no_jobs(queue: &Queue) {
    let error = queue.publish_jobs("nowhere", jobs(0..3)).await.unwrap_err();
    assert!(matches!(&error, QueueError::NoSuchQueue { queue } if queue.ends_with("nowhere")), "{error}");
    let error = queue.depth("nowhere").await.unwrap_err();
    assert!(matches!(&error, QueueError::NoSuchQueue { .. }), "{error}");
    // One caller's mistake is not another's: publishing goes on.
    queue.declare_jobs("q").await.unwrap();
    let (wrong, right) = tokio::join!(queue.publish_jobs("nowhere", jobs(0..3)), queue.publish_jobs("q", jobs(0..3)));
    assert!(wrong.is_err());
    right.unwrap();
}

async fn publishing_nothing_is_done_at_once(queue: &Queue) {
    queue.declare_jobs("q").await.unwrap();
    queue.publish_jobs("q", Vec::new()).await.unwrap();
    queue.publish_reports(Vec::new()).await.unwrap();
    assert_eq!(queue.depth("q").await.unwrap(), 0);
}

async fn a_consumer_holds_no_more_than_its_prefetch(queue: &Queue) {
    queue.declare_jobs("q").await.unwrap();
    queue.publish_jobs("q", jobs(0..5)).await.unwrap();
    let mut consumer = queue.consume_jobs("q", 2).await.unwrap();
    let first = consumer.next().await.unwrap();
    let _second = consumer.next().await.unwrap();
    eventually_depth(queue, "q", 3).await;
    assert!(consumer.next().now_or_never().is_none(), "a third message came before one of two was settled");
    first.receipt.ack().await;
    assert_eq!(item(&consumer.next().await.unwrap().message), 2);
    eventually_depth(queue, "q", 2).await;
}

async fn messages_are_spread_evenly_over_consumers(queue: &Queue) {
    let mut one = queue.consume_jobs("q", 100).await.unwrap();
    let mut two = queue.consume_jobs("q", 100).await.unwrap();
    queue.publish_jobs("q", jobs(0..10)).await.unwrap();
    let (of_one, of_two) = (take(&mut one, 5).await, take(&mut two, 5).await);
    let both: BTreeSet<u32> = of_one.iter().chain(&of_two).map(|delivery| item(&delivery.message)).collect();
    assert!(both.into_iter().eq(0..10));
}

async fn a_message_handed_back_comes_again_and_is_counted(queue: &Queue) {
    let mut consumer = queue.consume_jobs("q", 1).await.unwrap();
    queue.publish_jobs("q", jobs(7..8)).await.unwrap();
    let first = consumer.next().await.unwrap();
    assert_eq!((item(&first.message), first.redeliveries), (7, 0));
    first.receipt.hand_back().await;
    let second = consumer.next().await.unwrap();
    assert_eq!((item(&second.message), second.redeliveries), (7, 1));
    second.receipt.hand_back().await;
    let third = consumer.next().await.unwrap();
    assert_eq!((item(&third.message), third.redeliveries), (7, 2));
    third.receipt.ack().await;
    drop(consumer);
    eventually_depth(queue, "q", 0).await;
    assert_eq!(queue.dead_letters().await.unwrap(), 0);
}

async fn a_dropped_receipt_hands_its_message_back(queue: &Queue) {
    let mut consumer = queue.consume_jobs("q", 1).await.unwrap();
    queue.publish_jobs("q", jobs(7..8)).await.unwrap();
    drop(consumer.next().await.unwrap());
    let again = consumer.next().await.unwrap();
    assert_eq!((item(&again.message), again.redeliveries), (7, 1));
}

async fn what_a_dropped_consumer_held_comes_to_another(queue: &Queue) {
    queue.declare_jobs("q").await.unwrap();
    queue.publish_jobs("q", jobs(0..4)).await.unwrap();
    let mut dies = queue.consume_jobs("q", 4).await.unwrap();
    let mut held = take(&mut dies, 3).await;
    held.remove(0).receipt.ack().await;
    drop(dies);
    let mut lives = queue.consume_jobs("q", 10).await.unwrap();
    let rest = take(&mut lives, 3).await;
    assert_eq!(items(&rest), BTreeSet::from([1, 2, 3]));
    assert!(rest.iter().filter(|delivery| item(&delivery.message) < 3).all(|delivery| delivery.redeliveries == 1));
}

async fn a_receipt_of_a_dropped_consumer_settles_nothing(queue: &Queue) {
    queue.declare_jobs("q").await.unwrap();
    queue.publish_jobs("q", jobs(0..2)).await.unwrap();
    let mut dies = queue.consume_jobs("q", 2).await.unwrap();
    let held = take(&mut dies, 2).await;
    drop(dies);
    eventually_depth(queue, "q", 2).await;
    for delivery in held {
        delivery.receipt.ack().await;
    }
    let mut lives = queue.consume_jobs("q", 2).await.unwrap();
    assert_eq!(items(&take(&mut lives, 2).await), BTreeSet::from([0, 1]));
}

async fn acknowledging_many_spares_those_in_between(queue: &Queue) {
    queue.declare_jobs("q").await.unwrap();
    queue.publish_jobs("q", jobs(0..7)).await.unwrap();
    let mut consumer = queue.consume_jobs("q", 7).await.unwrap();
    let (mut done, mut held) = (Vec::new(), Vec::new());
    for delivery in take(&mut consumer, 7).await {
        let list = if [2, 5].contains(&item(&delivery.message)) { &mut held } else { &mut done };
        list.push(delivery.receipt);
    }
    done.reverse();
    Receipt::ack_all(done).await;
    Receipt::ack_all(Vec::new()).await;
    drop(consumer);
    drop(held);
    let mut consumer = queue.consume_jobs("q", 7).await.unwrap();
    assert_eq!(items(&take(&mut consumer, 2).await), BTreeSet::from([2, 5]));
    eventually_depth(queue, "q", 0).await;
}

async fn a_stopped_consumer_ends_and_its_receipts_stay_good(queue: &Queue) {
    queue.declare_jobs("q").await.unwrap();
    queue.publish_jobs("q", jobs(0..4)).await.unwrap();
    let mut stops = queue.consume_jobs("q", 4).await.unwrap();
    let mut taken = take(&mut stops, 2).await;
    stops.stop();
    assert!(stops.next().await.is_none());
    // What it had fetched and not taken waits for others.
    eventually_depth(queue, "q", 2).await;
    taken.remove(0).receipt.ack().await;
    taken.remove(0).receipt.hand_back().await;
    eventually_depth(queue, "q", 3).await;
    drop(stops);
    let mut other = queue.consume_jobs("q", 4).await.unwrap();
    assert_eq!(items(&take(&mut other, 3).await), BTreeSet::from([1, 2, 3]));
    eventually_depth(queue, "q", 0).await;
}

async fn a_message_delivered_too_often_is_set_aside(queue: &Queue) {
    queue.declare_jobs("q").await.unwrap();
    queue.publish_jobs("q", jobs(7..8)).await.unwrap();
    for delivery_number in 0..=DELIVERY_LIMIT {
        assert_eq!(queue.dead_letters().await.unwrap(), 0);
        let mut dies = queue.consume_jobs("q", 1).await.unwrap();
        let held = dies.next().await.unwrap();
        assert_eq!(held.redeliveries, delivery_number);
        drop(dies);
    }
    eventually_dead(queue, 1).await;
    assert_eq!(queue.depth("q").await.unwrap(), 0);
}

async fn a_broadcast_reaches_every_listener(queue: &Queue) {
    let mut listeners = join_all((0..3).map(|_| queue.listen())).await;
    for sweep in ["one", "two"] {
        let control = control(sweep);
        queue.broadcast(control.clone()).await.unwrap();
        for listener in &mut listeners {
            assert_eq!(listener.as_mut().unwrap().next().await.unwrap(), control);
        }
    }
}

async fn reports_go_to_whoever_consumes_reports(queue: &Queue) {
    let report = |sweep: &str| Report::Tabulate { sweep: sweep.parse().unwrap(), lock: Digest::of(b"lock") };
    queue.publish_reports(vec![report("one"), report("two")]).await.unwrap();
    let mut consumer = queue.consume_reports(10).await.unwrap();
    for sweep in ["one", "two"] {
        let delivery = consumer.next().await.unwrap();
        assert_eq!(delivery.message, report(sweep));
        delivery.receipt.ack().await;
    }
}

async fn queues_are_separate(queue: &Queue) {
    let mut one = queue.consume_jobs("one", 10).await.unwrap();
    let mut two = queue.consume_jobs("two", 10).await.unwrap();
    queue.publish_jobs("two", jobs(2..3)).await.unwrap();
    queue.publish_jobs("one", jobs(1..2)).await.unwrap();
    assert_eq!(item(&one.next().await.unwrap().message), 1);
    assert_eq!(item(&two.next().await.unwrap().message), 2);
}

async fn depth_counts_what_waits(queue: &Queue) {
    queue.declare_jobs("q").await.unwrap();
    queue.declare_jobs("q").await.unwrap();
    assert_eq!(queue.depth("q").await.unwrap(), 0);
    queue.publish_jobs("q", jobs(0..3)).await.unwrap();
    eventually_depth(queue, "q", 3).await;
}

async fn a_closed_queue_ends_consumers_and_listeners_and_takes_nothing(queue: &Queue) {
    let mut consumer = queue.consume_jobs("q", 1).await.unwrap();
    let mut listener = queue.listen().await.unwrap();
    queue.clone().close();
    assert!(consumer.next().await.is_none());
    assert!(listener.next().await.is_none());
    assert!(matches!(queue.publish_jobs("q", jobs(0..1)).await, Err(QueueError::Closed)));
    assert!(matches!(queue.declare_jobs("q").await, Err(QueueError::Closed)));
    assert!(matches!(queue.consume_jobs("q", 1).await, Err(QueueError::Closed)));
}

async fn dropping_the_last_handle_ends_consumers(queue: &Queue) {
    // The caller keeps a handle, so this needs a queue of its own.
    let queue = match queue {
        Queue::Memory(_) => memory_queue(),
        Queue::RabbitMq(_) => rabbitmq_queue().await,
    };
    let mut consumer = queue.consume_jobs("q", 1).await.unwrap();
    let clone = queue.clone();
    drop(queue);
    clone.publish_jobs("q", jobs(7..8)).await.unwrap();
    consumer.next().await.unwrap().receipt.ack().await;
    drop(clone);
    assert!(consumer.next().await.is_none());
}

async fn names_that_no_queue_can_have_are_refused(queue: &Queue) {
    for name in ["", "a b", "a\n", &"x".repeat(201)] {
        assert!(matches!(queue.declare_jobs(name).await, Err(QueueError::BadName { .. })), "{name:?}");
        assert!(matches!(queue.consume_jobs(name, 1).await, Err(QueueError::BadName { .. })), "{name:?}");
    }
}

// Only in memory.

#[tokio::test]
async fn a_listener_in_memory_hears_the_last_broadcast_even_if_it_comes_late() {
    let queue = memory_queue();
    queue.broadcast(control("early")).await.unwrap();
    queue.broadcast(control("late")).await.unwrap();
    let mut listener = queue.listen().await.unwrap();
    assert_eq!(listener.next().await.unwrap(), control("late"));
    assert!(listener.next().now_or_never().is_none());
}

// Only on a broker.

#[tokio::test]
async fn a_message_that_cannot_be_read_is_set_aside_and_does_not_stop_the_others() {
    within(async {
        let prefix = unique_name("queue");
        // Out of reach, so that nothing is set aside only because it went round and round.
        let config = RabbitMqConfig { delivery_limit: 1_000_000, ..config(prefix.clone()).await };
        let queue = Queue::connect(config).await.unwrap();
        let mut consumer = queue.consume_jobs("q", 10).await.unwrap();
        let bodies: [&[u8]; 3] = [b"not json", br#"{"v":99,"message":{}}"#, b""];
        for body in bodies {
            publish_raw(&format!("{prefix}.jobs.q"), body).await;
        }
        queue.publish_jobs("q", jobs(0..3)).await.unwrap();
        let taken = take(&mut consumer, 3).await;
        assert_eq!(items(&taken), BTreeSet::from([0, 1, 2]));
        Receipt::ack_all(taken.into_iter().map(|delivery| delivery.receipt).collect()).await;
        eventually_dead(&queue, 3).await;
        drop(consumer);
        eventually_depth(&queue, "q", 0).await;
    })
    .await;
}

#[tokio::test]
async fn a_message_above_the_limit_is_refused_before_it_is_sent() {
    within(async {
        let config = RabbitMqConfig { message_bytes_max: 100, ..config(unique_name("queue")).await };
        let queue = Queue::connect(config).await.unwrap();
        queue.declare_jobs("q").await.unwrap();
        let error = queue.publish_jobs("q", jobs(0..1)).await.unwrap_err();
        assert!(matches!(error, QueueError::TooLarge { limit: 100, .. }), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_large_message_arrives_whole() {
    within(async {
        let queue = rabbitmq_queue().await;
        // Not compressible, and many frames long.
        let text: String = (0_u32..50_000).map(|n| Digest::of(&n.to_le_bytes()).to_string()).collect();
        let sent = Report::Judge(regatta_proto::JudgeOutcome {
            sweep: "s".parse().unwrap(),
            lock: Digest::of(b"lock"),
            judge: "sim/judge".parse().unwrap(),
            served: text,
            verdicts: Vec::new(),
            unanswered: Vec::new(),
            attempt: "a-1".parse().unwrap(),
            usage: Default::default(),
            cost: Default::default(),
        });
        queue.publish_reports(vec![sent.clone()]).await.unwrap();
        let mut consumer = queue.consume_reports(1).await.unwrap();
        assert!(consumer.next().await.unwrap().message == sent);
    })
    .await;
}

#[tokio::test]
async fn a_queue_with_other_settings_is_not_used() {
    within(async {
        let config = config(unique_name("queue")).await;
        let _first = Queue::connect(config.clone()).await.unwrap();
        let other = RabbitMqConfig { delivery_limit: DELIVERY_LIMIT + 1, ..config };
        let error = Queue::connect(other).await.unwrap_err();
        assert!(matches!(error, QueueError::Conflict { .. }), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_wrong_password_is_an_error_at_once_and_is_not_repeated_in_it() {
    within(async {
        let url = broker_url().await;
        let (scheme, rest) = url.split_once("://").unwrap();
        let (_, host) = rest.split_once('@').unwrap();
        let config = RabbitMqConfig::new(format!("{scheme}://regatta:swordfish@{host}"), unique_name("queue"));
        let error = Queue::connect(config).await.unwrap_err();
        assert!(matches!(error, QueueError::Connect { .. }), "{error}");
        assert!(!format!("{error:?}{error}").contains("swordfish"));
    })
    .await;
}

#[tokio::test]
async fn an_unreachable_broker_is_an_error_after_the_connect_timeout() {
    let config = RabbitMqConfig {
        connect_timeout: Duration::from_millis(300),
        ..RabbitMqConfig::new("amqp://127.0.0.1:1/%2f", unique_name("queue"))
    };
    let error = within(Queue::connect(config)).await.unwrap_err();
    assert!(matches!(&error, QueueError::Connect { address, .. } if address == "127.0.0.1:1"), "{error}");
    let error = Queue::connect(RabbitMqConfig::new("http://x", "p")).await.unwrap_err();
    assert!(matches!(&error, QueueError::BadUrl { .. }), "{error}");
}

#[tokio::test]
async fn tls_with_a_broker_that_speaks_none_is_an_error() {
    within(async {
        let url = broker_url().await.replace("amqp://", "amqps://");
        let config = RabbitMqConfig { connect_timeout: Duration::from_millis(1), ..RabbitMqConfig::new(url, "p") };
        let error = Queue::connect(config).await.unwrap_err();
        assert!(matches!(&error, QueueError::Connect { .. }), "{error}");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("InvalidContentType") || cause.contains("corrupt message"), "{cause}");
    })
    .await;
}

/// The whole point of confirms and redeliveries: nothing is lost when the broker dies, and nobody has to be told.
#[tokio::test]
async fn a_killed_broker_loses_nothing_and_everyone_reconnects() {
    let broker = RabbitMq::start().await.unwrap();
    within(async {
        let config = RabbitMqConfig { delivery_limit: DELIVERY_LIMIT, ..RabbitMqConfig::new(broker.amqp_url(), "r") };
        let queue = Queue::connect(config).await.unwrap();
        queue.declare_jobs("q").await.unwrap();
        // RabbitMQ 3.10 does not get the queue going again that was declared last, moments before a kill; so that is another one.
        queue.declare_jobs("last").await.unwrap();
        queue.publish_jobs("q", jobs(0..10)).await.unwrap();
        let mut listener = queue.listen().await.unwrap();
        let mut consumer = queue.consume_jobs("q", 4).await.unwrap();
        let mut held = take(&mut consumer, 3).await;
        let done = held.remove(0);
        let finished = item(&done.message);
        done.receipt.ack().await;
        // An acknowledgement is not confirmed; that another message was delivered in its place shows that the broker has it.
        held.extend(take(&mut consumer, 2).await);

        broker.kill().await.unwrap();
        let publishing = queue.publish_jobs("q", jobs(10..20));
        let restarting = async { broker.restart().await.unwrap() };
        let (published, ()) = tokio::join!(publishing, restarting);
        published.unwrap();

        for stale in held {
            stale.receipt.ack().await;
        }
        let mut seen = BTreeSet::new();
        while seen.len() < 19 {
            let delivery = consumer.next().await.unwrap();
            seen.insert(item(&delivery.message));
            delivery.receipt.ack().await;
        }
        let expected: BTreeSet<u32> = (0..20).filter(|item| *item != finished).collect();
        assert_eq!(seen, expected);

        // Whether the listener is back cannot be asked for, so broadcasts are repeated, as the coordinator does.
        let control = control("after");
        let heard = loop {
            queue.broadcast(control.clone()).await.unwrap();
            if let Some(heard) = listener.next().now_or_never() {
                break heard;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(heard.unwrap(), control);
    })
    .await;
}

#[tokio::test]
async fn a_publish_that_is_never_confirmed_says_so_in_time() {
    let broker = RabbitMq::start().await.unwrap();
    within(async {
        let config = RabbitMqConfig {
            confirm_timeout: Duration::from_millis(500),
            ..RabbitMqConfig::new(broker.amqp_url(), "r")
        };
        let queue = Queue::connect(config).await.unwrap();
        queue.declare_jobs("q").await.unwrap();
        broker.stop().await.unwrap();
        let error = queue.publish_jobs("q", jobs(0..3)).await.unwrap_err();
        assert!(matches!(error, QueueError::Unconfirmed { messages: 3, .. }), "{error}");
        assert!(matches!(queue.depth("q").await, Err(QueueError::Broker { .. })));
    })
    .await;
}

// The words of the rules above.

fn memory_queue() -> Queue {
    Queue::Memory(MemoryQueue::new(DELIVERY_LIMIT))
}

async fn rabbitmq_queue() -> Queue {
    Queue::connect(config(unique_name("queue")).await).await.unwrap()
}

async fn config(prefix: String) -> RabbitMqConfig {
    RabbitMqConfig { delivery_limit: DELIVERY_LIMIT, ..RabbitMqConfig::new(broker_url().await, prefix) }
}

async fn broker_url() -> String {
    static BROKER: OnceCell<RabbitMq> = OnceCell::const_new();
    match std::env::var("REGATTA_TEST_AMQP_URL") {
        Ok(url) => url,
        Err(_) => BROKER.get_or_try_init(RabbitMq::start).await.unwrap().amqp_url(),
    }
}

async fn publish_raw(queue: &str, body: &[u8]) {
    use lapin::options::BasicPublishOptions;
    let connection = lapin::Connection::connect(&broker_url().await, Default::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    channel.confirm_select(Default::default()).await.unwrap();
    let options = BasicPublishOptions { mandatory: true, immediate: false };
    let sent = channel.basic_publish("".into(), queue.into(), options, body, Default::default()).await.unwrap();
    assert_eq!(sent.await.unwrap(), lapin::Confirmation::Ack(None));
}

fn jobs(items: std::ops::Range<u32>) -> Vec<Job> {
    let job = |item| SessionJob {
        key: SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(item) },
        lock: Digest::of(b"lock"),
        attempt: 1,
        transcript: Transcript::default(),
    };
    items.map(|item| Job::Session(Box::new(job(item)))).collect()
}

fn item(job: &Job) -> u32 {
    match job {
        Job::Session(job) => job.key.item.0,
        other => panic!("a session was expected, not {other:?}"),
    }
}

fn items(deliveries: &[Delivery<Job>]) -> BTreeSet<u32> {
    deliveries.iter().map(|delivery| item(&delivery.message)).collect()
}

async fn take(consumer: &mut Consumer<Job>, count: usize) -> Vec<Delivery<Job>> {
    let mut taken = Vec::new();
    for _ in 0..count {
        taken.push(consumer.next().await.unwrap());
    }
    taken
}

fn control(sweep: &str) -> Control {
    Control { routes: Vec::new(), cancelled: vec![sweep.parse().unwrap()] }
}

/// Asks until it is so; each question is a round trip to the broker. That it becomes so is asserted by the test's time limit.
async fn eventually_depth(queue: &Queue, name: &str, depth: u64) {
    while queue.depth(name).await.unwrap() != depth {
        tokio::task::yield_now().await;
    }
}

async fn eventually_dead(queue: &Queue, count: u64) {
    while queue.dead_letters().await.unwrap() != count {
        tokio::task::yield_now().await;
    }
}

/// No test hangs. The limit is generous: a start of a broker may be in it, on a machine that does much else.
async fn within<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(240), test).await.expect("the test ended in time")
}
