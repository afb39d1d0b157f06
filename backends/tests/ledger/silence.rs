//! Questions of which no worker tells.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use regatta_backends::ledger::Held;
use regatta_backends::{Ledger, OpenQuestion, Quota, Silence};
use regatta_proto::{ModelRef, SweepId};

use crate::world::{HERE, World, answerer, judge, question, questions};

/// Longer than any test.
const LONG: Duration = Duration::from_secs(3600);
/// Time without a word after which a question is silent in these tests.
const WITHIN: Duration = Duration::from_millis(50);
const SILENCE: Silence = Silence { within: WITHIN, in_doubt: false };

fn open(text: &str) -> OpenQuestion {
    OpenQuestion { judge: judge(), question: question(text) }
}

/// As many as `texts`, ordered as the ledger does.
fn all_open(texts: &[&str]) -> Vec<OpenQuestion> {
    let open: BTreeSet<OpenQuestion> = texts.iter().map(|text| open(text)).collect();
    open.into_iter().collect()
}

async fn silent(ledger: &Ledger, sweep: &SweepId, within: Duration) -> Vec<OpenQuestion> {
    ledger.silent_questions(sweep, &[judge()], Silence { within, in_doubt: false }, 100).await.unwrap()
}

async fn until_silent(ledger: &Ledger, sweep: &SweepId, texts: &[&str]) {
    while silent(ledger, sweep, WITHIN).await != all_open(texts) {}
}

/// Repeats `done`, until it took less time than a question needs to be silent, and returns what it found. It is done with a sweep that `prepare`
/// makes for each time: of a question of which somebody has just told, nobody needs to be told again.
async fn at_once<T>(prepare: impl AsyncFn(u32) -> SweepId, done: impl AsyncFn(&SweepId) -> T) -> T {
    let mut time = 0;
    loop {
        let sweep = prepare(time).await;
        let begun = Instant::now();
        let found = done(&sweep).await;
        if begun.elapsed() < WITHIN {
            return found;
        }
        time += 1;
    }
}

/// Another sweep, whose questions `texts` are claimed and silent.
async fn silent_sweep(world: &World, time: u32, texts: &[&str]) -> SweepId {
    let sweep = world.sweep(&format!("silent-{time}"), 1, 1).await;
    world.ledger.claim_questions(&sweep, &judge(), answerer(HERE), &questions(texts)).await.unwrap();
    until_silent(&world.ledger, &sweep, texts).await;
    sweep
}

async fn tell(ledger: &Ledger, sweep: &SweepId, is_named: bool, texts: &[&str]) {
    let worker = "w".parse().unwrap();
    let mut held = BTreeSet::from([Held::Questions { sweep: sweep.clone(), worker, generation: 0, is_named }]);
    held.extend(texts.iter().map(|text| Held::Question(sweep.clone(), open(text))));
    ledger.record_held(held).await.unwrap();
}

pub(crate) async fn a_question_is_silent_a_while_after_it_was_claimed_and_last_told_of(world: World) {
    let (sweep, other) = (world.sweep("s", 1, 1).await, world.sweep("t", 1, 1).await);
    let ledger = &world.ledger;
    let another: ModelRef = "judges/other".parse().unwrap();
    for (sweep, judge, texts) in
        [(&sweep, judge(), &["a", "b", "c"][..]), (&sweep, another.clone(), &["d"]), (&other, judge(), &["a"])]
    {
        ledger.claim_questions(sweep, &judge, answerer(HERE), &questions(texts)).await.unwrap();
    }
    assert_eq!(silent(ledger, &sweep, LONG).await, []);
    until_silent(ledger, &sweep, &["a", "b", "c"]).await;
    let told = at_once(
        async |time| silent_sweep(&world, time, &["a", "b", "c"]).await,
        async |sweep| {
            tell(ledger, sweep, true, &["a", "never claimed"]).await;
            silent(ledger, sweep, WITHIN).await
        },
    );
    assert_eq!(told.await, all_open(&["b", "c"]));
    until_silent(ledger, &other, &["a"]).await;
    until_silent(ledger, &sweep, &["a", "b", "c"]).await;
    let of_both = ledger.silent_questions(&sweep, &[judge(), another], SILENCE, 100).await.unwrap();
    assert_eq!(of_both.len(), 4);
    assert_eq!(ledger.silent_questions(&sweep, &[judge()], SILENCE, 2).await.unwrap(), all_open(&["a", "b", "c"])[..2]);
    assert_eq!(ledger.silent_questions(&sweep, &[], SILENCE, 2).await.unwrap(), []);

    ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap();
    assert_eq!(silent(ledger, &sweep, WITHIN).await, [], "these are of before the resume");
}

pub(crate) async fn no_question_is_silent_while_a_worker_holds_some_that_it_does_not_name(world: World) {
    let (sweep, other) = (world.sweep("s", 1, 1).await, world.sweep("t", 1, 1).await);
    let ledger = &world.ledger;
    ledger.claim_questions(&sweep, &judge(), answerer(HERE), &questions(&["a"])).await.unwrap();
    until_silent(ledger, &sweep, &["a"]).await;
    let silent_after = async |of: &SweepId, is_named| {
        let done = async |sweep: &SweepId| {
            tell(ledger, of, is_named, &[]).await;
            silent(ledger, sweep, WITHIN).await
        };
        at_once(async |_| sweep.clone(), done).await
    };
    assert_eq!(silent_after(&sweep, true).await, all_open(&["a"]));
    assert_eq!(silent_after(&other, false).await, all_open(&["a"]), "questions of another sweep");
    assert_eq!(silent_after(&sweep, false).await, []);
    assert_eq!(silent_after(&sweep, true).await, all_open(&["a"]), "the worker was replaced");
}

pub(crate) async fn silent_questions_are_released_by_who_leads_unless_somebody_told_of_them(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let ledger = &world.ledger;
    let claim =
        async |texts| ledger.claim_questions(&sweep, &judge(), answerer(HERE), &questions(texts)).await.unwrap();
    let first = claim(&["a", "b", "c"]).await;
    until_silent(ledger, &sweep, &["a", "b", "c"]).await;
    let over = ledger.lead(&"before".parse().unwrap(), Duration::ZERO).await.unwrap().unwrap();
    let term = world.term().await;
    let suspects = all_open(&["a", "b", "never claimed"]);
    assert_eq!(ledger.release_silent_questions(&sweep, &suspects, SILENCE, over).await.unwrap(), None);
    assert_eq!(claim(&["a", "b", "c"]).await.questions, []);
    let released = at_once(
        async |time| silent_sweep(&world, time, &["a"]).await,
        async |sweep| {
            tell(ledger, sweep, true, &["a"]).await;
            ledger.release_silent_questions(sweep, &all_open(&["a"]), SILENCE, term).await.unwrap()
        },
    );
    assert_eq!(released.await, Some(0), "a worker has told of it");
    until_silent(ledger, &sweep, &["a", "b", "c"]).await;
    assert_eq!(ledger.release_silent_questions(&sweep, &suspects, SILENCE, term).await.unwrap(), Some(2));

    let second = claim(&["a", "b", "c"]).await;
    assert_eq!(second.questions, questions(&["a", "b"]));
    assert_ne!(second.mark, first.mark);
    ledger.release_questions(&sweep, &judge(), &first).await.unwrap();
    assert_eq!(
        claim(&["a", "b", "c"]).await.questions,
        questions(&["c"]),
        "the first claim is of nothing else any more"
    );
    ledger.release_questions(&sweep, &judge(), &second).await.unwrap();
    assert_eq!(claim(&["a", "b", "c"]).await.questions, questions(&["a", "b"]));
}

pub(crate) async fn a_question_is_in_doubt_until_it_is_confirmed_or_a_worker_tells_of_it(world: World) {
    let sweep = world.sweep("s", 1, 1).await;
    let ledger = &world.ledger;
    let claim =
        async |texts| ledger.claim_questions(&sweep, &judge(), answerer(HERE), &questions(texts)).await.unwrap();
    let doubtful = Silence { within: WITHIN, in_doubt: true };
    let in_doubt = async || ledger.silent_questions(&sweep, &[judge()], doubtful, 100).await.unwrap();
    let (asked, first) = (claim(&["a"]).await, claim(&["b", "c"]).await);
    until_silent(ledger, &sweep, &["a", "b", "c"]).await;
    let all = all_open(&["a", "b", "c"]);
    assert_eq!(in_doubt().await, all, "who claimed them may have ended before they were asked");
    ledger.confirm_questions(&sweep, &judge(), &asked).await.unwrap();
    assert_eq!(in_doubt().await, all_open(&["b", "c"]));
    tell(ledger, &sweep, true, &["b"]).await;
    until_silent(ledger, &sweep, &["a", "b", "c"]).await;
    assert_eq!(in_doubt().await, all_open(&["c"]), "a worker had the job of the other one");
    let term = world.term().await;
    assert_eq!(ledger.release_silent_questions(&sweep, &all, doubtful, term).await.unwrap(), Some(1));
    assert_eq!(claim(&["a", "b", "c"]).await.questions, questions(&["c"]));
    // Whose claim is over confirms nothing of the next one.
    ledger.confirm_questions(&sweep, &judge(), &first).await.unwrap();
    until_silent(ledger, &sweep, &["a", "b", "c"]).await;
    assert_eq!(in_doubt().await, all_open(&["c"]));
}

pub(crate) async fn with_what_was_dispatched_the_questions_are_released_that_were_silent_and_no_others(world: World) {
    let (ledger, term) = (&world.ledger, world.term().await);
    let claim = async |sweep: &SweepId, texts: &[&str]| {
        ledger.claim_questions(sweep, &judge(), answerer(HERE), &questions(texts)).await.unwrap().questions
    };
    let released = at_once(
        async |time| silent_sweep(&world, time, &["silent", "told of"]).await,
        async |sweep| {
            tell(ledger, sweep, true, &["told of"]).await;
            claim(sweep, &["young"]).await;
            ledger.reset_dispatch(sweep, WITHIN, term).await.unwrap();
            claim(sweep, &["silent", "told of", "young"]).await
        },
    );
    assert_eq!(released.await, questions(&["silent"]), "workers may have the jobs of the others");

    let sweep = world.sweep("unnamed", 1, 1).await;
    claim(&sweep, &["a"]).await;
    let released = at_once(
        async |_| {
            until_silent(ledger, &sweep, &["a"]).await;
            sweep.clone()
        },
        async |sweep| {
            tell(ledger, sweep, false, &[]).await;
            ledger.reset_dispatch(sweep, WITHIN, term).await.unwrap();
            claim(sweep, &["a"]).await
        },
    );
    assert_eq!(released.await, [], "a worker may have it that does not name it");

    // Claims of before a resume are as lost as others.
    ledger.reopen_unmeasured(&sweep, Quota::default()).await.unwrap();
    claim(&sweep, &["b"]).await;
    ledger.reset_dispatch(&sweep, Duration::ZERO, term).await.unwrap();
    assert_eq!(claim(&sweep, &["a", "b"]).await, questions(&["a", "b"]));
}
