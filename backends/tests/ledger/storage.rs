//! Objects that people store, their owners' charges, and removals.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use jiff::Timestamp;
use regatta_backends::ledger::Created;
use regatta_backends::{
    Credits, EndedUse, Ledger, LedgerError, NewSchedule, NewSweep, NewToken, OBJECT_BYTES_MIN, ObjectState, ObjectUses,
    PutSchedule, REMOVAL_MAX, StorageQuota,
};
use regatta_proto::{OwnerName, SweepId};

use crate::identity::{owner, token};
use crate::world::{World, at, new_schedule, new_sweep};

const MIB: u64 = 1 << 20;

fn limit(bytes: u64) -> StorageQuota {
    StorageQuota { bytes: Some(bytes) }
}

/// An upload of `name`'s at `second`.
fn upload(name: &str, objects: &[(&str, u64)], second: i64) -> ObjectUses {
    ObjectUses {
        owner: Some(owner(name)),
        objects: objects.iter().map(|(key, bytes)| ((*key).to_owned(), Some(*bytes))).collect(),
        is_upload: true,
        quota: StorageQuota::default(),
        at: at(second),
    }
}

/// The same, of whoever only refers to what others have stored.
fn reference(name: &str, keys: &[&str], second: i64) -> ObjectUses {
    let objects = keys.iter().map(|key| ((*key).to_owned(), None)).collect();
    ObjectUses { objects, is_upload: false, ..upload(name, &[], second) }
}

fn keys(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Has `name` store an object.
async fn store(ledger: &Ledger, name: &str, key: &str, bytes: u64, second: i64) {
    assert!(ledger.begin_uses(upload(name, &[(key, bytes)], second)).await.unwrap().is_empty());
    ledger.end_uses(&owner(name), &keys(&[key]), true).await.unwrap();
}

async fn stored(ledger: &Ledger, name: &str) -> u64 {
    let owners = ledger.owners().await.unwrap();
    owners.iter().find(|row| row.owner.as_str() == name).map_or(0, |row| row.stored_bytes)
}

/// Objects as they are read now, with the time of their last use.
async fn seen(ledger: &Ledger) -> BTreeMap<String, Timestamp> {
    let rows = ledger.idle_objects(at(1_000_000), None, 1000).await.unwrap();
    rows.into_iter().map(|row| (row.key, row.used_at)).collect()
}

fn credits(of: &[(&str, u64)]) -> Credits {
    of.iter().map(|(name, bytes)| (owner(name), *bytes)).collect()
}

pub(crate) async fn an_object_is_charged_once_to_each_owner_who_uses_it(world: World) {
    let ledger = &world.ledger;
    for second in [1, 2] {
        store(ledger, "alice", "content/a", 3 * MIB, second).await;
    }
    store(ledger, "bob", "content/a", 3 * MIB, 3).await;
    assert_eq!(ledger.begin_uses(reference("carol", &["content/a", "content/b"], 4)).await.unwrap(), ["content/b"]);
    ledger.end_uses(&owner("carol"), &keys(&["content/a", "content/b"]), true).await.unwrap();
    let nobodys = ObjectUses { owner: None, ..upload("alice", &[("content/c", 7)], 5) };
    assert!(ledger.begin_uses(nobodys).await.unwrap().is_empty());
    let owners = ledger.owners().await.unwrap();
    let told: Vec<_> = owners.iter().map(|row| (row.owner.as_str(), row.stored_bytes)).collect();
    assert_eq!(told, [("alice", 3 * MIB), ("bob", 3 * MIB), ("carol", 3 * MIB)]);
    let rows = ledger.idle_objects(at(9), None, 9).await.unwrap();
    let read: Vec<_> = rows
        .iter()
        .map(|row| {
            let uses: Vec<_> = row.uses.iter().map(|of| (of.owner.as_str(), of.bytes, of.used_at)).collect();
            (row.key.as_str(), row.bytes, row.used_at, uses)
        })
        .collect();
    let uses = vec![("alice", 3 * MIB, at(2)), ("bob", 3 * MIB, at(3)), ("carol", 3 * MIB, at(4))];
    assert_eq!(read, [("content/a", 3 * MIB, at(4), uses), ("content/c", 7, at(5), vec![])]);
}

pub(crate) async fn a_small_object_is_charged_as_a_block(world: World) {
    let ledger = &world.ledger;
    store(ledger, "alice", "content/a", 0, 1).await;
    store(ledger, "alice", "content/b", OBJECT_BYTES_MIN + 1, 1).await;
    assert_eq!(stored(ledger, "alice").await, 2 * OBJECT_BYTES_MIN + 1);
}

pub(crate) async fn what_leads_beyond_a_storage_quota_is_refused_as_a_whole(world: World) {
    let ledger = &world.ledger;
    ledger.set_quota(&owner("alice"), None, Some(limit(10 * MIB))).await.unwrap();
    store(ledger, "alice", "content/a", 6 * MIB, 1).await;
    store(ledger, "bob", "content/b", 6 * MIB, 1).await;
    let two = upload("alice", &[("content/c", MIB), ("content/d", 4 * MIB)], 2);
    for refused in [two.clone(), reference("alice", &["content/b"], 2)] {
        let error = ledger.begin_uses(refused).await.unwrap_err();
        assert!(matches!(&error, LedgerError::StorageExceeded { stored, .. } if stored == "6.0 MiB"), "{error}");
        assert!(!error.is_refusal());
    }
    assert_eq!(stored(ledger, "alice").await, 6 * MIB);
    assert_eq!(seen(ledger).await.into_keys().collect::<Vec<_>>(), ["content/a", "content/b"]);
    // The lower quota counts; one that is lower than what is stored refuses nothing that needs no more.
    let fits = upload("alice", &[("content/c", MIB)], 3);
    assert!(ledger.begin_uses(ObjectUses { quota: limit(6 * MIB), ..fits.clone() }).await.is_err());
    ledger.begin_uses(ObjectUses { quota: limit(100 * MIB), ..fits }).await.unwrap();
    ledger.set_quota(&owner("alice"), None, Some(limit(0))).await.unwrap();
    store(ledger, "alice", "content/a", 6 * MIB, 4).await;
    ledger.set_quota(&owner("alice"), None, Some(StorageQuota::default())).await.unwrap();
    assert!(ledger.begin_uses(two).await.unwrap().is_empty());
}

pub(crate) async fn quotas_of_an_owner_are_set_apart(world: World) {
    let ledger = &world.ledger;
    let granted = regatta_backends::Quota { budget: None, sessions: Some(7) };
    ledger.set_quota(&owner("alice"), Some(granted), None).await.unwrap();
    ledger.set_quota(&owner("alice"), None, Some(limit(5))).await.unwrap();
    ledger.create_token(NewToken { owner: owner("bob"), storage: Some(limit(3)), ..token("t1") }).await.unwrap();
    ledger.create_token(NewToken { owner: owner("bob"), ..token("t2") }).await.unwrap();
    ledger.set_quota(&owner("alice"), Some(granted), None).await.unwrap();
    let owners = ledger.owners().await.unwrap();
    let told: Vec<_> = owners.iter().map(|row| (row.owner.as_str(), row.quota.sessions, row.storage.bytes)).collect();
    assert_eq!(told, [("alice", Some(7), Some(5)), ("bob", None, Some(3))]);
}

pub(crate) async fn of_uploads_at_once_none_slips_beyond_a_storage_quota(world: World) {
    let ledger = &world.ledger;
    let uploads = join_all((0..8).map(async |number| {
        let key = format!("content/{number}");
        let quota = limit(3 * MIB);
        ledger.begin_uses(ObjectUses { quota, ..upload("alice", &[(&key, MIB)], 1) }).await
    }));
    let refused = uploads.await.into_iter().filter_map(Result::err).inspect(|error| {
        assert!(matches!(error, LedgerError::StorageExceeded { .. }), "{error}");
    });
    assert_eq!(refused.count(), 5);
    assert_eq!(stored(ledger, "alice").await, 3 * MIB);
}

pub(crate) async fn of_several_who_store_the_same_at_once_each_is_charged_once(world: World) {
    let ledger = &world.ledger;
    let all = [("content/a", MIB), ("content/b", MIB), ("content/c", MIB)];
    join_all((0..9).map(async |number| {
        let name = ["alice", "bob", "carol"][number % 3];
        ledger.begin_uses(upload(name, &all[number / 4..], 1)).await.unwrap();
        let keys: Vec<String> = all[number / 4..].iter().map(|(key, _)| (*key).to_owned()).collect();
        ledger.end_uses(&owner(name), &keys, true).await.unwrap();
    }))
    .await;
    let owners = ledger.owners().await.unwrap();
    assert_eq!(owners.iter().map(|row| row.stored_bytes).collect::<Vec<_>>(), [3 * MIB; 3]);
    assert_eq!(seen(ledger).await.len(), 3);
}

pub(crate) async fn an_upload_that_fails_gives_its_charge_back_unless_another_of_the_same_succeeds(world: World) {
    let (ledger, alice) = (&world.ledger, owner("alice"));
    let (one, all) = (upload("alice", &[("content/a", MIB), ("content/b", MIB)], 1), keys(&["content/a", "content/b"]));
    ledger.begin_uses(one.clone()).await.unwrap();
    ledger.end_uses(&alice, &all, false).await.unwrap();
    assert_eq!(stored(ledger, "alice").await, 0);
    // Of two at once the first one to fail leaves the charge to the other.
    for _ in 0..2 {
        ledger.begin_uses(one.clone()).await.unwrap();
    }
    ledger.end_uses(&alice, &all, false).await.unwrap();
    assert_eq!(stored(ledger, "alice").await, 2 * MIB);
    ledger.end_uses(&alice, &all, false).await.unwrap();
    assert_eq!(stored(ledger, "alice").await, 0);
    // Once it is stored, no later failure takes it back.
    for _ in 0..3 {
        ledger.begin_uses(one.clone()).await.unwrap();
    }
    for succeeded in [false, true, false] {
        ledger.end_uses(&alice, &all, succeeded).await.unwrap();
    }
    ledger.begin_uses(one).await.unwrap();
    ledger.end_uses(&alice, &all, false).await.unwrap();
    assert_eq!(stored(ledger, "alice").await, 2 * MIB);
    ledger.end_uses(&owner("bob"), &all, false).await.unwrap();
}

pub(crate) async fn a_removal_credits_all_owners(world: World) {
    let ledger = &world.ledger;
    store(ledger, "alice", "content/a", MIB, 1).await;
    store(ledger, "bob", "content/a", MIB, 1).await;
    store(ledger, "bob", "content/b", MIB, 1).await;
    let mut going = seen(ledger).await;
    going.remove("content/b");
    assert_eq!(ledger.begin_object_removal(&going, at(5)).await.unwrap(), ["content/a"]);
    assert_eq!(stored(ledger, "alice").await, MIB, "it is still there");
    let states = ledger.object_states(&keys(&["content/a", "content/b", "content/c"])).await.unwrap();
    let expected = [("content/a".to_owned(), ObjectState::Removing), ("content/b".to_owned(), ObjectState::Stored)];
    assert_eq!(states, BTreeMap::from(expected));
    let of_another = ledger.finish_object_removal(&keys(&["content/a", "content/b"]), at(6)).await.unwrap();
    assert_eq!(of_another, Credits::new(), "none of them was marked then");
    let credited = ledger.finish_object_removal(&keys(&["content/a", "content/b"]), at(5)).await.unwrap();
    assert_eq!(credited, credits(&[("alice", MIB), ("bob", MIB)]));
    assert_eq!((stored(ledger, "alice").await, stored(ledger, "bob").await), (0, MIB));
    assert_eq!(seen(ledger).await.into_keys().collect::<Vec<_>>(), ["content/b"]);
}

pub(crate) async fn what_was_used_since_it_was_read_is_not_removed(world: World) {
    let ledger = &world.ledger;
    for key in ["content/a", "content/b", "content/c", "content/d"] {
        store(ledger, "alice", key, MIB, 1).await;
    }
    let before = seen(ledger).await;
    // Also where no clock has moved.
    store(ledger, "alice", "content/a", MIB, 1).await;
    ledger.begin_uses(reference("bob", &["content/b"], 1)).await.unwrap();
    let inputs = BTreeSet::from(["content/c".to_owned()]);
    ledger.create_sweep(NewSweep { inputs, created_at: at(1), ..new_sweep("s", 1, 1) }).await.unwrap();
    assert_eq!(ledger.begin_object_removal(&before, at(5)).await.unwrap(), ["content/d"]);
}

pub(crate) async fn an_object_that_is_being_removed_is_not_referred_to_and_stored_again_once_it_is_gone(world: World) {
    let (ledger, alice) = (&world.ledger, owner("alice"));
    store(ledger, "alice", "content/a", MIB, 1).await;
    let going = BTreeMap::from([("content/a".to_owned(), at(1))]);
    assert_eq!(ledger.begin_object_removal(&going, at(5)).await.unwrap().len(), 1);
    let later = 5 + REMOVAL_MAX.as_secs();
    for refused in [
        reference("bob", &["content/a"], 6),
        upload("alice", &[("content/a", MIB)], later - 1),
        reference("alice", &["content/a"], later + 99),
    ] {
        let error = ledger.begin_uses(refused).await.unwrap_err();
        assert!(matches!(&error, LedgerError::ObjectRemoved { key } if key == "content/a"), "{error}");
    }
    assert_eq!(ledger.begin_object_removal(&going, at(later - 1)).await.unwrap(), [""; 0], "somebody else is at it");
    ledger.finish_object_removal(&keys(&["content/a"]), at(5)).await.unwrap();
    store(ledger, "alice", "content/a", MIB, 7).await;
    assert_eq!(stored(ledger, "alice").await, MIB);
    // A removal that was begun and has died is taken over by whoever stores the object, or removes it.
    let going = seen(ledger).await;
    ledger.begin_object_removal(&going, at(10)).await.unwrap();
    let died = 10 + REMOVAL_MAX.as_secs();
    assert_eq!(ledger.begin_object_removal(&going, at(died)).await.unwrap().len(), 1);
    ledger.begin_uses(upload("alice", &[("content/a", MIB)], died + REMOVAL_MAX.as_secs())).await.unwrap();
    ledger.end_uses(&alice, &keys(&["content/a"]), true).await.unwrap();
    assert_eq!(ledger.finish_object_removal(&keys(&["content/a"]), at(died)).await.unwrap(), Credits::new());
    assert_eq!(stored(ledger, "alice").await, MIB);
}

pub(crate) async fn an_owner_who_refers_to_an_object_no_more_is_credited_and_it_stays(world: World) {
    let ledger = &world.ledger;
    for (name, second) in [("alice", 1), ("bob", 2), ("carol", 1)] {
        store(ledger, name, "content/a", MIB, second).await;
    }
    let ended = |name: &str| EndedUse { key: "content/a".to_owned(), owner: owner(name), used_at: at(1) };
    let uses = vec![ended("alice"), ended("bob"), ended("dora")];
    assert_eq!(ledger.release_uses(uses.clone()).await.unwrap(), credits(&[("alice", MIB)]));
    assert_eq!(ledger.release_uses(uses).await.unwrap(), Credits::new());
    let left = [stored(ledger, "alice").await, stored(ledger, "bob").await, stored(ledger, "carol").await];
    assert_eq!(left, [0, MIB, MIB]);
    assert_eq!(seen(ledger).await.len(), 1);
}

pub(crate) async fn a_sweep_is_created_only_with_inputs_that_are_there(world: World) {
    let ledger = &world.ledger;
    for key in ["content/a", "content/b"] {
        store(ledger, "alice", key, MIB, 1).await;
    }
    let of = |keys: &[&str]| NewSweep {
        inputs: keys.iter().map(|key| (*key).to_owned()).collect(),
        owner: Some(owner("alice")),
        ..new_sweep("s", 1, 1)
    };
    let going = BTreeMap::from([("content/b".to_owned(), at(1))]);
    ledger.begin_object_removal(&going, at(5)).await.unwrap();
    for gone in ["content/b", "content/c"] {
        let error = ledger.create_sweep(of(&["content/a", gone])).await.unwrap_err();
        assert!(matches!(&error, LedgerError::ObjectRemoved { key } if key == gone), "{error}");
    }
    assert_eq!(ledger.sweep(&SweepId::new("s").unwrap()).await.unwrap(), None);
    assert_eq!(ledger.owners().await.unwrap()[0].granted_sessions, 0);
    assert_eq!(ledger.create_sweep(of(&["content/a"])).await.unwrap(), Created::New);
    // One that is there already has its inputs, whatever is asked for now.
    assert_eq!(ledger.create_sweep(of(&["content/b"])).await.unwrap(), Created::AlreadyThere);
}

pub(crate) async fn a_schedule_is_written_only_with_inputs_that_are_there(world: World) {
    let ledger = &world.ledger;
    for key in ["content/a", "content/b"] {
        store(ledger, "alice", key, MIB, 1).await;
    }
    let of = |document: &str, keys: &[&str]| NewSchedule {
        inputs: keys.iter().map(|key| (*key).to_owned()).collect(),
        ..new_schedule("nightly", document, 9)
    };
    let going = BTreeMap::from([("content/b".to_owned(), at(1))]);
    ledger.begin_object_removal(&going, at(5)).await.unwrap();
    for gone in ["content/b", "content/c"] {
        let error = ledger.put_schedule(&of("{}", &["content/a", gone]), None).await.unwrap_err();
        assert!(matches!(&error, LedgerError::ObjectRemoved { key } if key == gone), "{error}");
    }
    assert_eq!(ledger.schedules().await.unwrap(), []);
    assert_eq!(ledger.put_schedule(&of("{}", &["content/a"]), None).await.unwrap(), PutSchedule::Created);
    // Whoever has read it before does not remove it.
    let going = BTreeMap::from([("content/a".to_owned(), at(1))]);
    assert_eq!(ledger.begin_object_removal(&going, at(10)).await.unwrap(), [""; 0]);
    let seen = ledger.schedules().await.unwrap().remove(0);
    assert!(ledger.put_schedule(&of("[]", &["content/b"]), Some(&seen)).await.is_err());
    assert_eq!(ledger.schedules().await.unwrap(), std::slice::from_ref(&seen));
    // Nothing is written, so that nothing is missing.
    assert_eq!(ledger.put_schedule(&of("[]", &["content/b"]), None).await.unwrap(), PutSchedule::Differs);
}

pub(crate) async fn of_a_removal_and_a_submission_at_once_one_fails(world: World) {
    let ledger = &world.ledger;
    for number in 0..20 {
        let key = format!("content/{number}");
        store(ledger, "alice", &key, MIB, 1).await;
        let going = BTreeMap::from([(key.clone(), at(1))]);
        let sweep = NewSweep { inputs: BTreeSet::from([key.clone()]), ..new_sweep(&format!("s{number}"), 1, 1) };
        let (marked, created) = tokio::join!(ledger.begin_object_removal(&going, at(5)), ledger.create_sweep(sweep));
        assert_eq!(marked.unwrap().is_empty(), created.is_ok(), "one of both, and not both");
    }
}

pub(crate) async fn idle_objects_are_read_by_key_page_by_page(world: World) {
    let ledger = &world.ledger;
    for (key, second) in [("locks/a", 1), ("content/b", 3), ("content/a", 5), ("content/B", 2), ("content/é", 1)] {
        store(ledger, "alice", key, MIB, second).await;
    }
    // Used lately by bob, and not by alice.
    store(ledger, "bob", "content/b", MIB, 9).await;
    let page = async |after: Option<&str>, limit| {
        let rows = ledger.idle_objects(at(3), after, limit).await.unwrap();
        rows.into_iter().map(|row| row.key).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 2).await, ["content/B", "content/b"]);
    assert_eq!(page(Some("content/b"), 2).await, ["content/é", "locks/a"]);
    assert_eq!(page(Some("locks/a"), 2).await, [""; 0]);
    assert_eq!(ledger.idle_objects(at(0), None, 9).await.unwrap(), []);
}

/// An owner is charged the sum over its uses, whatever happens in whatever order.
pub(crate) async fn owners_are_charged_the_sum_of_their_uses_whatever_happens(world: World) {
    let ledger = &world.ledger;
    // A generator of pseudo-random numbers, the same each time.
    let mut state = 7_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let names = ["alice", "bob", "carol"];
    for second in 0..300 {
        let name = names[draw(3) as usize];
        let key = format!("content/{}", draw(5));
        let all = vec![key.clone()];
        match draw(6) {
            0 | 1 => drop(ledger.begin_uses(upload(name, &[(&key, MIB)], second)).await),
            2 => drop(ledger.begin_uses(reference(name, &[&key], second)).await),
            3 => ledger.end_uses(&owner(name), &all, draw(2) == 0).await.unwrap(),
            4 => {
                let before = seen(ledger).await;
                let going = before.into_iter().filter(|(seen, _)| *seen == key).collect();
                let marked = ledger.begin_object_removal(&going, at(second)).await.unwrap();
                if draw(2) == 0 {
                    ledger.finish_object_removal(&marked, at(second)).await.unwrap();
                }
            }
            _ => {
                let rows = ledger.idle_objects(at(second - 20), None, 99).await.unwrap();
                let ended = rows.iter().flat_map(|row| {
                    row.uses.iter().map(|of| EndedUse {
                        key: row.key.clone(),
                        owner: of.owner.clone(),
                        used_at: of.used_at,
                    })
                });
                ledger.release_uses(ended.take(1).collect()).await.unwrap();
            }
        }
        let mut sums: BTreeMap<OwnerName, u64> = BTreeMap::new();
        for of in ledger.idle_objects(at(1_000_000), None, 99).await.unwrap().into_iter().flat_map(|row| row.uses) {
            *sums.entry(of.owner).or_default() += of.bytes;
        }
        for row in ledger.owners().await.unwrap() {
            assert_eq!(row.stored_bytes, sums.get(&row.owner).copied().unwrap_or(0), "{} at {second}", row.owner);
        }
    }
}
