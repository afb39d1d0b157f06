//! Requests that keep failing while others are answered.

use super::*;

fn request(text: &str) -> ChatRequest {
    ChatRequest::new(vec![ChatMessage::new(ChatRole::User, text)], Sampling::default())
}

#[tokio::test(start_paused = true)]
async fn a_request_that_keeps_failing_while_others_are_answered_is_quarantined_for_the_fleet() {
    let store = FakeStore::default();
    let workers = [0, 1].map(|_| tries_at(&store, 10, None, Retries { quarantine_after: 11, ..RETRIES }));
    let (bad, good, never) = (request("bad"), request("good"), CancellationToken::new());
    let of = |request, attempt| TryContext {
        suspect: Some(Suspect::new(&SWEEP, "m", request)),
        attempt,
        ..context(1, &never)
    };
    let failing = vec![Failure { detail: "boom".into(), ..failure(ErrorClass::Server) }; 100];
    let mut made = Vec::new();
    for (attempt, worker) in (1..).zip([&workers[0], &workers[1], &workers[0]]) {
        let others = async {
            sleep(Duration::from_micros(1)).await;
            run_tries(worker, of(&good, 1), &[]).await.unwrap();
        };
        let failing = async {
            let slowly = || async {
                sleep(Duration::from_millis(10)).await;
                Err::<Answer, _>(failing[0].clone())
            };
            match worker.run(of(&bad, attempt), slowly).await {
                Err(GivenUp::Failed(made)) => made,
                other => panic!("{other:?}"),
            }
        };
        made.push(join(failing, others).await.0);
    }
    assert_eq!(classes(&made[0]), vec![ErrorClass::Server; 8]);
    // Three more failures make eleven in the fleet.
    use ErrorClass::{Poison, Server};
    assert_eq!(classes(&made[1]), [Server, Server, Server, Poison]);
    assert_eq!(made[1][3].detail, "the request has failed 11 times, the last time with server: boom");
    assert_eq!(classes(&made[2]), [Poison], "later attempts are not sent at all");
    assert_eq!(made[2][0].detail, "the request had failed 11 times and was not sent again");
    assert_eq!(store.asked_about_failures(), 2, "first attempts do not even ask");
}

#[tokio::test(start_paused = true)]
async fn failures_of_one_sweep_or_with_other_settings_quarantine_no_request_of_a_neighbour() {
    let store = FakeStore::default();
    let spec = EndpointSpec { retries: RETRIES, ..EndpointSpec::of_kind(EndpointKind::Openai) };
    let mut hasty = spec.clone();
    hasty.timeouts.total_ms = 1;
    let routed = EndpointSpec { headers: [("x-route".to_owned(), "broken".to_owned())].into(), ..spec.clone() };
    let (bad, never, others) = (request("bad"), CancellationToken::new(), "others".parse().unwrap());
    let counted = async |spec: &EndpointSpec, sweep: &SweepId| {
        let failing = &Failing {
            fingerprint: fingerprint(sweep, "pool", &spec.request_settings(), "m", &bad),
            class: ErrorClass::Timeout,
        };
        for _ in 0..RETRIES.quarantine_after {
            store.failing(failing).await.unwrap();
        }
    };
    let is_sent = async || {
        let suspect = Some(Suspect::new(&SWEEP, "m", &bad));
        let context = TryContext { suspect, attempt: 2, ..context(1, &never) };
        run_tries(&tries_of(&store, &spec), context, &[]).await.is_ok()
    };
    counted(&spec, &others).await;
    counted(&hasty, &SWEEP).await;
    counted(&routed, &SWEEP).await;
    assert!(is_sent().await, "these are others' failures");
    counted(&spec, &SWEEP).await;
    assert!(!is_sent().await, "these are its own");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_quarantines_nobody_and_holds_nobody_up() {
    let (store, bad) = (FakeStore::default(), request("bad"));
    let quarantine = Quarantine::new(Arc::new(store.clone()), "pool".into(), Digest::of(b""), 2);
    store.answers_after(Duration::from_secs(60));
    let begun = Instant::now();
    assert_eq!(quarantine.look(&mut Suspect::new(&SWEEP, "m", &bad)).await, None);
    assert_eq!(quarantine.count(&mut Suspect::new(&SWEEP, "m", &bad), &failure(ErrorClass::Server)).await, None);
    assert_eq!(begun.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_no_requests_fault() {
    let store = FakeStore::default();
    let tries = tries_at(&store, 10, None, Retries { quarantine_after: 2, ..RETRIES });
    let (bad, never) = (request("bad"), CancellationToken::new());
    run(&tries, &[]).await.unwrap();
    let context = TryContext { suspect: Some(Suspect::new(&SWEEP, "m", &bad)), ..context(1, &never) };
    let Err(GivenUp::Failed(made)) = run_tries(&tries, context, &vec![failure(ErrorClass::Server); 100]).await else {
        panic!("it never succeeds");
    };
    assert_eq!(classes(&made), vec![ErrorClass::Server; 8]);
}
