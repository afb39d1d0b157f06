//! Tokens, quotas, and the audit log.

use futures::future::join_all;
use regatta_backends::ledger::Created;
use regatta_backends::{
    AuditOutcome, AuditResult, LedgerError, NewAuditEntry, NewSchedule, NewSweep, NewToken, OwnerRow, PageMark,
    PutSchedule, Quota, TokenRow,
};
use regatta_proto::{Digest, Money, OwnerName, SweepId, SweepState};

use crate::world::{World, at, new_schedule, new_sweep, run};

pub(crate) fn owner(name: &str) -> OwnerName {
    name.parse().unwrap()
}

pub(crate) fn token(id: &str) -> NewToken {
    NewToken {
        id: id.parse().unwrap(),
        digest: Digest::of(id.as_bytes()),
        owner: owner("alice"),
        scopes: "read,submit".parse().unwrap(),
        created_at: at(1),
        created_by: OwnerName::operator(),
        expires_at: Some(at(9)),
        quota: None,
        storage: None,
    }
}

/// A sweep owned by `name` with `items` sessions and a budget of five dollars.
fn of(name: &str, sweep: &str, items: u32, quota: Quota) -> NewSweep {
    NewSweep { owner: Some(owner(name)), quota, ..new_sweep(sweep, 1, items) }
}

fn money(dollars: f64) -> Money {
    Money::from_dollars(dollars).unwrap()
}

fn quota(dollars: f64, sessions: u64) -> Quota {
    Quota { budget: Some(money(dollars)), sessions: Some(sessions) }
}

async fn granted(world: &World, name: &str) -> (Money, u64) {
    let owners = world.ledger.owners().await.unwrap();
    let row = owners.into_iter().find(|row| row.owner.as_str() == name).unwrap();
    (row.granted, row.granted_sessions)
}

pub(crate) async fn a_token_is_found_by_its_digest_alone(world: World) {
    let ledger = &world.ledger;
    assert!(ledger.create_token(token("t1")).await.unwrap());
    let expected = TokenRow {
        id: "t1".parse().unwrap(),
        owner: owner("alice"),
        scopes: "read,submit".parse().unwrap(),
        created_at: at(1),
        created_by: OwnerName::operator(),
        expires_at: Some(at(9)),
        revoked_at: None,
    };
    assert_eq!(ledger.token(&Digest::of(b"t1")).await.unwrap(), Some(expected.clone()));
    assert_eq!(ledger.token(&Digest::of(b"t2")).await.unwrap(), None);
    assert_eq!(ledger.tokens().await.unwrap(), [expected]);
}

pub(crate) async fn a_token_of_a_known_id_or_digest_is_not_kept_again(world: World) {
    let ledger = &world.ledger;
    assert!(ledger.create_token(token("t1")).await.unwrap());
    let other_digest = NewToken { digest: Digest::of(b"other"), owner: owner("eve"), ..token("t1") };
    let other_id = NewToken { id: "t2".parse().unwrap(), owner: owner("eve"), ..token("t1") };
    for again in [other_digest, other_id] {
        assert!(!ledger.create_token(again).await.unwrap());
    }
    let tokens = ledger.tokens().await.unwrap();
    assert_eq!(tokens.iter().map(|row| row.owner.as_str()).collect::<Vec<_>>(), ["alice"]);
}

pub(crate) async fn a_revoked_token_stays_revoked_from_the_first_time_on(world: World) {
    let ledger = &world.ledger;
    ledger.create_token(token("t1")).await.unwrap();
    let id = "t1".parse().unwrap();
    assert!(ledger.revoke_token(&id, at(2)).await.unwrap());
    assert!(ledger.revoke_token(&id, at(3)).await.unwrap());
    assert_eq!(ledger.token(&Digest::of(b"t1")).await.unwrap().unwrap().revoked_at, Some(at(2)));
    assert!(!ledger.revoke_token(&"nobody".parse().unwrap(), at(2)).await.unwrap());
}

pub(crate) async fn an_owner_has_so_many_tokens_that_can_be_used(world: World) {
    let ledger = &world.ledger;
    for number in 0..100 {
        assert!(ledger.create_token(token(&format!("t{number}"))).await.unwrap());
    }
    let refused = ledger.create_token(token("one-more")).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "failed to keep a token: alice has 100 that are neither revoked nor expired; revoke those that nobody uses (`regatta token list`, \
         `regatta token revoke ID`)"
    );
    assert!(!refused.is_refusal());
    assert!(ledger.create_token(NewToken { owner: owner("bob"), ..token("bobs") }).await.unwrap());
    assert!(ledger.revoke_token(&"t7".parse().unwrap(), at(2)).await.unwrap());
    assert!(ledger.create_token(token("in-place-of-t7")).await.unwrap());
    // All of them have expired by then.
    let later = NewToken { created_at: at(9), expires_at: None, ..token("later") };
    assert!(ledger.create_token(later).await.unwrap());
}

pub(crate) async fn tokens_and_owners_come_in_pages_that_miss_nothing(world: World) {
    let ledger = &world.ledger;
    // Two of the same moment, and one that is written later although it is older.
    for (id, second) in [("b", 1), ("a", 1), ("c", 5), ("old", 0)] {
        assert!(ledger.create_token(NewToken { created_at: at(second), ..token(id) }).await.unwrap());
    }
    let mut ids = Vec::new();
    let mut after = None;
    loop {
        let page = ledger.tokens_after(after.as_ref(), 2).await.unwrap();
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        after = Some(PageMark::from(last));
        ids.extend(page.iter().map(|row| row.id.to_string()));
    }
    assert_eq!(ids, ["old", "a", "b", "c"]);
    let all = ledger.tokens().await.unwrap();
    assert_eq!(all.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ids);

    for name in ["carol", "Bob", "alice", "alice@example.com"] {
        ledger.set_quota(&owner(name), Some(Quota::default()), None).await.unwrap();
    }
    let names = |rows: Vec<OwnerRow>| rows.into_iter().map(|row| row.owner.to_string()).collect::<Vec<_>>();
    assert_eq!(names(ledger.owners_after(None, 3).await.unwrap()), ["Bob", "alice", "alice@example.com"]);
    assert_eq!(names(ledger.owners_after(Some(&owner("alice")), 3).await.unwrap()), ["alice@example.com", "carol"]);
    assert_eq!(names(ledger.owners_after(Some(&owner("alicia")), 3).await.unwrap()), ["carol"]);
    assert_eq!(names(ledger.owners().await.unwrap()).len(), 4);
}

pub(crate) async fn a_sweep_has_its_owner_and_is_charged_once(world: World) {
    let ledger = &world.ledger;
    for expected in [Created::New, Created::AlreadyThere] {
        let sweep = of("alice", "s", 4, Quota::default());
        assert_eq!(ledger.create_sweep(sweep).await.unwrap(), expected);
    }
    let id = SweepId::new("s").unwrap();
    assert_eq!(ledger.sweep(&id).await.unwrap().unwrap().owner, Some(owner("alice")));
    assert_eq!(granted(&world, "alice").await, (money(5.0), 4));
    world.sweep("nobodys", 1, 1).await;
    assert_eq!(ledger.owners().await.unwrap().len(), 1);
}

pub(crate) async fn what_leads_beyond_a_quota_is_refused_as_a_whole(world: World) {
    let ledger = &world.ledger;
    ledger.set_quota(&owner("alice"), Some(quota(12.0, 9)), None).await.unwrap();
    ledger.create_sweep(of("alice", "a", 4, Quota::default())).await.unwrap();
    let error = ledger.create_sweep(of("alice", "b", 6, Quota::default())).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the quota of alice does not allow this sweep: of 9 sessions in all, 4 are granted to its sweeps, and this one wants 6 more; lower its \
         limit or trials; or have an admin raise it (`regatta token quota`, or `owners` of the coordinator's policy)"
    );
    assert!(!error.is_refusal());
    assert_eq!(ledger.sweep(&"b".parse().unwrap()).await.unwrap(), None);
    assert_eq!(granted(&world, "alice").await, (money(5.0), 4));
    ledger.create_sweep(of("alice", "c", 5, Quota::default())).await.unwrap();
    let error = ledger.create_sweep(of("alice", "d", 0, Quota::default())).await.unwrap_err();
    assert!(
        matches!(&error, LedgerError::QuotaExceeded { problem, .. } if problem.contains("lower its budget")),
        "{error}"
    );
    ledger.create_sweep(of("bob", "d", 6, Quota::default())).await.unwrap();
}

pub(crate) async fn of_two_submissions_at_once_one_slips_through_a_quota_for_one(world: World) {
    let handles = join_all((0..6).map(|_| world.open())).await;
    let submissions = handles.iter().enumerate().map(|(number, ledger)| {
        let sweep = of("alice", &format!("s{number}"), 1, quota(9.0, 100));
        async move { ledger.create_sweep(sweep).await }
    });
    let created = join_all(submissions).await;
    assert_eq!(created.iter().filter(|created| created.is_ok()).count(), 1, "{created:?}");
    for refused in created.into_iter().filter_map(Result::err) {
        assert!(matches!(refused, LedgerError::QuotaExceeded { .. }), "{refused}");
    }
    assert_eq!(granted(&world, "alice").await, (money(5.0), 1));
}

pub(crate) async fn a_quota_of_money_admits_no_sweep_without_a_budget(world: World) {
    let free = NewSweep { budget: None, ..of("alice", "s", 1, quota(9.0, 9)) };
    let error = world.ledger.create_sweep(free.clone()).await.unwrap_err().to_string();
    assert!(error.contains("give it a budget_usd"), "{error}");
    let sessions = Quota { budget: None, sessions: Some(9) };
    assert_eq!(world.ledger.create_sweep(NewSweep { quota: sessions, ..free }).await.unwrap(), Created::New);
}

pub(crate) async fn the_lower_of_two_quotas_counts(world: World) {
    let ledger = &world.ledger;
    ledger.set_quota(&owner("alice"), Some(quota(100.0, 3)), None).await.unwrap();
    assert!(ledger.create_sweep(of("alice", "a", 1, quota(4.0, 100))).await.is_err());
    assert!(ledger.create_sweep(of("alice", "a", 4, quota(50.0, 100))).await.is_err());
    assert!(ledger.create_sweep(of("alice", "a", 3, quota(50.0, 100))).await.is_ok());
    ledger.set_quota(&owner("alice"), Some(Quota::default()), None).await.unwrap();
    assert_eq!(granted(&world, "alice").await, (money(5.0), 3));
}

pub(crate) async fn a_raised_budget_is_granted_once_however_often_it_is_asked_for(world: World) {
    let ledger = &world.ledger;
    ledger.create_sweep(of("alice", "s", 1, Quota::default())).await.unwrap();
    let id = SweepId::new("s").unwrap();
    for _ in 0..3 {
        ledger.grant(&id, money(8.0), quota(9.0, 1)).await.unwrap();
    }
    assert_eq!(granted(&world, "alice").await, (money(8.0), 1));
    let error = ledger.grant(&id, money(9.5), quota(9.0, 1)).await.unwrap_err().to_string();
    assert!(error.contains("this one wants") && error.contains("lower its budget"), "{error}");
    assert_eq!(granted(&world, "alice").await, (money(8.0), 1));
    // A budget that is not raised costs nothing, and a sweep without an owner has no quota.
    ledger.grant(&id, money(5.0), quota(0.0, 0)).await.unwrap();
    let nobodys = world.sweep("nobodys", 1, 1).await;
    ledger.grant(&nobodys, money(1000.0), quota(0.0, 0)).await.unwrap();
    assert!(matches!(
        ledger.grant(&"none".parse().unwrap(), money(1.0), Quota::default()).await,
        Err(LedgerError::UnknownSweep { .. })
    ));
}

pub(crate) async fn what_was_granted_stays_granted_when_a_sweep_is_removed(world: World) {
    let ledger = &world.ledger;
    ledger.create_sweep(of("alice", "s", 2, Quota::default())).await.unwrap();
    let id = SweepId::new("s").unwrap();
    ledger.transition(&id, &[SweepState::Running], SweepState::Cancelled, at(2)).await.unwrap();
    assert!(ledger.drop_sweep(&id).await.unwrap());
    assert_eq!(granted(&world, "alice").await, (money(5.0), 2));
}

fn entry(action: &str, seconds: i64) -> NewAuditEntry {
    NewAuditEntry {
        at: at(seconds),
        actor: "alice".to_owned(),
        credential: "token t1".to_owned(),
        action: action.to_owned(),
        subject: "s".to_owned(),
    }
}

fn result(outcome: AuditOutcome, detail: &str) -> AuditResult {
    AuditResult { at: at(3), outcome, subject: "s".to_owned(), detail: detail.to_owned() }
}

pub(crate) async fn the_audit_log_is_read_newest_first_with_its_results(world: World) {
    let ledger = &world.ledger;
    let first = ledger.begin_audit(entry("submit", 1), None).await.unwrap();
    let second = ledger.begin_audit(entry("cancel", 2), Some(result(AuditOutcome::Refused, "why"))).await.unwrap();
    let third = ledger.begin_audit(entry("resume", 3), None).await.unwrap();
    assert!(first < second && second < third);
    ledger.end_audit(first, result(AuditOutcome::Done, "")).await.unwrap();
    assert!(ledger.end_audit(first, result(AuditOutcome::Failed, "")).await.is_err(), "an entry has one result");
    let rows = ledger.audit(None, 10).await.unwrap();
    let told: Vec<_> =
        rows.iter().map(|row| (row.action.as_str(), row.result.as_ref().map(|result| result.outcome))).collect();
    let expected = [("resume", None), ("cancel", Some(AuditOutcome::Refused)), ("submit", Some(AuditOutcome::Done))];
    assert_eq!(told, expected);
    assert_eq!((rows[2].at, rows[1].result.as_ref().unwrap().detail.as_str()), (at(1), "why"));
    let older = ledger.audit(Some(second), 10).await.unwrap();
    assert_eq!(older.iter().map(|row| row.number).collect::<Vec<_>>(), [first]);
    assert_eq!(ledger.audit(None, 1).await.unwrap().len(), 1);
}

pub(crate) async fn a_schedule_keeps_its_owner(world: World) {
    let (ledger, name) = (&world.ledger, "nightly".parse().unwrap());
    let put = async |document: &str, who: &str| {
        let seen = ledger.schedule(&name).await.unwrap();
        let new = NewSchedule { owner: Some(owner(who)), ..new_schedule("nightly", document, 1) };
        ledger.put_schedule(&new, seen.as_ref()).await.unwrap()
    };
    assert_eq!(put("{}", "alice").await, PutSchedule::Created);
    assert_eq!(put("[]", "bob").await, PutSchedule::Replaced);
    assert_eq!(ledger.schedule(&name).await.unwrap().unwrap().owner, Some(owner("alice")));
}

#[tokio::test]
async fn no_row_of_the_audit_log_is_changed_or_removed_whoever_asks() {
    let world = World::postgres().await;
    let number = world.ledger.begin_audit(entry("submit", 1), Some(result(AuditOutcome::Done, ""))).await.unwrap();
    for table in ["audit", "audit_results"] {
        for statement in [
            format!("UPDATE {table} SET at_ns = 0"),
            format!("DELETE FROM {table}"),
            format!("TRUNCATE {table} CASCADE"),
        ] {
            let refused = format!(
                "DO $$ BEGIN {statement}; RAISE 'it was done'; EXCEPTION WHEN raise_exception THEN
                     IF SQLERRM NOT LIKE '%append-only%' THEN RAISE; END IF;
                 END $$"
            );
            run(world.url(), &refused).await;
        }
    }
    assert_eq!(world.ledger.audit(None, 9).await.unwrap()[0].number, number);
}

pub(crate) async fn an_adaptive_sweep_is_charged_for_all_it_may_release(world: World) {
    let mut sweep = of("alice", "s", 10, quota(9.0, 9));
    sweep.cells[0].items = 2; // its first round
    let refused = world.ledger.create_sweep(sweep).await.unwrap_err();
    assert!(matches!(refused, LedgerError::QuotaExceeded { .. }), "{refused}");
}

pub(crate) async fn what_was_granted_cannot_be_counted_over(world: World) {
    let all = Money(i64::MAX as u64);
    let large = |name: &str| NewSweep { budget: Some(all), ..of("alice", name, 1, Quota::default()) };
    world.ledger.create_sweep(large("one")).await.unwrap();
    world.ledger.create_sweep(large("two")).await.unwrap();
    assert_eq!(granted(&world, "alice").await, (all, 2));
    let refused = world.ledger.create_sweep(of("alice", "three", 1, quota(9.0, 9))).await.unwrap_err();
    assert!(matches!(refused, LedgerError::QuotaExceeded { .. }), "{refused}");
}

pub(crate) async fn a_token_is_kept_with_its_quota_or_not_at_all(world: World) {
    let limited = |sessions| NewToken { quota: Some(Quota { budget: None, sessions: Some(sessions) }), ..token("t1") };
    assert!(world.ledger.create_token(limited(u64::MAX)).await.is_err());
    assert_eq!(world.ledger.tokens().await.unwrap(), []);
    assert!(world.ledger.create_token(limited(3)).await.unwrap());
    assert!(!world.ledger.create_token(limited(4)).await.unwrap(), "it is there already");
    assert_eq!(world.ledger.owners().await.unwrap()[0].quota.sessions, Some(3));
}
