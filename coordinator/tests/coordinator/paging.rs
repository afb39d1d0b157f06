//! Lists of the API, page by page, and as clients read them that ask for no page.

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use jiff::SignedDuration;
use regatta_backends::{AuditOutcome, AuditResult, AuditRow, NewAuditEntry, NewToken, OwnerRow, Quota, SweepRow};
use regatta_coordinator::{ApiConfig, ScheduleStatus, TokenList, router};
use regatta_proto::{Digest, OwnerName};
use serde::de::DeserializeOwned;
use serde_json::json;
use tower::ServiceExt;

use crate::schedules::night_shift::NightShift;
use crate::stage::{Process, spec};

/// A deployment with a few entries in each list.
struct Filled {
    shift: NightShift,
    process: Process,
}

impl Filled {
    async fn set() -> Self {
        let shift = NightShift::at("2026-11-23T00:00:00Z").await;
        let process = shift.stage.process();
        let filled = Self { shift, process };
        let ledger = &filled.shift.stage.ledger;
        for (number, name) in (0_u8..).zip(["a", "b", "c", "d", "e"]) {
            filled.shift.stage.submit(&filled.process, &spec(name, 1, "")).await;
            filled.shift.stage.clock.advance(SignedDuration::from_secs(1));
            let now = filled.shift.stage.clock_now();
            filled.shift.schedule(&filled.process, json!({ "name": name, "cron": "0 2 * * *" })).await;
            let owner: OwnerName = format!("{name}@x").parse().unwrap();
            let token = NewToken {
                id: name.parse().unwrap(),
                digest: Digest::of(&[number]),
                owner: owner.clone(),
                scopes: "read".parse().unwrap(),
                created_at: now,
                created_by: OwnerName::operator(),
                expires_at: None,
                quota: Some(Quota { budget: None, sessions: Some(5) }),
                storage: None,
            };
            assert!(ledger.create_token(token).await.unwrap());
            let word = |text: &str| text.to_owned();
            let entry = NewAuditEntry {
                at: now,
                actor: word(owner.as_str()),
                credential: word("none"),
                action: word("cancel"),
                subject: word(name),
            };
            let result = AuditResult { at: now, outcome: AuditOutcome::Done, subject: word(name), detail: word("") };
            ledger.begin_audit(entry, Some(result)).await.unwrap();
        }
        filled
    }

    /// The answer, and the target of its link.
    async fn get<T: DeserializeOwned>(&self, path: &str) -> (T, Option<String>) {
        let (status, link, text) = self.ask(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        (serde_json::from_str(&text).unwrap(), link)
    }

    async fn ask(&self, path: &str) -> (StatusCode, Option<String>, String) {
        let router = router(self.process.coordinator.clone(), ApiConfig::default());
        let response = router.oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
        let link = response.headers().get(header::LINK).map(|link| link.to_str().unwrap().to_owned());
        let status = response.status();
        let bytes = to_bytes(response.into_body(), 16 << 20).await.unwrap();
        (status, link, String::from_utf8(bytes.to_vec()).unwrap())
    }

    /// Names of all entries, two a page, as the links lead.
    async fn walk<T: DeserializeOwned>(&self, path: &str, names: impl Fn(T) -> Vec<String>) -> Vec<Vec<String>> {
        let (mut pages, mut query) = (Vec::new(), "?limit=2".to_owned());
        loop {
            let (page, link) = self.get(&format!("{path}{query}")).await;
            pages.push(names(page));
            let Some(link) = link else { return pages };
            let target = link.strip_prefix('<').and_then(|link| link.strip_suffix(">; rel=\"next\""));
            query = target.unwrap().to_owned();
            assert!(pages.len() < 10, "{path} never ends: {link}");
        }
    }
}

fn sweeps(rows: Vec<SweepRow>) -> Vec<String> {
    rows.into_iter().map(|row| row.name).collect()
}

fn schedules(rows: Vec<ScheduleStatus>) -> Vec<String> {
    rows.into_iter().map(|row| row.schedule.name.to_string()).collect()
}

fn tokens(list: TokenList) -> Vec<String> {
    assert!(list.owners.is_empty(), "owners have pages of their own");
    list.tokens.into_iter().map(|row| row.id.to_string()).collect()
}

fn owners(rows: Vec<OwnerRow>) -> Vec<String> {
    rows.into_iter().map(|row| row.owner.to_string()).collect()
}

fn entries(rows: Vec<AuditRow>) -> Vec<String> {
    rows.into_iter().map(|row| row.subject).collect()
}

#[tokio::test]
async fn every_list_has_pages_that_lead_to_each_other() {
    let filled = Filled::set().await;
    assert_eq!(filled.walk("/v1/sweeps", sweeps).await, [vec!["e", "d"], vec!["c", "b"], vec!["a"]]);
    assert_eq!(filled.walk("/v1/schedules", schedules).await, [vec!["a", "b"], vec!["c", "d"], vec!["e"]]);
    assert_eq!(filled.walk("/v1/tokens", tokens).await, [vec!["a", "b"], vec!["c", "d"], vec!["e"]]);
    assert_eq!(filled.walk("/v1/owners", owners).await, [vec!["a@x", "b@x"], vec!["c@x", "d@x"], vec!["e@x"]]);
    assert_eq!(filled.walk("/v1/audit", entries).await, [vec!["e", "d"], vec!["c", "b"], vec!["a"]]);
}

#[tokio::test]
async fn who_asks_for_no_page_reads_lists_as_they_were_before_there_were_any() {
    let filled = Filled::set().await;
    let (rows, link) = filled.get::<Vec<SweepRow>>("/v1/sweeps").await;
    assert_eq!((sweeps(rows).len(), link), (5, None));
    let (rows, link) = filled.get::<Vec<ScheduleStatus>>("/v1/schedules").await;
    assert_eq!((schedules(rows).len(), link), (5, None));
    let (list, link) = filled.get::<TokenList>("/v1/tokens").await;
    assert_eq!((list.tokens.len(), list.owners.len(), link), (5, 5, None));
    let (rows, link) = filled.get::<Vec<AuditRow>>("/v1/audit").await;
    assert_eq!((entries(rows).len(), link), (5, None));
    // This is how the audit log was paged.
    let (rows, _) = filled.get::<Vec<AuditRow>>("/v1/audit?limit=2&before=3").await;
    assert_eq!(entries(rows), ["b", "a"]);
}

#[tokio::test]
async fn of_a_long_list_a_thousand_entries_are_answered_and_a_link_leads_to_the_rest() {
    let filled = Filled::set().await;
    let ledger = &filled.shift.stage.ledger;
    for number in 0..1200 {
        let name = format!("n{number:04}").parse().unwrap();
        ledger.set_quota(&name, Some(Quota::default()), None).await.unwrap();
    }
    let (rows, link) = filled.get::<Vec<OwnerRow>>("/v1/owners").await;
    assert_eq!((rows.len(), link.as_deref()), (1000, Some("<?after=n0994&limit=1000>; rel=\"next\"")));
    let (rows, link) = filled.get::<Vec<OwnerRow>>("/v1/owners?after=n0994&limit=1000").await;
    assert_eq!((rows.len(), link), (205, None));
}

#[tokio::test]
async fn quotas_of_owners_beyond_one_answer_are_not_left_out_without_a_word() {
    let filled = Filled::set().await;
    let ledger = &filled.shift.stage.ledger;
    for number in 0..10_000 {
        ledger.set_quota(&format!("n{number}").parse().unwrap(), Some(Quota::default()), None).await.unwrap();
    }
    let (status, _, text) = filled.ask("/v1/tokens").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(text.contains("more tokens or owners than one answer holds") && text.contains("/v1/owners"), "{text}");
    assert_eq!(filled.walk("/v1/tokens", tokens).await.concat().len(), 5);
}

#[tokio::test]
async fn what_is_no_end_of_a_page_is_refused() {
    let filled = Filled::set().await;
    for (path, said) in [
        ("/v1/sweeps?after=x", "follow the link that came with the page before"),
        ("/v1/tokens?after=1", "follow the link that came with the page before"),
        ("/v1/sweeps?after=99999999999999999999.a", "follow the link that came with the page before"),
        ("/v1/tokens?after=1.a%00", "follow the link that came with the page before"),
        ("/v1/schedules?after=..", "schedule name"),
        ("/v1/owners?after=%0A", "owner"),
        ("/v1/audit?after=-1", "invalid digit"),
        ("/v1/sweeps?limit=-1", "invalid digit"),
        ("/v1/sweeps?offset=3", "offset"),
    ] {
        let (status, _, text) = filled.ask(path).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}: {text}");
        assert!(text.contains(said), "{path}: {text}");
    }
}
