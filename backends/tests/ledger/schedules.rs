//! Schedules: each tick is decided once, started once and ended once, whoever leads.

use jiff::Timestamp;
use regatta_backends::{
    Admission, MissedTicks, NewNotice, NewSchedule, PutSchedule, Quota, TickEnd, TickRow, TickState,
};
use regatta_proto::{Digest, Money, OwnerName, ScheduleName, SweepId, SweepState};

use crate::world::{World, at, new_schedule};

fn nightly() -> ScheduleName {
    "nightly".parse().unwrap()
}

async fn put(world: &World) -> ScheduleName {
    let name = nightly();
    let put = world.ledger.put_schedule(&new_schedule("nightly", "{}", 0), None).await;
    assert_eq!(put.unwrap(), PutSchedule::Created);
    name
}

fn due(from: Timestamp, until: Timestamp, ticks: &[Timestamp]) -> Admission {
    Admission { from, until, due: ticks.to_vec(), missed: vec![], replaced: vec![] }
}

fn end(from: TickState, to: TickState) -> TickEnd {
    TickEnd { from, to, at: at(9), reason: None, spent: None, outcome: None, is_judged: false, generation: None }
}

fn sweep(name: &str) -> (SweepId, Digest) {
    (name.parse().unwrap(), Digest::of(name.as_bytes()))
}

async fn states(world: &World) -> Vec<(Timestamp, TickState)> {
    let ticks = world.ledger.ticks(&nightly(), 100).await.unwrap();
    ticks.into_iter().map(|tick| (tick.at, tick.state)).collect()
}

pub(crate) async fn a_schedule_is_written_once_and_replaced_only_on_demand(world: World) {
    let ledger = &world.ledger;
    let put = async |document: &str, seconds, replaces: bool| {
        let seen = ledger.schedule(&nightly()).await.unwrap().filter(|_| replaces);
        ledger.put_schedule(&new_schedule("nightly", document, seconds), seen.as_ref()).await.unwrap()
    };
    assert_eq!(ledger.schedule(&nightly()).await.unwrap(), None);
    assert_eq!(put("{}", 1, false).await, PutSchedule::Created);
    assert_eq!(put("{}", 2, true).await, PutSchedule::Unchanged);
    assert_eq!(put("[]", 3, false).await, PutSchedule::Differs);
    let row = ledger.schedule(&nightly()).await.unwrap().unwrap();
    assert_eq!((row.document.as_str(), row.decided_until, row.is_paused, row.judged), ("{}", at(1), false, 0));
    assert_eq!(put("[]", 4, true).await, PutSchedule::Replaced);
    let row = ledger.schedule(&nightly()).await.unwrap().unwrap();
    assert_eq!((row.document.as_str(), row.decided_until), ("[]", at(4)));
    ledger.put_schedule(&new_schedule("a", "{}", 5), None).await.unwrap();
    let names: Vec<_> = ledger.schedules().await.unwrap().into_iter().map(|row| row.name.to_string()).collect();
    assert_eq!(names, ["a", "nightly"]);
    let after = async |name: Option<&str>, limit| {
        let name = name.map(|name| name.parse().unwrap());
        let rows = ledger.schedules_after(name.as_ref(), limit).await.unwrap();
        rows.into_iter().map(|row| row.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(after(None, 1).await, ["a"]);
    assert_eq!(after(Some("a"), 9).await, ["nightly"]);
    assert_eq!(after(Some("gone-meanwhile"), 9).await, ["nightly"]);
    assert_eq!(after(Some("nightly"), 9).await, [""; 0]);
}

pub(crate) async fn a_schedule_is_replaced_only_as_it_was_seen(world: World) {
    let (name, ledger) = (put(&world).await, &world.ledger);
    let (alice, bob) = ("alice".parse().unwrap(), "bob".parse().unwrap());
    let seen = ledger.schedule(&name).await.unwrap().unwrap();
    // Two people replace what both have seen: one does.
    let others = world.open().await;
    let (one, other) = (new_schedule("nightly", "[1]", 1), new_schedule("nightly", "[2]", 1));
    let (first, second) =
        futures::join!(ledger.put_schedule(&one, Some(&seen)), others.put_schedule(&other, Some(&seen)));
    let mut effects = [first.unwrap(), second.unwrap()];
    effects.sort_by_key(|effect| *effect == PutSchedule::Overtaken);
    assert_eq!(effects, [PutSchedule::Replaced, PutSchedule::Overtaken]);
    // It became somebody else's meanwhile, with the document that was seen.
    let seen = ledger.schedule(&name).await.unwrap().unwrap();
    ledger.delete_schedule(&name).await.unwrap();
    let of = |owner: &OwnerName, document: &str, at| NewSchedule {
        owner: Some(owner.clone()),
        at,
        ..new_schedule("nightly", document, 0)
    };
    ledger.put_schedule(&of(&bob, &seen.document, seen.created_at), None).await.unwrap();
    let effect = ledger.put_schedule(&of(&alice, "[3]", at(2)), Some(&seen)).await.unwrap();
    assert_eq!(effect, PutSchedule::Overtaken);
    let there = ledger.schedule(&name).await.unwrap().unwrap();
    assert_eq!((&there.document, there.owner), (&seen.document, Some(bob)));
    // What is gone is written anew, and belongs to who writes it.
    ledger.delete_schedule(&name).await.unwrap();
    let effect = ledger.put_schedule(&of(&alice, "[3]", at(3)), Some(&seen)).await.unwrap();
    assert_eq!(effect, PutSchedule::Created);
}

pub(crate) async fn a_pause_moves_the_clock_when_it_ends(world: World) {
    let (name, ledger, term) = (put(&world).await, &world.ledger, world.term().await);
    let clock = async || ledger.schedule(&name).await.unwrap().unwrap().decided_until;
    assert!(ledger.pause_schedule(&name, true, at(5)).await.unwrap());
    assert!(!ledger.admit_ticks(&name, &due(at(0), at(6), &[at(6)]), &[], term).await.unwrap(), "it is paused");
    assert_eq!(clock().await, at(0));
    assert!(ledger.pause_schedule(&name, false, at(7)).await.unwrap());
    assert_eq!(clock().await, at(7));
    assert!(ledger.pause_schedule(&name, false, at(8)).await.unwrap());
    assert_eq!(clock().await, at(7), "it was not paused");
    assert!(!ledger.pause_schedule(&"other".parse().unwrap(), true, at(9)).await.unwrap());
}

pub(crate) async fn ticks_are_decided_once(world: World) {
    let (name, ledger, term) = (put(&world).await, &world.ledger, world.term().await);
    let missed = MissedTicks { at: at(3), since: at(1), stands_for: 3, reason: "nobody was there".to_owned() };
    let admission = Admission { missed: vec![missed], ..due(at(0), at(5), &[at(4), at(5)]) };
    assert!(ledger.admit_ticks(&name, &admission, &[], term).await.unwrap());
    assert!(!ledger.admit_ticks(&name, &admission, &[], term).await.unwrap(), "its clock has moved on");
    let newer = Admission { replaced: vec![(at(4), "a newer one is due".to_owned())], ..due(at(5), at(6), &[at(6)]) };
    assert!(ledger.admit_ticks(&name, &newer, &[], term).await.unwrap());
    let expected =
        [(at(6), TickState::Due), (at(5), TickState::Due), (at(4), TickState::Missed), (at(3), TickState::Missed)];
    assert_eq!(states(&world).await, expected);
    let ticks = ledger.ticks(&name, 100).await.unwrap();
    assert_eq!((ticks[3].since, ticks[3].stands_for), (at(1), 3));
    assert_eq!(ticks[2].reason.as_deref(), Some("a newer one is due"));
    let open: Vec<_> = ledger.open_ticks(&name).await.unwrap().into_iter().map(|tick| tick.at).collect();
    assert_eq!(open, [at(5), at(6)]);
    assert_eq!(ledger.ticks(&name, 1).await.unwrap().len(), 1);
}

pub(crate) async fn a_tick_that_somebody_asks_for_is_added_once(world: World) {
    let (name, ledger) = (put(&world).await, &world.ledger);
    assert_eq!(ledger.add_tick(&name, at(3)).await.unwrap(), Some(true));
    assert_eq!(ledger.add_tick(&name, at(3)).await.unwrap(), Some(false));
    assert_eq!(ledger.add_tick(&"other".parse().unwrap(), at(3)).await.unwrap(), None);
    assert!(ledger.open_ticks(&name).await.unwrap()[0].by_hand);
}

pub(crate) async fn a_tick_is_started_once_and_never_beside_another_of_its_schedule(world: World) {
    let (name, ledger, term) = (put(&world).await, &world.ledger, world.term().await);
    ledger.admit_ticks(&name, &due(at(0), at(2), &[at(1), at(2)]), &[], term).await.unwrap();
    let start = async |tick, named: &str| {
        let (id, lock) = sweep(named);
        ledger.start_tick(&name, tick, (&id, &lock), at(3), term).await.unwrap()
    };
    assert!(!start(at(7), "none").await, "there is no such tick");
    assert!(start(at(1), "one").await);
    assert!(!start(at(1), "another").await);
    assert!(!start(at(2), "two").await, "the first one runs");
    let open = ledger.open_ticks(&name).await.unwrap();
    let TickRow { state, sweep: id, lock, started_at, .. } = &open[0];
    assert_eq!((*state, *started_at), (TickState::Running, Some(at(3))));
    assert_eq!((id.clone().unwrap(), lock.unwrap()), sweep("one"));
    assert!(ledger.end_tick(&name, at(1), &end(TickState::Running, TickState::Ended), &[], term).await.unwrap());
    assert!(start(at(2), "two").await);
}

pub(crate) async fn a_leader_whose_term_is_over_decides_starts_and_ends_nothing(world: World) {
    let name = put(&world).await;
    let ledger = &world.ledger;
    let lead = async |who: &str, seconds| {
        ledger.lead(&who.parse().unwrap(), std::time::Duration::from_secs(seconds)).await.unwrap().unwrap()
    };
    let old = lead("a", 0).await;
    let (one, two) = (due(at(0), at(1), &[at(1)]), due(at(1), at(2), &[at(2)]));
    assert!(ledger.admit_ticks(&name, &one, &[], old).await.unwrap());
    let new = lead("b", 3600).await;
    let (id, lock) = sweep("s");
    assert!(!ledger.admit_ticks(&name, &two, &[], old).await.unwrap());
    assert!(!ledger.start_tick(&name, at(1), (&id, &lock), at(3), old).await.unwrap());
    let refused = end(TickState::Due, TickState::Refused);
    assert!(!ledger.end_tick(&name, at(1), &refused, &[], old).await.unwrap());
    assert_eq!(states(&world).await, [(at(1), TickState::Due)]);
    assert!(ledger.start_tick(&name, at(1), (&id, &lock), at(3), new).await.unwrap());
}

pub(crate) async fn a_tick_ends_once_with_what_it_cost_and_its_notices(world: World) {
    let (name, ledger, term) = (put(&world).await, &world.ledger, world.term().await);
    ledger.admit_ticks(&name, &due(at(0), at(2), &[at(1), at(2)]), &[], term).await.unwrap();
    let (id, lock) = sweep("s");
    ledger.start_tick(&name, at(1), (&id, &lock), at(3), term).await.unwrap();
    let ended = TickEnd {
        spent: Some(Money(7)),
        outcome: Some("{}".to_owned()),
        is_judged: true,
        ..end(TickState::Running, TickState::Ended)
    };
    let notice = NewNotice { id: "n".to_owned(), channel: "webhook/ci".to_owned(), body: "GO".to_owned() };
    let notices = std::slice::from_ref(&notice);
    assert!(ledger.end_tick(&name, at(1), &ended, notices, term).await.unwrap());
    assert!(!ledger.end_tick(&name, at(1), &ended, notices, term).await.unwrap());
    let reason = Some("there is no money".to_owned());
    let refused = TickEnd { reason: reason.clone(), ..end(TickState::Due, TickState::Refused) };
    assert!(ledger.end_tick(&name, at(2), &refused, &[], term).await.unwrap());
    let ticks = ledger.ticks(&name, 9).await.unwrap();
    assert_eq!((ticks[0].state, &ticks[0].reason), (TickState::Refused, &reason));
    assert_eq!((ticks[1].spent, ticks[1].outcome.as_deref()), (Some(Money(7)), Some("{}")));
    assert_eq!(ledger.schedule(&name).await.unwrap().unwrap().judged, 1);
    assert_eq!(ledger.spent_since(&name, at(1)).await.unwrap(), Money(7));
    assert_eq!(ledger.spent_since(&name, at(2)).await.unwrap(), Money::ZERO);
    assert_eq!(ledger.waiting_notices(at(9), 9).await.unwrap().len(), 1);
}

pub(crate) async fn a_sweep_that_is_resumed_has_its_tick_run_again(world: World) {
    let (name, ledger, term) = (put(&world).await, &world.ledger, world.term().await);
    ledger.admit_ticks(&name, &due(at(0), at(1), &[at(1)]), &[], term).await.unwrap();
    let (id, lock) = sweep("s");
    ledger.start_tick(&name, at(1), (&id, &lock), at(3), term).await.unwrap();
    ledger.end_tick(&name, at(1), &end(TickState::Running, TickState::Ended), &[], term).await.unwrap();
    for name in ["other", "s"] {
        assert_eq!(states(&world).await, [(at(1), TickState::Ended)]);
        let id = world.sweep(name, 1, 1).await;
        ledger.transition(&id, &[SweepState::Running], SweepState::Cancelled, at(4)).await.unwrap();
        let resumed = ledger.resume(&id, SweepState::Cancelled, None, Quota::default()).await.unwrap();
        assert!(resumed.is_some());
    }
    assert_eq!(states(&world).await, [(at(1), TickState::Running)]);
}

/// As when somebody resumes it while its gate is asked.
pub(crate) async fn the_tick_of_a_sweep_that_was_resumed_meanwhile_goes_on(world: World) {
    let (name, ledger, term) = (put(&world).await, &world.ledger, world.term().await);
    ledger.admit_ticks(&name, &due(at(0), at(1), &[at(1)]), &[], term).await.unwrap();
    let (_, lock) = sweep("s");
    let id = world.sweep("s", 1, 1).await;
    ledger.start_tick(&name, at(1), (&id, &lock), at(3), term).await.unwrap();
    ledger.transition(&id, &[SweepState::Running], SweepState::Cancelled, at(4)).await.unwrap();
    let of = |generation| TickEnd {
        generation: Some(generation),
        spent: Some(Money(7)),
        ..end(TickState::Running, TickState::Ended)
    };
    assert!(ledger.resume(&id, SweepState::Cancelled, None, Quota::default()).await.unwrap().is_some());
    assert!(!ledger.end_tick(&name, at(1), &of(0), &[], term).await.unwrap());
    assert_eq!(states(&world).await, [(at(1), TickState::Running)]);
    assert!(ledger.end_tick(&name, at(1), &of(1), &[], term).await.unwrap());
    assert_eq!(states(&world).await, [(at(1), TickState::Ended)]);
}

pub(crate) async fn a_notice_waits_until_it_is_sent_or_given_up(world: World) {
    let (name, ledger, term) = (put(&world).await, &world.ledger, world.term().await);
    let notice = |id: &str| NewNotice { id: id.to_owned(), channel: "webhook/ci".to_owned(), body: "{}".to_owned() };
    let admission = due(at(0), at(1), &[]);
    ledger.admit_ticks(&name, &admission, &[notice("a"), notice("b"), notice("a")], term).await.unwrap();
    let waiting = async |seconds| {
        let rows = ledger.waiting_notices(at(seconds), 9).await.unwrap();
        rows.into_iter().map(|row| (row.id, row.tries)).collect::<Vec<_>>()
    };
    assert_eq!(waiting(0).await, []);
    assert_eq!(waiting(1).await, [("a".to_owned(), 0), ("b".to_owned(), 0)]);
    ledger.notice_sent("a").await.unwrap();
    ledger.notice_failed("b", "refused", Some(at(5))).await.unwrap();
    assert_eq!(waiting(4).await, []);
    assert_eq!(waiting(5).await, [("b".to_owned(), 1)]);
    ledger.notice_failed("b", "refused", None).await.unwrap();
    assert_eq!(waiting(99).await, []);
}

pub(crate) async fn a_schedule_that_is_deleted_takes_its_ticks_with_it(world: World) {
    let (name, ledger, term) = (put(&world).await, &world.ledger, world.term().await);
    let notice = NewNotice { id: "a".to_owned(), channel: "webhook/ci".to_owned(), body: "{}".to_owned() };
    ledger.admit_ticks(&name, &due(at(0), at(1), &[at(1)]), &[notice], term).await.unwrap();
    assert!(ledger.delete_schedule(&name).await.unwrap());
    assert!(!ledger.delete_schedule(&name).await.unwrap());
    assert_eq!(states(&world).await, []);
    assert_eq!(ledger.waiting_notices(at(9), 9).await.unwrap(), []);
}
