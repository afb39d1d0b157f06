//! The rules that every queue keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use regatta_backends::{Queue, QueueError, Receipt};
use regatta_proto::{Digest, Partition, Progress, Report};
use tokio::time::Instant;

use crate::stage::{
    DELIVERY_LIMIT, PARTITIONS, control, echo, echoes, eventually_dead, eventually_depth, handovers, item, items, jobs,
    memory_queue, rabbitmq_queue, sweep_number, tabulations, take,
};

pub(crate) async fn ten_thousand_jobs_arrive_in_order_and_once(queue: &Queue) {
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

pub(crate) async fn a_queue_nobody_declared_takes_no_jobs(queue: &Queue) {
    let error = queue.publish_jobs("nowhere", jobs(0..3)).await.unwrap_err();
    assert!(matches!(&error, QueueError::NoSuchQueue { queue } if queue.ends_with("nowhere")), "{error}");
    let error = queue.depth("nowhere").await.unwrap_err();
    assert!(matches!(&error, QueueError::NoSuchQueue { .. }), "{error}");
    // One caller's mistake does not affect others: publishing goes on.
    queue.declare_jobs("q").await.unwrap();
    let (wrong, right) = tokio::join!(queue.publish_jobs("nowhere", jobs(0..3)), queue.publish_jobs("q", jobs(0..3)));
    assert!(wrong.is_err());
    right.unwrap();
}

pub(crate) async fn publishing_nothing_is_done_at_once(queue: &Queue) {
    queue.declare_jobs("q").await.unwrap();
    queue.publish_jobs("q", Vec::new()).await.unwrap();
    queue.publish_reports(Vec::new()).await.unwrap();
    assert_eq!(queue.depth("q").await.unwrap(), 0);
}

pub(crate) async fn nothing_is_published_after_the_time_until_which_it_may_be(queue: &Queue) {
    queue.declare_jobs("q").await.unwrap();
    let now = Instant::now();
    let error = queue.publish_jobs_once("q", jobs(0..3), now).await.unwrap_err();
    assert!(matches!(&error, QueueError::TooLate { queue, messages: 3 } if queue.ends_with('q')), "{error}");
    queue.publish_jobs_once("q", jobs(3..5), now + Duration::from_secs(60)).await.unwrap();
    let mut consumer = queue.consume_jobs("q", 9).await.unwrap();
    assert_eq!(items(&take(&mut consumer, 2).await), BTreeSet::from([3, 4]));
    eventually_depth(queue, "q", 0).await;
}

pub(crate) async fn a_consumer_holds_no_more_than_its_prefetch(queue: &Queue) {
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

pub(crate) async fn consumers_are_counted_until_they_stop(queue: &Queue) {
    assert!(matches!(queue.consumers("q").await, Err(QueueError::NoSuchQueue { .. })));
    queue.declare_jobs("q").await.unwrap();
    assert_eq!(queue.consumers("q").await.unwrap(), 0);
    let (one, mut two) = (queue.consume_jobs("q", 1).await.unwrap(), queue.consume_jobs("q", 1).await.unwrap());
    assert_eq!(queue.consumers("q").await.unwrap(), 2);
    two.stop();
    drop(one);
    while queue.consumers("q").await.unwrap() > 0 {
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn messages_are_spread_evenly_over_consumers(queue: &Queue) {
    let mut one = queue.consume_jobs("q", 100).await.unwrap();
    let mut two = queue.consume_jobs("q", 100).await.unwrap();
    queue.publish_jobs("q", jobs(0..10)).await.unwrap();
    let (of_one, of_two) = (take(&mut one, 5).await, take(&mut two, 5).await);
    let both: BTreeSet<u32> = of_one.iter().chain(&of_two).map(|delivery| item(&delivery.message)).collect();
    assert!(both.into_iter().eq(0..10));
}

pub(crate) async fn a_message_handed_back_comes_again_and_is_counted(queue: &Queue) {
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

pub(crate) async fn a_dropped_receipt_hands_its_message_back(queue: &Queue) {
    let mut consumer = queue.consume_jobs("q", 1).await.unwrap();
    queue.publish_jobs("q", jobs(7..8)).await.unwrap();
    drop(consumer.next().await.unwrap());
    let again = consumer.next().await.unwrap();
    assert_eq!((item(&again.message), again.redeliveries), (7, 1));
}

pub(crate) async fn what_a_dropped_consumer_held_comes_to_another(queue: &Queue) {
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

pub(crate) async fn a_receipt_tells_when_its_message_goes_to_another(queue: &Queue) {
    queue.declare_jobs("q").await.unwrap();
    queue.publish_jobs("q", jobs(0..2)).await.unwrap();
    let mut dies = queue.consume_jobs("q", 2).await.unwrap();
    let held = take(&mut dies, 2).await;
    let voided: Vec<_> = held.iter().map(|delivery| delivery.receipt.voided()).collect();
    assert!(voided.iter().all(|voided| !voided.is_cancelled()));
    drop(dies);
    for voided in voided {
        voided.cancelled().await;
    }
    let mut lives = queue.consume_jobs("q", 2).await.unwrap();
    assert_eq!(items(&take(&mut lives, 2).await), BTreeSet::from([0, 1]));
}

pub(crate) async fn a_receipt_of_a_dropped_consumer_settles_nothing(queue: &Queue) {
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

pub(crate) async fn acknowledging_many_spares_those_in_between(queue: &Queue) {
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

pub(crate) async fn a_stopped_consumer_ends_and_its_receipts_stay_good(queue: &Queue) {
    queue.declare_jobs("q").await.unwrap();
    queue.publish_jobs("q", jobs(0..4)).await.unwrap();
    let mut stops = queue.consume_jobs("q", 4).await.unwrap();
    let mut taken = take(&mut stops, 2).await;
    stops.stop();
    assert!(stops.next().await.is_none());
    // Messages that it had fetched and not taken wait for other consumers.
    eventually_depth(queue, "q", 2).await;
    taken.remove(0).receipt.ack().await;
    taken.remove(0).receipt.hand_back().await;
    eventually_depth(queue, "q", 3).await;
    drop(stops);
    let mut other = queue.consume_jobs("q", 4).await.unwrap();
    assert_eq!(items(&take(&mut other, 3).await), BTreeSet::from([1, 2, 3]));
    eventually_depth(queue, "q", 0).await;
}

pub(crate) async fn a_message_delivered_too_often_is_set_aside(queue: &Queue) {
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

pub(crate) async fn a_message_handed_back_too_often_is_set_aside(queue: &Queue) {
    let mut consumer = queue.consume_jobs("q", 1).await.unwrap();
    queue.publish_jobs("q", jobs(7..8)).await.unwrap();
    for delivery_number in 0..=DELIVERY_LIMIT {
        assert_eq!(queue.dead_letters().await.unwrap(), 0);
        let held = consumer.next().await.unwrap();
        assert_eq!(held.redeliveries, delivery_number);
        held.receipt.hand_back().await;
    }
    eventually_dead(queue, 1).await;
    assert_eq!(queue.depth("q").await.unwrap(), 0);
}

pub(crate) async fn a_message_dropped_too_often_is_set_aside(queue: &Queue) {
    let mut consumer = queue.consume_jobs("q", 1).await.unwrap();
    queue.publish_jobs("q", jobs(7..8)).await.unwrap();
    for delivery_number in 0..=DELIVERY_LIMIT {
        assert_eq!(consumer.next().await.unwrap().redeliveries, delivery_number);
    }
    eventually_dead(queue, 1).await;
    assert_eq!(queue.depth("q").await.unwrap(), 0);
}

pub(crate) async fn a_broadcast_reaches_every_listener(queue: &Queue) {
    let mut listeners = join_all((0..3).map(|_| queue.listen())).await;
    for sweep in ["one", "two"] {
        let control = control(sweep);
        queue.broadcast(control.clone()).await.unwrap();
        for listener in &mut listeners {
            assert_eq!(listener.as_mut().unwrap().next().await.unwrap(), control);
        }
    }
}

pub(crate) async fn reports_go_to_whoever_consumes_reports(queue: &Queue) {
    queue.publish_reports(tabulations(0..40)).await.unwrap();
    while queue.waiting_reports().await.unwrap() != 40 {
        tokio::task::yield_now().await;
    }
    let mut consumer = queue.consume_reports(10).await.unwrap();
    let mut arrived = BTreeSet::new();
    for _ in 0..40 {
        let delivery = consumer.next().await.unwrap();
        arrived.insert(sweep_number(&delivery.message));
        delivery.receipt.ack().await;
    }
    assert!(arrived.into_iter().eq(0..40));
}

pub(crate) async fn a_partition_of_reports_has_one_consumer_at_a_time(queue: &Queue) {
    let mut first = queue.consume_reports(1000).await.unwrap();
    let mut second = queue.consume_reports(1000).await.unwrap();
    assert_eq!(queue.report_consumers().await.unwrap(), 2);
    queue.publish_reports(echoes(0..10)).await.unwrap();
    let all = usize::from(PARTITIONS) * 10;
    let taken = take(&mut first, all).await;
    assert!(second.next().now_or_never().is_none(), "the first one holds all partitions");
    // Of each partition five are settled, and one is left to its consumer.
    let mut held = Vec::new();
    for delivery in taken {
        match echo(&delivery.message).1 {
            0..5 => delivery.receipt.ack().await,
            5 => drop(delivery),
            _ => held.push(delivery),
        }
    }
    queue.publish_reports(echoes(10..12)).await.unwrap();
    drop(first);
    drop(held);
    let mut arrived: BTreeMap<u8, Vec<u64>> = BTreeMap::new();
    for delivery in take(&mut second, usize::from(PARTITIONS) * 7).await {
        let (partition, number) = echo(&delivery.message);
        assert!(number >= 10 || delivery.redeliveries == 1, "{number} of {partition}");
        arrived.entry(partition).or_default().push(number);
        delivery.receipt.ack().await;
    }
    for (partition, numbers) in arrived {
        assert!(numbers.iter().copied().eq(5..12), "{numbers:?} of {partition}");
    }
    assert_eq!(queue.waiting_reports().await.unwrap(), 0);
}

pub(crate) async fn all_reports_of_a_session_are_in_one_partition(queue: &Queue) {
    let mut first = queue.consume_reports(1000).await.unwrap();
    let _second = queue.consume_reports(1000).await.unwrap();
    queue.publish_reports((0..40).flat_map(|item| handovers(item, 5)).collect()).await.unwrap();
    let mut numbers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for delivery in take(&mut first, 200).await {
        let Report::HandedOver { key, attempt, .. } = &delivery.message else { panic!("{:?}", delivery.message) };
        numbers.entry(key.item.0).or_default().push(attempt.number);
        delivery.receipt.ack().await;
    }
    assert!(numbers.values().all(|numbers| numbers.iter().copied().eq(1..=5)), "{numbers:?}");
}

pub(crate) async fn progress_goes_to_whoever_consumes_reports(queue: &Queue) {
    let mut consumer = queue.consume_reports(10).await.unwrap();
    let progress = Progress::of_attempts("w".parse().unwrap(), Vec::new());
    queue.publish_progress(vec![progress.clone(), progress.clone()]).await.unwrap();
    for _ in 0..2 {
        let delivery = consumer.next().await.unwrap();
        assert_eq!(delivery.message, Report::Progress(progress.clone()));
        delivery.receipt.ack().await;
    }
}

pub(crate) async fn a_report_set_aside_comes_back_by_itself_and_that_is_no_redelivery(queue: &Queue) {
    let report =
        |sweep: &str| Report::Tabulate { sweep: sweep.parse().unwrap(), lock: Digest::of(b"lock"), generation: None };
    queue.set_aside_reports(vec![report("one"), report("two")]).await.unwrap();
    while queue.reports_set_aside().await.unwrap() != 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(queue.waiting_reports().await.unwrap(), 0);
    let mut consumer = queue.consume_reports(10).await.unwrap();
    // More often than a message may be redelivered.
    for _ in 0..=DELIVERY_LIMIT {
        let mut arrived = Vec::new();
        for delivery in take(&mut consumer, 2).await {
            assert_eq!(delivery.redeliveries, 0);
            queue.set_aside_reports(vec![delivery.message.clone()]).await.unwrap();
            arrived.push(delivery.message);
            delivery.receipt.ack().await;
        }
        assert!(arrived.contains(&report("one")) && arrived.contains(&report("two")), "{arrived:?}");
    }
    assert_eq!(queue.dead_letters().await.unwrap(), 0);
}

pub(crate) async fn a_question_set_aside_comes_back_and_is_not_counted(queue: &Queue) {
    let question = Report::Echo { sweep: "one".parse().unwrap(), number: 1, waited: true, partition: Partition::WHOLE };
    queue.set_aside_reports(vec![question.clone()]).await.unwrap();
    assert_eq!((queue.reports_set_aside().await.unwrap(), queue.waiting_reports().await.unwrap()), (0, 0));
    let delivery = queue.consume_reports(10).await.unwrap().next().await.unwrap();
    assert_eq!((&delivery.message, delivery.redeliveries), (&question, 0));
    delivery.receipt.ack().await;
}

pub(crate) async fn queues_are_separate(queue: &Queue) {
    let mut one = queue.consume_jobs("one", 10).await.unwrap();
    let mut two = queue.consume_jobs("two", 10).await.unwrap();
    queue.publish_jobs("two", jobs(2..3)).await.unwrap();
    queue.publish_jobs("one", jobs(1..2)).await.unwrap();
    assert_eq!(item(&one.next().await.unwrap().message), 1);
    assert_eq!(item(&two.next().await.unwrap().message), 2);
}

pub(crate) async fn a_broker_is_reached_whatever_queues_there_are(queue: &Queue) {
    queue.reach().await.unwrap();
    queue.close();
    assert!(matches!(queue.reach().await, Err(QueueError::Closed)));
}

pub(crate) async fn depth_counts_what_waits(queue: &Queue) {
    queue.declare_jobs("q").await.unwrap();
    queue.declare_jobs("q").await.unwrap();
    assert_eq!(queue.depth("q").await.unwrap(), 0);
    queue.publish_jobs("q", jobs(0..3)).await.unwrap();
    eventually_depth(queue, "q", 3).await;
}

pub(crate) async fn a_closed_queue_ends_consumers_and_listeners_and_takes_nothing(queue: &Queue) {
    let mut consumer = queue.consume_jobs("q", 1).await.unwrap();
    let mut listener = queue.listen().await.unwrap();
    queue.clone().close();
    assert!(consumer.next().await.is_none());
    assert!(listener.next().await.is_none());
    assert!(matches!(queue.publish_jobs("q", jobs(0..1)).await, Err(QueueError::Closed)));
    assert!(matches!(queue.declare_jobs("q").await, Err(QueueError::Closed)));
    assert!(matches!(queue.consume_jobs("q", 1).await, Err(QueueError::Closed)));
}

pub(crate) async fn dropping_the_last_handle_ends_consumers(queue: &Queue) {
    // The caller keeps a handle, so this needs a queue of its own.
    let queue = match queue {
        Queue::Memory(_) => memory_queue(),
        Queue::RabbitMq(_) => rabbitmq_queue().await,
        Queue::Troubled(_) => panic!("simulated queues share the one in memory"),
    };
    let mut consumer = queue.consume_jobs("q", 1).await.unwrap();
    let clone = queue.clone();
    drop(queue);
    clone.publish_jobs("q", jobs(7..8)).await.unwrap();
    consumer.next().await.unwrap().receipt.ack().await;
    drop(clone);
    assert!(consumer.next().await.is_none());
}

pub(crate) async fn names_that_no_queue_can_have_are_refused(queue: &Queue) {
    for name in ["", "a b", "a\n", &"x".repeat(201)] {
        assert!(matches!(queue.declare_jobs(name).await, Err(QueueError::BadName { .. })), "{name:?}");
        assert!(matches!(queue.consume_jobs(name, 1).await, Err(QueueError::BadName { .. })), "{name:?}");
    }
}
