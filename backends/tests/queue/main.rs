//! Rules that every queue obeys, checked in memory and with RabbitMQ; then rules of a broker alone.
//!
//! `REGATTA_TEST_AMQP_URL` names a running broker; otherwise a private one is started.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's own steps fail the test")]

#[cfg(not(feature = "cluster"))]
compile_error!("the conformance suites need every implementation: scripts/test -p regatta-backends");

mod broker;
mod rules;
mod stage;

use futures::FutureExt;

use stage::{control, memory_queue};

macro_rules! conformance {
    ($($rule:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test]
            async fn $rule() {
                super::stage::within(super::rules::$rule(&super::stage::memory_queue())).await;
            })*
        }
        mod rabbitmq {
            $(#[tokio::test]
            async fn $rule() {
                super::stage::within(super::rules::$rule(&super::stage::rabbitmq_queue().await)).await;
            })*
        }
    };
}

conformance![
    ten_thousand_jobs_arrive_in_order_and_once,
    a_queue_nobody_declared_takes_no_jobs,
    publishing_nothing_is_done_at_once,
    nothing_is_published_after_the_time_until_which_it_may_be,
    a_consumer_holds_no_more_than_its_prefetch,
    messages_are_spread_evenly_over_consumers,
    a_message_handed_back_comes_again_and_is_counted,
    a_dropped_receipt_hands_its_message_back,
    what_a_dropped_consumer_held_comes_to_another,
    a_receipt_of_a_dropped_consumer_settles_nothing,
    a_receipt_tells_when_its_message_goes_to_another,
    acknowledging_many_spares_those_in_between,
    a_stopped_consumer_ends_and_its_receipts_stay_good,
    a_message_delivered_too_often_is_set_aside,
    a_message_handed_back_too_often_is_set_aside,
    a_message_dropped_too_often_is_set_aside,
    a_broadcast_reaches_every_listener,
    reports_go_to_whoever_consumes_reports,
    a_partition_of_reports_has_one_consumer_at_a_time,
    all_reports_of_a_session_are_in_one_partition,
    progress_goes_to_whoever_consumes_reports,
    a_report_set_aside_comes_back_by_itself_and_that_is_no_redelivery,
    a_question_set_aside_comes_back_and_is_not_counted,
    queues_are_separate,
    a_broker_is_reached_whatever_queues_there_are,
    depth_counts_what_waits,
    consumers_are_counted_until_they_stop,
    a_closed_queue_ends_consumers_and_listeners_and_takes_nothing,
    dropping_the_last_handle_ends_consumers,
    names_that_no_queue_can_have_are_refused,
];

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
