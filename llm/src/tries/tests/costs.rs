//! Costs of tries: told before they are sent, paid as they turn out.

use super::*;

fn paid<'a>(account: &'a AccountId, price: &'a Price, interrupt: &'a CancellationToken) -> TryContext<'a> {
    let context = context(1, interrupt);
    TryContext {
        payer: Payer { accounts: std::slice::from_ref(account), price: Some(price), ..context.payer },
        ..context
    }
}

/// Records the reports of a call in progress.
#[derive(Debug, Default)]
struct Told(std::sync::Mutex<Vec<Moment>>);

#[derive(Debug, PartialEq)]
enum Moment {
    Sent(Option<Money>),
    Failed(Option<Money>, Option<Money>),
}

impl Told {
    fn say(&self, moment: Moment) {
        self.0.lock().unwrap().push(moment);
    }
}

impl Meter for Told {
    fn waited(&self, _: Timestamp, _: Timestamp) {}

    fn sent(&self, at_most: Option<Money>) {
        self.say(Moment::Sent(at_most));
    }

    fn failed(&self, failed: &Try) {
        self.say(Moment::Failed(failed.cost, failed.at_most));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_try_may_cost_is_told_when_it_is_sent_and_what_it_did_cost_when_it_has_failed() {
    let store = FakeStore::default();
    let account = AccountId { sweep: SWEEP.clone(), model: None };
    store.budget(&account, Money(10_000_000));
    let tries = tries_at(&store, 10, None, RETRIES);
    let (price, never, told) = (Price::per_mtok(1.0, 2.0), CancellationToken::new(), Told::default());
    let paid = TryContext { meter: Some(&told), ..paid(&account, &price, &never) };
    run_tries(&tries, paid, &[failure(ErrorClass::Timeout), failure(ErrorClass::Server)]).await.unwrap();
    let unpriced = TryContext { meter: Some(&told), ..context(1, &never) };
    run_tries(&tries, unpriced, &[]).await.unwrap();
    let worst = Some(Money(300_000));
    let moments = [
        Moment::Sent(worst),
        Moment::Failed(None, worst),
        Moment::Sent(worst),
        Moment::Failed(None, None),
        Moment::Sent(worst),
        Moment::Sent(None),
    ];
    assert_eq!(*told.0.lock().unwrap(), moments);
}

#[tokio::test(start_paused = true)]
async fn what_a_try_may_cost_is_that_of_the_service_tier_it_asks_for_and_of_no_dearer_one() {
    let price =
        Price { variants: [("priority".to_owned(), Price::per_mtok(10.0, 20.0))].into(), ..Price::per_mtok(1.0, 2.0) };
    let worst_case = async |tier: Option<&str>| {
        let mut spec = EndpointSpec::of_kind(EndpointKind::Openai);
        spec.body.extend(tier.map(|tier| ("service_tier".to_owned(), tier.into())));
        let (never, told) = (CancellationToken::new(), Told::default());
        let payer = Payer { price: Some(&price), ..context(1, &never).payer };
        let asked = TryContext { payer, meter: Some(&told), ..context(1, &never) };
        run_tries(&tries_of(&FakeStore::default(), &spec), asked, &[]).await.unwrap();
        told.0.into_inner().unwrap()
    };
    assert_eq!(worst_case(Some("default")).await, [Moment::Sent(Some(Money(300_000)))]);
    assert_eq!(worst_case(Some("priority")).await, [Moment::Sent(Some(Money(3_000_000)))]);
    assert_eq!(worst_case(None).await, [Moment::Sent(Some(Money(3_000_000)))], "the provider chooses");
}

#[tokio::test(start_paused = true)]
async fn what_a_try_may_cost_includes_images_and_files_at_their_largest() {
    let price = Price::per_mtok(1.0, 2.0);
    let spec = EndpointSpec::of_kind(EndpointKind::Openai);
    let (never, told) = (CancellationToken::new(), Told::default());
    let payer = Payer { price: Some(&price), ..context(1, &never).payer };
    let asked = TryContext { payer, media_tokens: 50_000, meter: Some(&told), ..context(1, &never) };
    run_tries(&tries_of(&FakeStore::default(), &spec), asked, &[]).await.unwrap();
    assert_eq!(told.0.into_inner().unwrap(), [Moment::Sent(Some(Money(50_300_000)))]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_its_permit_tells_of_no_cost() {
    let tries = tries(1, None, RETRIES);
    let (never, told, hold) = (CancellationToken::new(), Told::default(), tokio::sync::Notify::new());
    let holds = tries.run(context(1, &never), || async {
        hold.notified().await;
        answer()
    });
    let waits = run_tries(&tries, TryContext { meter: Some(&told), ..context(2, &never) }, &[]);
    let looks = async {
        sleep(Duration::from_secs(5)).await;
        assert!(told.0.lock().unwrap().is_empty());
        hold.notify_one();
    };
    let (first, second, ()) = tokio::join!(holds, waits, looks);
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(told.0.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_try_is_paid_with_what_it_cost() {
    let store = FakeStore::default();
    let account = AccountId { sweep: SWEEP.clone(), model: None };
    store.budget(&account, Money(10_000_000));
    let tries = tries_at(&store, 10, None, RETRIES);
    let (price, never) = (Price::per_mtok(1.0, 2.0), CancellationToken::new());
    let told = Usage { input: 5, output: 1, ..Usage::default() };
    let failures = [
        failure(ErrorClass::Timeout),
        Failure { usage: Some(told), ..failure(ErrorClass::BadResponse) },
        failure(ErrorClass::Server),
    ];
    let done = run_tries(&tries, paid(&account, &price, &never), &failures).await.unwrap();
    let costs: Vec<_> = done.tries.iter().map(|one| (one.cost, one.at_most)).collect();
    // The worst case is a hundred bytes and a hundred tokens; one failure reports five and one.
    assert_eq!(costs, [(None, Some(Money(300_000))), (Some(Money(7_000)), None), (None, None)]);
    assert_eq!(done.cost, Some(Money(30_000)));
    sleep(Duration::from_secs(10)).await;
    assert_eq!(store.account(&account), (Money(37_000), Money(300_000), Money::ZERO));
    store.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn a_broken_answer_of_a_tier_without_a_price_has_an_unknown_cost_and_an_account_pays_the_worst() {
    let store = FakeStore::default();
    let account = AccountId { sweep: SWEEP.clone(), model: None };
    store.budget(&account, Money(10_000_000));
    let tries = tries_at(&store, 10, None, RETRIES);
    let (price, never) = (Price::per_mtok(1.0, 2.0), CancellationToken::new());
    let told = Usage { input: 5, output: 1, ..Usage::default() };
    let failure = Failure { usage: Some(told), tier: Some("priority".into()), ..failure(ErrorClass::BadResponse) };
    let done = run_tries(&tries, paid(&account, &price, &never), &[failure]).await.unwrap();
    assert_eq!((done.tries[0].cost, done.tries[0].at_most), (None, Some(Money(300_000))));
    sleep(Duration::from_secs(10)).await;
    assert_eq!(store.account(&account), (Money(30_000), Money(300_000), Money::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_call_beyond_the_budget_is_not_sent() {
    let store = FakeStore::default();
    let account = AccountId { sweep: SWEEP.clone(), model: None };
    store.budget(&account, Money(250_000));
    let tries = tries_at(&store, 10, None, RETRIES);
    let (price, never) = (Price::per_mtok(1.0, 2.0), CancellationToken::new());
    let Err(GivenUp::Failed(made)) = run_tries(&tries, paid(&account, &price, &never), &[]).await else {
        panic!("it was sent");
    };
    assert_eq!(classes(&made), [ErrorClass::Budget]);
    let detail = "the budget of sweep s is used up: the call may cost $0.0003000, and $0.0002500 is left at most";
    assert_eq!(made[0].detail, detail);
    let context = paid(&account, &price, &never);
    let context = TryContext { payer: Payer { price: None, ..context.payer }, ..context };
    let Err(GivenUp::Failed(made)) = run_tries(&tries, context, &[]).await else { panic!("it was sent") };
    assert_eq!(classes(&made), [ErrorClass::Budget]);
    assert_eq!(made[0].detail, "the price of m is unknown, so the budget of sweep s does not allow it");
}
