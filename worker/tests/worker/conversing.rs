//! Sessions in which models talk to each other.

mod company;

use std::sync::Arc;
use std::time::Duration;

use regatta_memory::ByteBudget;
use regatta_proto::{
    Call, Cause, CellIndex, ChatRequest, Event, ItemIndex, Job, Lane, Latency, Money, Outcome, Reply, Report, Role,
    Served, SessionJob, Simulation, Transcript, Usage,
};
use regatta_simulator::answer_seed;

use self::company::{Company, NAMES, PARTS, broken, cost_of, texts, undisturbed};
use crate::stage::{Cable, Reports, Stage};

#[tokio::test]
async fn every_role_is_asked_at_its_own_endpoint_with_its_own_parameters_and_money() {
    let company = Company::gather(Simulation::default()).await;
    let stage = &company.stage;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    stage.tell(company.routes(&NAMES), Vec::new()).await;
    let worker = stage.start_untold("w", |_| {});
    let outcome = reports.outcome().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    worker.leave().await;

    let transcript = &outcome.transcript;
    let parts: Vec<(Role, String)> = transcript.calls().map(|call| (call.role, call.model.to_string())).collect();
    let models = ["people/oracle", "sim/oracle", "tools/oracle", "sim/oracle", "sim/oracle"].map(str::to_owned);
    assert_eq!(parts, PARTS.into_iter().zip(models).collect::<Vec<_>>());
    assert_eq!(company.requests(), [1, 3, 1]);
    let sampling: Vec<_> =
        transcript.calls().map(|call| (call.request.sampling.temperature, call.request.sampling.max_tokens)).collect();
    assert_eq!(sampling[..3], [(Some(0.5), Some(100)), (None, Some(1000)), (None, Some(500))]);

    let (agent, all) = (cost_of(transcript, &[Role::Agent]), cost_of(transcript, &PARTS));
    assert!(Money::ZERO < agent && agent < all);
    assert_eq!((company.spent(Some("sim/oracle")).await, company.spent(None).await), (agent, all));
}

#[tokio::test]
async fn each_role_and_each_repetition_speaks_with_a_seed_of_its_own() {
    let company = Company::gather(Simulation::default()).await;
    let stage = &company.stage;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    stage.tell(company.routes(&NAMES), Vec::new()).await;
    let worker = stage.start_untold("w", |_| {});
    let outcome = reports.outcome().await;
    worker.leave().await;
    let cell = &stage.sweep.cells()[0];
    let seed = stage.sweep.seed(cell, stage.sweep.item(cell, ItemIndex(0)).unwrap());
    let seeds =
        [seed.of_part(Role::User, 0), seed, seed.of_part(Role::Environment, 0), seed, seed.of_part(Role::Agent, 1)];
    // The simulated models draw by the seeds that they are told.
    let drawn = |seed| answer_seed(seed, &Simulation::default(), "oracle").0;
    let begins = PARTS.iter().zip(seeds).map(|(role, seed)| format!("{role} {} after", drawn(seed)));
    let said: Vec<_> = outcome.transcript.calls().map(|call| call.reply.text.clone().unwrap()).collect();
    for (said, begin) in said.iter().zip(begins) {
        assert!(said.starts_with(&begin), "{said} does not begin with {begin}");
    }
}

#[tokio::test]
async fn a_conversation_that_is_handed_over_goes_on_where_it_was_and_no_call_is_made_twice() {
    let mut company = Company::gather(broken()).await;
    company.stage.publish([company.stage.job(0, 0)]).await;
    let mut reports = company.stage.reports().await;
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let first = company.stage.start_untold("first", |config| config.drain = Duration::from_millis(300));
    reports.progress(|_| company.servers["tools"].counters().total_requests() > 0).await;
    first.leave().await;
    let Report::HandedOver { attempt, .. } = reports.result().await else { panic!("not handed over") };
    assert_eq!(attempt.number, 1);

    company.mend_tools().await;
    let second = company.stage.start_untold("second", |_| {});
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let outcome = reports.outcome().await;
    second.leave().await;
    assert_eq!((outcome.outcome, outcome.attempt.number), (Outcome::Measured, 2));
    let attempts: Vec<(Role, u32)> = outcome.transcript.calls().map(|call| (call.role, call.attempt)).collect();
    let expected = PARTS.into_iter().zip([1, 1, 2, 2, 2]).collect::<Vec<_>>();
    assert_eq!(attempts, expected);
    assert_eq!(company.requests(), [1, 3, 1]);
    assert_eq!(company.spent(None).await, cost_of(&outcome.transcript, &PARTS));
}

#[tokio::test]
async fn a_conversation_whose_bytes_others_need_is_handed_over_and_its_answers_are_the_same() {
    const BUDGET: u64 = 1 << 20;
    let mut company = Company::gather(broken()).await;
    company.stage.bytes = ByteBudget::new(BUDGET);
    let bytes = company.stage.bytes.clone();
    company.stage.publish([company.stage.job(0, 0)]).await;
    let mut reports = company.stage.reports().await;
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let worker = company.stage.start_untold("w", |_| {});
    reports.progress(|_| company.servers["tools"].counters().total_requests() > 0).await;

    // Two answers are kept, and the tools are to be tried again in an hour.
    let others = bytes.holder();
    others.keep(BUDGET / 8 * 5);
    let mut next = bytes.holder().read();
    next.grow(1).await.unwrap();
    let Report::HandedOver { attempt, totals, .. } = reports.result().await else { panic!("not handed over") };
    assert_eq!((attempt.number, totals.calls), (1, 2));

    company.mend_tools().await;
    drop((others, next));
    let outcome = reports.outcome().await;
    worker.leave().await;
    assert_eq!((outcome.outcome, outcome.attempt.number), (Outcome::Measured, 2));
    assert_eq!(texts(&outcome.transcript), undisturbed().await);
    assert_eq!(company.requests(), [1, 3, 1]);
    assert_eq!((bytes.held(), bytes.waiting()), (0, 0));
}

#[tokio::test]
async fn a_conversation_whose_worker_dies_goes_on_from_its_checkpoint_and_no_answered_call_is_made_twice() {
    let (mut company, mut reports) = left_after_two_calls().await;

    company.mend_tools().await;
    let second = company.stage.start_untold("second", |_| {});
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let mut taken_over = Vec::new();
    let outcome = loop {
        match reports.result().await {
            Report::HandedOver { attempt, totals, taken_over: true, .. } => taken_over.push((attempt, totals)),
            // The dying process may have come to say so.
            Report::HandedOver { .. } => {}
            Report::Session(outcome) => break outcome,
            other => panic!("{other:?}"),
        }
    };
    company.stage.no_checkpoint().await;
    second.leave().await;
    let [(attempt, totals)] = &taken_over[..] else { panic!("{taken_over:?}") };
    assert_eq!((attempt.number, attempt.worker.as_str(), totals.calls), (1, "first", 2));
    assert_eq!(totals.cost.known, cost_of_attempt(&outcome.transcript, 1));
    assert_eq!(outcome.outcome, Outcome::Measured);
    let (attempts, last) = (outcome.transcript.calls().map(|call| call.attempt), outcome.attempt.number);
    assert_eq!(attempts.collect::<Vec<_>>(), [1, 1, last, last, last]);
    assert_eq!(company.requests(), [1, 3, 1]);
}

#[tokio::test]
async fn a_conversation_that_is_cut_off_from_the_broker_ends_with_its_call_and_goes_on_elsewhere() {
    let slow = Latency { median_ms: 200.0, ..Latency::default() };
    let company = Company::gather(Simulation { latency: slow, ..Simulation::default() }).await;
    let stage = &company.stage;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    stage.tell(company.routes(&NAMES), Vec::new()).await;
    let cable = Arc::new(Cable::default());
    let worker = stage.start_behind("w", cable.clone());
    // Its third call is on its way to the slow endpoint.
    reports.progress(|open| open.totals.calls == 2 && open.in_flight_at_most > Some(Money::ZERO)).await;
    cable.cut();
    let Report::HandedOver { attempt, totals, taken_over: false, .. } = reports.result().await else {
        panic!("it does not tell what it has spent")
    };
    assert_eq!((attempt.number, totals.calls), (1, 3));
    let outcome = loop {
        match reports.result().await {
            Report::HandedOver { attempt, taken_over, .. } => assert!(taken_over && attempt.number == 1),
            Report::Session(outcome) => break outcome,
            other => panic!("{other:?}"),
        }
    };
    stage.no_checkpoint().await;
    worker.leave().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    assert_eq!(outcome.transcript.calls().filter(|call| call.attempt == 1).count(), 3);
    assert_eq!(company.requests(), [1, 3, 1]);
    assert_eq!(company.spent(None).await, cost_of(&outcome.transcript, &PARTS));
}

#[tokio::test]
async fn a_checkpoint_of_an_earlier_generation_is_none() {
    let (mut company, mut reports) = left_after_two_calls().await;
    until_back(&company.stage).await;
    company.stage.take_all().await;

    company.mend_tools().await;
    let resumed = SessionJob { attempt: 2, generation: 1, ..company.stage.job(0, 0) };
    company.stage.publish([resumed]).await;
    let second = company.stage.start_untold("second", |_| {});
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let outcome = reports.outcome().await;
    second.leave().await;
    assert!(outcome.transcript.calls().all(|call| call.attempt == 2));
    assert_eq!(company.requests(), [2, 4, 1]);
}

#[tokio::test]
async fn a_conversation_that_runs_through_a_resume_goes_on_in_the_next_generation_after_its_worker_died() {
    let mut company = Company::gather(broken()).await;
    company.stage.publish([company.stage.job(0, 0)]).await;
    let mut reports = company.stage.reports().await;
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let first = company.stage.start_mortal_untold("first");
    company.stage.checkpoint(2, 0).await;
    company.tell_of_resume().await;
    company.stage.checkpoint(2, 1).await;
    first.kill();
    until_back(&company.stage).await;
    company.stage.take_all().await;

    company.mend_tools().await;
    let next = SessionJob { attempt: 2, generation: 1, ..company.stage.job(0, 0) };
    company.stage.publish([next]).await;
    let second = company.stage.start_untold("second", |_| {});
    company.tell_of_resume().await;
    let Report::HandedOver { attempt, totals, taken_over: true, .. } = reports.result().await else {
        panic!("it does not tell of the attempt that it goes on with")
    };
    assert_eq!((attempt.number, totals.calls), (1, 2));
    let outcome = reports.outcome().await;
    second.leave().await;
    assert_eq!(outcome.transcript.calls().map(|call| call.attempt).collect::<Vec<_>>(), [1, 1, 2, 2, 2]);
    assert_eq!(company.requests(), [1, 3, 1]);
}

#[tokio::test]
async fn a_conversation_that_runs_through_a_resume_is_handed_over_in_the_next_generation() {
    let mut company = Company::gather(broken()).await;
    company.stage.publish([company.stage.job(0, 0)]).await;
    let mut reports = company.stage.reports().await;
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let first = company.stage.start_untold("first", |config| config.drain = Duration::from_millis(300));
    company.stage.checkpoint(2, 0).await;
    company.tell_of_resume().await;
    company.stage.checkpoint(2, 1).await;
    first.leave().await;
    let Report::HandedOver { .. } = reports.result().await else { panic!("not handed over") };

    company.mend_tools().await;
    let second = company.stage.start_untold("second", |_| {});
    company.tell_of_resume().await;
    let outcome = reports.outcome().await;
    second.leave().await;
    assert_eq!(outcome.transcript.calls().map(|call| call.attempt).collect::<Vec<_>>(), [1, 1, 2, 2, 2]);
    assert_eq!(company.requests(), [1, 3, 1]);
}

#[tokio::test]
async fn a_conversation_that_is_handed_over_leaves_a_checkpoint_of_all_its_calls() {
    let company = Company::gather(broken()).await;
    company.stage.publish([company.stage.job(0, 0)]).await;
    let mut reports = company.stage.reports().await;
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let worker = company.stage.start_untold("w", |config| {
        config.drain = Duration::from_millis(300);
        config.progress_every = Duration::from_secs(3600);
    });
    while company.servers["tools"].counters().total_requests() == 0 {
        tokio::task::yield_now().await;
    }
    worker.leave().await;
    let Report::HandedOver { totals, .. } = reports.result().await else { panic!("not handed over") };
    assert_eq!(totals.calls, 2);
    company.stage.take_all().await;
    // The failed call to the tools is an event too.
    company.stage.checkpoint(3, 0).await;
}

/// A conversation whose worker, the first, died after two calls; its tools are broken.
async fn left_after_two_calls() -> (Company, Reports) {
    let company = Company::gather(broken()).await;
    company.stage.publish([company.stage.job(0, 0)]).await;
    let reports = company.stage.reports().await;
    company.stage.tell(company.routes(&NAMES), Vec::new()).await;
    let first = company.stage.start_mortal_untold("first");
    company.stage.checkpoint(2, 0).await;
    first.kill();
    (company, reports)
}

/// Returns once the job of a worker that died waits again.
async fn until_back(stage: &Stage) {
    while stage.waiting().await == 0 {
        tokio::task::yield_now().await;
    }
}

fn cost_of_attempt(transcript: &Transcript, attempt: u32) -> Money {
    transcript.calls().filter(|call| call.attempt == attempt).filter_map(|call| call.cost).sum()
}

#[tokio::test]
async fn a_conversation_that_another_version_began_is_not_measured_and_nobody_is_asked() {
    let company = Company::gather(Simulation::default()).await;
    let stage = &company.stage;
    let stranger = Call {
        role: Role::Environment,
        attempt: 1,
        model: "tools/oracle".parse().unwrap(),
        request: ChatRequest::default(),
        reply: Reply::said("I begin"),
        tries: Vec::new(),
        usage: Usage::default(),
        raw_usage: None,
        cost: None,
        reported_cost: None,
        served: Served::default(),
        latency_us: 1,
        first_token_us: None,
        waited_us: 0,
        at: None,
        lane: Lane::Live,
        from_cache: false,
        saved: None,
    };
    let mut job = stage.job(0, 0);
    job.attempt = 2;
    job.transcript.events.push(Event::Call(Box::new(stranger)));
    let begun = job.transcript.clone();
    stage.publish([job]).await;
    let mut reports = stage.reports().await;
    stage.tell(company.routes(&NAMES), Vec::new()).await;
    let worker = stage.start_untold("w", |_| {});
    let outcome = reports.outcome().await;
    worker.leave().await;
    assert_eq!(outcome.outcome, Outcome::NotMeasured { cause: Cause::TranscriptUnfit });
    assert_eq!((outcome.transcript, company.requests()), (begun, [0, 0, 0]));
}

#[tokio::test]
async fn a_worker_of_one_endpoint_consumes_no_other_and_asks_those_that_its_sessions_need() {
    let company = Company::gather(Simulation::default()).await;
    let stage = &company.stage;
    let [people] = &company.routes(&["people"])[..] else { panic!() };
    stage.queue.declare_jobs(&people.queue).await.unwrap();
    stage.queue.publish_jobs(&people.queue, vec![Job::Session(Box::new(stage.job(0, 0)))]).await.unwrap();
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    stage.tell(company.routes(&NAMES), Vec::new()).await;
    let worker = stage.start_untold("w", |config| config.endpoints = Some(["sim".parse().unwrap()].into()));
    assert_eq!(reports.outcome().await.outcome, Outcome::Measured);
    worker.leave().await;
    assert!(company.requests().iter().all(|requests| *requests > 0), "{:?}", company.requests());
    assert_eq!((stage.waiting().await, stage.queue.depth(&people.queue).await.unwrap()), (0, 1));
}

#[tokio::test]
async fn a_worker_takes_no_conversation_until_every_endpoint_of_it_is_open() {
    let company = Company::gather(Simulation::default()).await;
    let stage = &company.stage;
    let mut stray = stage.job(0, 0);
    stray.key.cell = CellIndex(99);
    let [people] = &company.routes(&["people"])[..] else { panic!() };
    stage.queue.declare_jobs(&people.queue).await.unwrap();
    stage.queue.publish_jobs(&people.queue, vec![Job::Session(Box::new(stray))]).await.unwrap();
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    stage.tell(company.routes(&["people", "sim"]), Vec::new()).await;
    let worker = stage.start_untold("w", |_| {});
    // The stray job is there to show that the worker has heard and works.
    assert_eq!(reports.outcome().await.key.cell, CellIndex(99));
    assert_eq!(stage.waiting().await, 1);
    stage.tell(company.routes(&NAMES), Vec::new()).await;
    assert_eq!(reports.outcome().await.outcome, Outcome::Measured);
    worker.leave().await;
}
