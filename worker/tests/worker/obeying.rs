use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use regatta_proto::{
    AskedQuestion, BroadcastNumber, Control, Job, JudgeJob, Latency, Money, Outcome, Question, Report, SessionJob,
    Simulation,
};
use regatta_simulator::SimulatedEndpoint;

use crate::stage::{Cable, Stage, within};

#[tokio::test]
async fn a_job_of_a_cancelled_sweep_is_dropped_unrun() {
    let (stage, server) = Stage::with(Simulation::default()).await;
    let mut void = stage.job(0, 0);
    void.key.sweep = "cancelled".parse().unwrap();
    let mut judging = stage.judge_job(&[("a", "b")]);
    judging.sweep = void.key.sweep.clone();
    stage.publish_any(vec![Job::Judge(judging), Job::Session(Box::new(void.clone()))]).await;
    stage.publish([stage.job(0, 1)]).await;
    let mut reports = stage.reports().await;
    stage.tell(vec![stage.route.clone()], vec![void.key.sweep.clone()]).await;
    let worker = stage.start_untold("w", |_| {});
    assert_eq!(reports.outcome().await.key, stage.job(0, 1).key);
    assert_eq!(worker.ended("dropped"), 2);
    worker.leave().await;
    assert_eq!((stage.waiting().await, server.counters().total_requests()), (0, 1));
    assert!(reports.rest(&stage.queue).await.is_empty());
}

#[tokio::test]
async fn a_job_of_before_a_resume_is_dropped_unrun() {
    let (stage, server) = Stage::with(Simulation::default()).await;
    let resumed = |item| SessionJob { generation: 2, ..stage.job(0, item) };
    stage.publish([stage.job(0, 0), SessionJob { generation: 1, ..stage.job(0, 1) }, resumed(2)]).await;
    let mut reports = stage.reports().await;
    stage.tell_of_generations(BTreeMap::from([(stage.sweep.id.clone(), 2)])).await;
    let worker = stage.start_untold("w", |_| {});
    assert_eq!(reports.outcome().await.key, stage.job(0, 2).key);
    assert_eq!(worker.ended("stale"), 2);
    worker.leave().await;
    assert_eq!((stage.waiting().await, server.counters().total_requests()), (0, 1));
    assert!(reports.rest(&stage.queue).await.is_empty());
}

#[tokio::test]
async fn questions_of_before_a_resume_are_dropped_unasked() {
    let (stage, server) = Stage::with(Simulation::default()).await;
    let of = |generation, question| Job::Judge(JudgeJob { generation, ..stage.judge_job(&[question]) });
    let jobs = vec![of(Some(0), ("a", "b")), of(Some(1), ("c", "d")), of(Some(2), ("e", "f")), of(None, ("g", "h"))];
    stage.publish_any(jobs).await;
    let mut reports = stage.reports().await;
    stage.tell_of_generations(BTreeMap::from([(stage.sweep.id.clone(), 2)])).await;
    let worker = stage.start_untold("w", |_| {});
    reports.verdicts().await;
    // The version before does not say when it asked: nobody else may know of that question.
    reports.verdicts().await;
    assert_eq!(worker.ended("stale"), 2);
    worker.leave().await;
    assert_eq!((stage.waiting().await, server.counters().total_requests()), (0, 2));
    assert!(reports.rest(&stage.queue).await.is_empty());
}

#[tokio::test]
async fn questions_of_a_resumed_sweep_are_asked_by_a_worker_that_has_heard_of_the_cancel_alone() {
    let (stage, server) = Stage::with(Simulation::default()).await;
    let resumed = JudgeJob { generation: Some(1), ..stage.judge_job(&[("a", "b")]) };
    stage.publish_any(vec![Job::Judge(stage.judge_job(&[("c", "d")])), Job::Judge(resumed)]).await;
    let mut reports = stage.reports().await;
    let number = Some(BroadcastNumber { term: 3, sequence: 1 });
    let routes = vec![stage.route.clone()];
    let cancelled = Control { routes, cancelled: vec![stage.sweep.id.clone()], number, ..Control::default() };
    stage.queue.broadcast(cancelled).await.unwrap();
    let worker = stage.start_untold("w", |_| {});
    reports.verdicts().await;
    assert_eq!(worker.ended("dropped"), 1);
    worker.leave().await;
    assert_eq!((stage.waiting().await, server.counters().total_requests()), (0, 1));
}

#[tokio::test]
async fn a_cancel_that_comes_late_drops_no_job_of_the_resumed_sweep_and_changes_no_route() {
    let (stage, server) = Stage::with(Simulation::default()).await;
    let broadcast = |sequence, cancelled: bool| Control {
        routes: if cancelled { Vec::new() } else { vec![stage.route.clone()] },
        cancelled: cancelled.then(|| stage.sweep.id.clone()).into_iter().collect(),
        generations: if cancelled { BTreeMap::new() } else { BTreeMap::from([(stage.sweep.id.clone(), 1)]) },
        number: Some(BroadcastNumber { term: 3, sequence }),
    };
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let resumed = |item| SessionJob { generation: 1, ..stage.job(0, item) };
    stage.queue.broadcast(broadcast(8, false)).await.unwrap();
    stage.publish([resumed(0)]).await;
    assert_eq!(reports.outcome().await.key, stage.job(0, 0).key);
    // From a leader that another has followed, and that waited for the broker.
    stage.queue.broadcast(broadcast(7, true)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    stage.publish([resumed(1)]).await;
    assert_eq!(reports.outcome().await.key, stage.job(0, 1).key);
    worker.leave().await;
    assert_eq!(server.counters().total_requests(), 2);
}

#[tokio::test]
async fn a_session_that_runs_when_its_sweep_is_resumed_is_told_of_at_once() {
    let latency = Latency { median_ms: 3_000.0, ..Latency::default() };
    let (stage, _server) = Stage::with(Simulation { latency, ..Simulation::default() }).await;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let told = reports.progress(|open| open.in_flight_at_most > Some(Money::ZERO)).await;
    stage.tell_of_generations(BTreeMap::from([(stage.sweep.id.clone(), 1)])).await;
    // Nothing of it has changed, and nobody would have asked for another few seconds.
    assert_eq!(reports.progress(|_| true).await, told);
    assert_eq!(reports.outcome().await.key, told.key);
    worker.leave().await;
}

#[tokio::test]
async fn a_session_that_is_delivered_again_while_it_runs_runs_once() {
    let latency = Latency { median_ms: 200.0, ..Latency::default() };
    let (stage, server) = Stage::with(Simulation { latency, ..Simulation::default() }).await;
    stage.publish([stage.job(0, 0), stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    assert_eq!(reports.outcome().await.key, stage.job(0, 0).key);
    worker.leave().await;
    assert_eq!((stage.waiting().await, server.counters().total_requests()), (0, 1));
    assert!(reports.rest(&stage.queue).await.is_empty());
}

#[tokio::test]
async fn a_session_that_ends_after_its_connection_is_lost_is_ended_elsewhere_without_another_call() {
    let latency = Latency { median_ms: 200.0, ..Latency::default() };
    let (stage, server) = Stage::with(Simulation { latency, ..Simulation::default() }).await;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let cable = Arc::new(Cable::default());
    stage.tell(vec![stage.route.clone()], Vec::new()).await;
    let first = stage.start_behind("first", cable.clone());
    within(async {
        while server.counters().total_requests() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    cable.cut_for_good();
    assert_eq!(reports.outcome().await.attempt.number, 1);
    stage.checkpoint(1, 0).await;

    stage.tell(vec![stage.route.clone()], Vec::new()).await;
    let second = stage.start_untold("second", |_| {});
    let outcome = loop {
        match reports.result().await {
            Report::HandedOver { attempt, taken_over, .. } => assert!(taken_over && attempt.number == 1),
            Report::Session(outcome) => break outcome,
            other => panic!("{other:?}"),
        }
    };
    second.leave().await;
    first.leave().await;
    assert_eq!((outcome.outcome, outcome.attempt.number), (Outcome::Measured, 2));
    assert_eq!(server.counters().total_requests(), 1);
}

#[tokio::test]
async fn a_session_that_waits_for_its_permit_is_dropped_when_its_connection_is_lost() {
    let (stage, server) = Stage::with(Simulation::default()).await;
    stage.others_call(1).await;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let cable = Arc::new(Cable::default());
    stage.tell(vec![stage.route.clone()], Vec::new()).await;
    let first = stage.start_behind("first", cable.clone());
    let waits = reports.progress(|_| true).await;
    assert_eq!((waits.number, waits.in_flight_at_most), (1, Some(Money::ZERO)), "it has begun and sent nothing");
    cable.cut_for_good();
    within(async {
        while first.ended("dropped") == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // Nothing of it is left in the first worker that would call now.
    stage.others_call(0).await;
    stage.tell(vec![stage.route.clone()], Vec::new()).await;
    let second = stage.start_untold("second", |_| {});
    let outcome = reports.outcome().await;
    assert_eq!((outcome.attempt.worker.as_str(), outcome.attempt.number), ("second", 2));
    second.leave().await;
    first.leave().await;
    assert_eq!((stage.waiting().await, server.counters().total_requests()), (0, 1));
    assert!(reports.rest(&stage.queue).await.is_empty());
}

#[tokio::test]
async fn questions_that_wait_for_their_permit_are_dropped_when_their_connection_is_lost() {
    let (stage, server) = Stage::with(Simulation::default()).await;
    stage.others_call(1).await;
    stage.publish_any(vec![Job::Judge(stage.judge_job(&[("open the door", "boil an egg")]))]).await;
    let mut reports = stage.reports().await;
    let cable = Arc::new(Cable::default());
    stage.tell(vec![stage.route.clone()], Vec::new()).await;
    let first = stage.start_behind("first", cable.clone());
    let Report::Progress(told) = reports.next().await else { panic!("nobody knows who asks") };
    assert_eq!(told.judging, std::slice::from_ref(&stage.sweep.id));
    cable.cut_for_good();
    stage.others_call(0).await;
    stage.tell(vec![stage.route.clone()], Vec::new()).await;
    let second = stage.start_untold("second", |_| {});
    let outcome = reports.verdicts().await;
    assert!(outcome.unanswered.is_empty() && outcome.attempt.as_str().starts_with("second"), "{outcome:?}");
    second.leave().await;
    first.leave().await;
    assert_eq!((stage.waiting().await, server.counters().total_requests()), (0, 1));
}

/// Two questions of which the first is answered by the first request, and the second needs a further one, which waits for its permit
/// meanwhile. Calls take long enough for a test to do something during the first.
async fn questions_of_two_requests() -> (Stage, SimulatedEndpoint, JudgeJob) {
    let latency = Latency { median_ms: 500.0, ..Latency::default() };
    let (stage, server) = Stage::with(Simulation { latency, ..Simulation::default() }).await;
    let texts: Vec<String> = (0..150).map(|number| format!("text {number}")).collect();
    let second = Question::Similarity { left: texts, right: Vec::new() };
    let mut job = stage.judge_job(&[("open the door", "boil an egg")]);
    job.questions.push(AskedQuestion { digest: second.digest(), question: second });
    stage.publish_any(vec![Job::Judge(job.clone())]).await;
    (stage, server, job)
}

async fn first_request(server: &SimulatedEndpoint) {
    within(async {
        while server.counters().total_requests() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn answers_that_were_paid_when_a_worker_leaves_are_reported_and_only_the_rest_is_asked_again() {
    let (stage, server, job) = questions_of_two_requests().await;
    let mut reports = stage.reports().await;
    let first = stage.start("first", |_| {}).await;
    first_request(&server).await;
    first.lifecycle.stop.cancel();
    first.leave().await;
    let told = reports.verdicts().await;
    assert_eq!(told.verdicts.iter().map(|(digest, _)| *digest).collect::<Vec<_>>(), [job.questions[0].digest]);
    assert!(told.unanswered.is_empty() && told.usage.input > 0 && told.cost.unknown_calls == 1, "{told:?}");
    let rest = JudgeJob { questions: vec![job.questions[1].clone()], ..job };
    let left = stage.take_any().await;
    assert_eq!(left, [(Job::Judge(rest.clone()), 0)]);

    stage.publish_any(vec![Job::Judge(rest.clone())]).await;
    let second = stage.start("second", |_| {}).await;
    let told = reports.verdicts().await;
    assert_eq!(told.verdicts.iter().map(|(digest, _)| *digest).collect::<Vec<_>>(), [rest.questions[0].digest]);
    second.leave().await;
    assert!(reports.rest(&stage.queue).await.is_empty());
}

#[tokio::test]
async fn answers_that_were_paid_when_the_connection_is_lost_are_reported() {
    let (stage, server, job) = questions_of_two_requests().await;
    let mut reports = stage.reports().await;
    let cable = Arc::new(Cable::default());
    stage.tell(vec![stage.route.clone()], Vec::new()).await;
    let first = stage.start_behind("first", cable.clone());
    first_request(&server).await;
    cable.cut_for_good();
    let told = reports.verdicts().await;
    assert_eq!(told.verdicts.iter().map(|(digest, _)| *digest).collect::<Vec<_>>(), [job.questions[0].digest]);
    assert!(told.usage.input > 0 && told.cost.unknown_calls == 1, "{told:?}");
    first.leave().await;
    assert_eq!(stage.take_any().await, [(Job::Judge(job), 1)], "whoever gets it knows of no answer");
}

#[tokio::test]
async fn an_endpoint_whose_key_is_missing_is_left_to_workers_that_have_it() {
    let (mut stage, _server) = Stage::with(Simulation::default()).await;
    let mut locked = stage.route.clone();
    locked.queue = "jobs.locked".to_owned();
    locked.endpoint.api_key_env = Some("LOCKED_KEY".to_owned());
    stage.queue.declare_jobs(&locked.queue).await.unwrap();
    stage.queue.publish_jobs(&locked.queue, vec![Job::Session(Box::new(stage.job(0, 0)))]).await.unwrap();
    stage.publish([stage.job(0, 1)]).await;
    let mut reports = stage.reports().await;
    // Routes are followed in their order: when the second one has worked, the first one has been tried.
    stage.tell(vec![locked.clone(), stage.route.clone()], Vec::new()).await;
    let without = stage.start_untold("without", |_| {});
    assert_eq!(reports.outcome().await.key, stage.job(0, 1).key);
    without.leave().await;
    assert_eq!(stage.queue.depth(&locked.queue).await.unwrap(), 1);

    stage.variables.insert("LOCKED_KEY".to_owned(), "secret".to_owned());
    let with = stage.start_untold("with", |_| {});
    let outcome = reports.outcome().await;
    assert_eq!((outcome.key, outcome.attempt.number), (stage.job(0, 0).key, 1));
    with.leave().await;
}

#[tokio::test]
async fn a_session_goes_on_to_its_end_when_its_queue_is_no_longer_named() {
    let latency = Latency { median_ms: 200.0, ..Latency::default() };
    let (stage, server) = Stage::with(Simulation { latency, ..Simulation::default() }).await;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    reports.progress(|_| true).await;
    stage.tell(Vec::new(), Vec::new()).await;
    assert_eq!(reports.outcome().await.attempt.number, 1);
    worker.leave().await;
    assert_eq!(stage.waiting().await, 0, "it was acknowledged, not given to somebody else");
    assert_eq!(server.counters().total_requests(), 1);
}
