//! Rules and failures of a broker alone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::FutureExt;
use jiff::Timestamp;
use regatta_backends::queue::RabbitMqConfig;
use regatta_backends::{Queue, QueueError, Receipt, Subscriptions};
use regatta_memory::ByteBudget;
use regatta_proto::{
    BatchJob, ChatMessage, ChatRole, Digest, Event, Job, Progress, Report, SessionJob, Transcript, wire,
};
use regatta_tests::{Proxy, RabbitMq, Traffic, unique_name};
use tokio::time::Instant;

use crate::stage::{
    DELIVERY_LIMIT, PARTITIONS, broker_url, config, control, echo, echoes, eventually_dead, eventually_depth, item,
    items, jobs, publish_raw, rabbitmq_queue, take, take_raw, within,
};

// Only on a broker.

#[tokio::test]
async fn a_message_that_cannot_be_read_is_set_aside_and_does_not_stop_the_others() {
    within(async {
        let prefix = unique_name("queue");
        // Out of reach, so that no message becomes a dead letter because of its many redeliveries.
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
        let sent = report((0_u32..50_000).map(|n| Digest::of(&n.to_le_bytes()).to_string()).collect());
        queue.publish_reports(vec![sent.clone()]).await.unwrap();
        let mut consumer = queue.consume_reports(1).await.unwrap();
        assert!(consumer.next().await.unwrap().message == sent);
    })
    .await;
}

/// Job of a session that asks so often, each time with all that was said before.
fn conversation(turns: u32, said: impl Fn(u32) -> String) -> Job {
    let mut messages = Vec::new();
    let events = (0..turns).map(|turn| {
        messages.push(ChatMessage::new(ChatRole::User, said(turn)));
        let call = serde_json::json!({ "call": {
            "role": "agent", "attempt": 1, "model": "sim/m", "request": { "messages": messages },
            "reply": { "text": null, "finish": "stop" }, "usage": { "input": 1, "output": 1 }, "cost": null, "latency_us": 1
        }});
        serde_json::from_value::<Event>(call).unwrap()
    });
    let transcript = Transcript { events: events.collect() };
    let Some(Job::Session(job)) = jobs(0..1).pop() else { panic!("these are jobs of sessions") };
    Job::Session(Box::new(SessionJob { transcript, ..*job }))
}

#[tokio::test]
async fn transcripts_are_in_the_form_of_every_version_until_all_processes_read_the_compact_one() {
    for (compact_transcripts, begins) in [(false, r#"{"v":1,"message""#), (true, r#"{"v":2,"compacted":"#)] {
        within(async {
            let prefix = unique_name("queue");
            let config = RabbitMqConfig { compact_transcripts, ..config(prefix.clone()).await };
            let queue = Queue::connect(config).await.unwrap();
            queue.declare_jobs("q").await.unwrap();
            let sent = conversation(3, |turn| format!("question {turn}"));
            queue.publish_jobs("q", vec![sent.clone()]).await.unwrap();
            let body = take_raw(&format!("{prefix}.jobs.q")).await;
            let json = std::io::read_to_string(wire::json(&body).unwrap()).unwrap();
            assert!(json.starts_with(begins), "{json}");
            assert_eq!(wire::decode::<Job>(&body).unwrap(), sent);
        })
        .await;
    }
}

#[tokio::test]
async fn a_transcript_that_is_too_large_in_full_arrives_whole() {
    /// Of a message. Requests are further apart than the compressor looks back, so that it does not find what they have in common.
    const LENGTH: u32 = 256 << 10;
    within(async {
        let config = RabbitMqConfig { message_bytes_max: 3 << 20, ..config(unique_name("queue")).await };
        let queue = Queue::connect(config).await.unwrap();
        let digits = |part: u32| Digest::of(&part.to_le_bytes()).to_string();
        let sent = conversation(10, |turn| (0..LENGTH / 64).map(|part| digits(turn * LENGTH + part)).collect());
        assert!(wire::encode(&sent).unwrap().len() > 3 << 20);
        let mut consumer = queue.consume_jobs("q", 1).await.unwrap();
        queue.publish_jobs("q", vec![sent.clone()]).await.unwrap();
        assert!(consumer.next().await.unwrap().message == sent);
    })
    .await;
}

#[tokio::test]
async fn a_batch_that_is_too_large_is_left_to_its_gatherer_to_halve_unless_all_read_the_compact_form() {
    const LENGTH: u32 = 256 << 10;
    within(async {
        let digits = |part: u32| Digest::of(&part.to_le_bytes()).to_string();
        let sent = conversation(6, |turn| (0..LENGTH / 64).map(|part| digits(turn * LENGTH + part)).collect());
        let Job::Session(job) = sent else { panic!("it is the job of a session") };
        let batch = Job::Batch(Box::new(BatchJob {
            sweep: job.key.sweep.clone(),
            lock: job.lock,
            model: "sim/m".parse().unwrap(),
            id: "0123456789abcdef0123".into(),
            provider_id: None,
            intended_at: Timestamp::UNIX_EPOCH,
            since: None,
            sessions: vec![(*job).clone(), *job],
        }));
        let message_bytes_max = wire::encode(&batch).unwrap().len() - 1;
        assert!(batch.encode_compact().unwrap().len() <= message_bytes_max);
        for compact_transcripts in [false, true] {
            let config = config(unique_name("queue")).await;
            let queue = Queue::connect(RabbitMqConfig { message_bytes_max, compact_transcripts, ..config });
            let queue = queue.await.unwrap();
            queue.declare_jobs("q").await.unwrap();
            let until = Instant::now() + Duration::from_secs(60);
            let gathered = queue.publish_jobs_once("q", vec![batch.clone()], until).await;
            match compact_transcripts {
                false => assert!(matches!(gathered, Err(QueueError::TooLarge { .. })), "{gathered:?}"),
                true => gathered.unwrap(),
            }
            // One that nobody halves any more.
            queue.publish_jobs("q", vec![batch.clone()]).await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn progress_does_not_wait_for_long_messages_on_a_slow_line() {
    within(async {
        let (line, url) = Proxy::before(&broker_url().await).await.unwrap();
        let queue = Queue::connect(RabbitMqConfig { url, ..config(unique_name("queue")).await }).await.unwrap();
        line.set(Traffic::Takes(Duration::from_millis(20)));
        let text: String = (0_u32..50_000).map(|n| Digest::of(&n.to_le_bytes()).to_string()).collect();
        let long = queue.publish_reports(vec![report(text); 16]);
        let progress = Progress::of_attempts("w".parse().unwrap(), Vec::new());
        tokio::select! {
            biased;
            _ = long => panic!("they were all sent before"),
            told = queue.publish_progress(vec![progress]) => told.unwrap(),
        }
    })
    .await;
}

/// A report with a text.
fn report(text: String) -> Report {
    Report::Judge(regatta_proto::JudgeOutcome {
        sweep: "s".parse().unwrap(),
        lock: Digest::of(b"lock"),
        judge: "sim/judge".parse().unwrap(),
        served: text,
        verdicts: Vec::new(),
        unanswered: Vec::new(),
        attempt: "a-1".parse().unwrap(),
        usage: Default::default(),
        cost: Default::default(),
    })
}

#[tokio::test]
async fn reports_are_decoded_when_there_is_room_for_them_which_they_take_until_they_are_settled() {
    /// Three times so much, and a little, is counted for a report; three of them have room in the share of what is kept.
    const LENGTH: u64 = 1 << 20;
    within(async {
        let bytes = ByteBudget::new(32 * LENGTH);
        let config = RabbitMqConfig { bytes: Some(bytes.clone()), ..config(unique_name("queue")).await };
        let queue = Queue::connect(config).await.unwrap();
        // All in one partition, of which it may hold as many at once.
        queue.publish_reports(vec![report("x".repeat(LENGTH as usize)); 8]).await.unwrap();
        let mut consumer = queue.consume_reports(8 * u32::from(PARTITIONS)).await.unwrap();
        let mut taken = take(&mut consumer, 3).await;
        until(|| bytes.waiting() == 1).await;
        let held = bytes.held();
        assert!((9 * LENGTH..10 * LENGTH).contains(&held), "{held}");
        assert!(consumer.next().now_or_never().is_none());
        taken.pop().unwrap().receipt.ack().await;
        taken.push(consumer.next().await.unwrap());
        until(|| bytes.waiting() == 1).await;
        for delivery in taken {
            delivery.receipt.hand_back().await;
        }
        let taken = take(&mut consumer, 3).await;
        assert!(bytes.held_max() < 12 * LENGTH, "{}", bytes.held_max());
        Receipt::ack_all(taken.into_iter().map(|delivery| delivery.receipt).collect()).await;
        let taken = take(&mut consumer, 3).await;
        Receipt::ack_all(taken.into_iter().map(|delivery| delivery.receipt).collect()).await;
        drop(consumer);
        until(|| (bytes.held(), bytes.waiting()) == (0, 0)).await;
    })
    .await;
}

#[tokio::test]
async fn a_report_that_is_larger_than_the_budget_is_decoded_alone() {
    within(async {
        let bytes = ByteBudget::new(1 << 20);
        let config = RabbitMqConfig { bytes: Some(bytes.clone()), ..config(unique_name("queue")).await };
        let queue = Queue::connect(config).await.unwrap();
        let sent = [report("x".into()), report("x".repeat(1 << 20)), report("y".into())];
        queue.publish_reports(sent.to_vec()).await.unwrap();
        let mut consumer = queue.consume_reports(8 * u32::from(PARTITIONS)).await.unwrap();
        let first = consumer.next().await.unwrap();
        until(|| bytes.waiting() == 1).await;
        first.receipt.ack().await;
        let large = consumer.next().await.unwrap();
        until(|| bytes.waiting() == 1).await;
        assert!(bytes.held() > 3 << 20);
        large.receipt.ack().await;
        let last = consumer.next().await.unwrap();
        assert!([first.message, large.message, last.message] == sent);
    })
    .await;
}

#[tokio::test]
async fn a_consumer_of_reports_that_comes_later_gets_its_share_of_the_partitions() {
    within(async {
        let config = RabbitMqConfig { balanced_every: Duration::from_secs(1), ..config(unique_name("queue")).await };
        let queue = Queue::connect(config).await.unwrap();
        let partitions = usize::from(PARTITIONS);
        let (mut first, mut second) =
            (queue.consume_reports(1000).await.unwrap(), queue.consume_reports(1000).await.unwrap());
        // Each consumer settles all that it gets.
        let (mut of_first, mut of_second) = (BTreeSet::new(), BTreeSet::new());
        let mut number = 0;
        while of_second.len() < partitions / 2 {
            number += 1;
            queue.publish_reports(echoes(number..number + 1)).await.unwrap();
            // Until this round is over. What is let go meanwhile comes once more.
            let (mut heard, mut of_round) = (BTreeSet::new(), 0);
            while of_round < partitions {
                let (delivery, by) = tokio::select! {
                    delivery = first.next() => (delivery.unwrap(), &mut of_first),
                    delivery = second.next() => (delivery.unwrap(), &mut of_second),
                };
                let (partition, told) = echo(&delivery.message);
                by.insert(partition);
                of_round += usize::from(told == number && heard.insert(partition));
                delivery.receipt.ack().await;
            }
        }
        assert_eq!((of_first.len(), of_second.len()), (partitions, partitions / 2));
        // Both have their share, and keep it.
        assert_eq!(queue.report_consumers().await.unwrap(), 2);
        assert_eq!(queue.dead_letters().await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn nothing_is_overtaken_in_a_partition_by_what_a_consumer_was_given_that_gave_up_while_it_subscribed() {
    within(async {
        let queue = Queue::connect(config(unique_name("queue")).await).await.unwrap();
        const NUMBERS: u64 = 20;
        for patience_ms in 0..30 {
            queue.publish_reports(echoes(1..NUMBERS + 1)).await.unwrap();
            // It has subscribed to some of the partitions by then, of which it is the only consumer or one that waits.
            let gives_up = tokio::time::timeout(Duration::from_millis(patience_ms), queue.consume_reports(8));
            let (gave_up, stays) = tokio::join!(gives_up, queue.consume_reports(8));
            let mut stays = stays.unwrap();
            drop(gave_up);
            let mut last = BTreeMap::new();
            while last.len() < usize::from(PARTITIONS) || last.values().any(|last| *last < NUMBERS) {
                let delivery = stays.next().await.unwrap();
                let (partition, number) = echo(&delivery.message);
                let before = last.insert(partition, number).unwrap_or(0);
                assert_eq!(number, before + 1, "in partition {partition}, after {patience_ms} ms");
                delivery.receipt.ack().await;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_broker_that_says_nothing_is_waited_for_no_longer_than_whoever_asks_has_time() {
    within(async {
        let (line, url) = Proxy::before(&broker_url().await).await.unwrap();
        let (confirm_timeout, answer_timeout) = (Duration::from_millis(300), Duration::from_millis(300));
        let config = RabbitMqConfig { url, confirm_timeout, answer_timeout, ..config(unique_name("queue")).await };
        let queue = Queue::connect(config).await.unwrap();
        queue.declare_jobs("q").await.unwrap();
        line.set(Traffic::LosesAnswers);
        let begun = std::time::Instant::now();
        assert!(queue.depth("q").await.is_err());
        assert!(queue.reach().await.is_err());
        assert!(queue.declare_jobs("q").await.is_err());
        assert!(queue.publish_reports(echoes(1..2)).await.is_err());
        assert!(queue.publish_jobs("q", jobs(0..1)).await.is_err());
        assert!(begun.elapsed() < Duration::from_secs(20), "the default of a request is half a minute");
    })
    .await;
}

#[tokio::test]
async fn a_queue_that_answers_nobody_keeps_no_others_from_messages_on_a_new_connection_either() {
    within(async {
        let broker = RabbitMq::start().await.unwrap();
        let (line, url) = Proxy::before(&broker.amqp_url()).await.unwrap();
        let confirm_timeout = Duration::from_secs(3);
        let prefix = unique_name("queue");
        let config = RabbitMqConfig { url, confirm_timeout, ..config(prefix.clone()).await };
        let queue = Queue::connect(config).await.unwrap();
        for name in ["silent", "other"] {
            queue.declare_jobs(name).await.unwrap();
        }
        broker.silence_queue(&format!("{prefix}.jobs.silent"), true).await.unwrap();
        let mut silent = queue.publish_jobs("silent", jobs(0..1));
        let mut others = 0;
        let silent = loop {
            if let Some(done) = (&mut silent).now_or_never() {
                break done;
            }
            queue.publish_jobs("other", jobs(others..others + 1)).await.unwrap();
            queue.reach().await.unwrap();
            others += 1;
        };
        let error = silent.unwrap_err();
        assert!(matches!(error, QueueError::Unconfirmed { .. }), "{error}");

        line.set(Traffic::IsCut);
        line.set(Traffic::Passes);
        queue.publish_jobs("other", jobs(others..others + 1)).await.unwrap();
        queue.publish_reports(echoes(1..2)).await.unwrap();
        queue.reach().await.unwrap();

        broker.silence_queue(&format!("{prefix}.jobs.silent"), false).await.unwrap();
        queue.publish_jobs("silent", jobs(1..2)).await.unwrap();
        let depth = queue.depth("silent").await.unwrap();
        assert!((1..=2).contains(&depth), "{depth}: it may have got the first one too");
        let depth = queue.depth("other").await.unwrap() - u64::from(others);
        assert!((1..=2).contains(&depth), "{depth}: the last one may have been on its way when the connection was cut");
    })
    .await;
}

/// Waits until `is_so`, which other tasks make so.
async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::task::yield_now().await;
    }
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

/// The point of confirms and redeliveries: nothing is lost when the broker is killed, and every process reconnects by itself.
#[tokio::test]
async fn a_killed_broker_loses_nothing_and_everyone_reconnects() {
    let broker = RabbitMq::start().await.unwrap();
    within(async {
        let config = RabbitMqConfig { delivery_limit: DELIVERY_LIMIT, ..RabbitMqConfig::new(broker.amqp_url(), "r") };
        let queue = Queue::connect(config).await.unwrap();
        queue.declare_jobs("q").await.unwrap();
        // RabbitMQ 3.10 does not recover a queue that was declared moments before a kill, so the last one declared is another queue.
        queue.declare_jobs("last").await.unwrap();
        queue.publish_jobs("q", jobs(0..10)).await.unwrap();
        let mut listener = queue.listen().await.unwrap();
        let mut consumer = queue.consume_jobs("q", 4).await.unwrap();
        let mut held = take(&mut consumer, 3).await;
        let done = held.remove(0);
        let finished = item(&done.message);
        done.receipt.ack().await;
        // An acknowledgement is not confirmed; the delivery of another message in its place shows that the broker has it.
        held.extend(take(&mut consumer, 2).await);

        let subscriptions = [consumer.subscriptions(), listener.subscriptions()];
        assert!(subscriptions.iter().all(Subscriptions::are_there));
        broker.kill().await.unwrap();
        until(|| !subscriptions.iter().any(Subscriptions::are_there)).await;
        let publishing = queue.publish_jobs("q", jobs(10..20));
        let restarting = async { broker.restart().await.unwrap() };
        // A process that starts meanwhile waits; one that gave up would be missing from its deployment.
        let (published, newcomer, second_listener, ()) =
            tokio::join!(publishing, queue.consume_reports(1), queue.listen(), restarting);
        published.unwrap();
        newcomer.unwrap();
        second_listener.unwrap();

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

        // There is no way to ask whether the listener has reconnected, so broadcasts are repeated, as the coordinator does.
        let control = control("after");
        let heard = loop {
            queue.broadcast(control.clone()).await.unwrap();
            if let Some(heard) = listener.next().now_or_never() {
                break heard;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(heard.unwrap(), control);
        assert!(subscriptions.iter().all(Subscriptions::are_there));
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
        // It depends on whether the lost connection was noticed before.
        let (unconfirmed, too_late) = (
            matches!(error, QueueError::Unconfirmed { messages: 3, .. }),
            matches!(error, QueueError::TooLate { messages: 3, .. }),
        );
        assert!(unconfirmed || too_late, "{error}");
        assert!(matches!(queue.depth("q").await, Err(QueueError::Broker { .. })));
    })
    .await;
}
