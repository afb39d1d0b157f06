//! Pages of a deployment, and orders that people send from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::HeaderMap;
use prometheus::Registry;
use regatta_backends::{AuditOutcome, Blobs, Ledger, NewToken, Permits, Queue, SweepRow};
use regatta_benchmark_testing::miniature;
use regatta_catalog::{Catalog, store_dataset};
use regatta_coordinator::{
    Access, ApiConfig, Coordinator, CoordinatorConfig, CoordinatorMetrics, PriceBook, Submission, router_and_readers,
};
use regatta_proto::{ApiToken, Clock as _, ManualClock, PriceSource, Scopes, parse_spec};
use regatta_viewer::{Source, Store};
use regatta_worfbench::WorfBench;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::roles::coordinator::viewers;

const HOST: &str = "regatta.example";
const ORIGIN: &str = "https://regatta.example";

/// Pages of a deployment with a running sweep of alice's.
struct Desk {
    pages: Router,
    ledger: Ledger,
    sweep: SweepId,
    authors: Arc<ApiSteering>,
    _folder: tempfile::TempDir,
}

fn token(number: u8) -> ApiToken {
    ApiToken::of([number; 6], [number; 32]).unwrap()
}

/// Owners and rights of the tokens 1, 2 and 3.
const PEOPLE: [(&str, &str); 3] = [("alice", "read,submit"), ("bob", "read,submit"), ("carol", "read")];
const ALICE: u8 = 1;
const BOB: u8 = 2;
const CAROL: u8 = 3;

impl Desk {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::directory(folder.path().join("blobs")).unwrap();
        let clock = Arc::new(ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap()));
        let ledger = Ledger::sqlite(folder.path().join("ledger.sqlite")).await.unwrap();
        for (number, (owner, scopes)) in (1..).zip(PEOPLE) {
            let token = token(number);
            let made = ledger.create_token(NewToken {
                id: token.id().clone(),
                digest: token.digest(),
                owner: owner.parse().unwrap(),
                scopes: scopes.parse::<Scopes>().unwrap(),
                created_at: clock.now(),
                created_by: "operator".parse().unwrap(),
                expires_at: None,
                quota: None,
                storage: None,
            });
            assert!(made.await.unwrap());
        }
        let (permits, data) = (Permits::memory(), miniature(&WorfBench));
        store_dataset(&blobs, &data).await.unwrap();
        let catalog = Catalog::new(blobs, regatta_benchmarks::Registry::new(&[&WorfBench]));
        let prices: Arc<PriceBook> = Arc::new(|_, model| match &model.price {
            Some(price) => (Some(price.clone()), PriceSource::Spec),
            None => (None, PriceSource::Unknown),
        });
        let coordinator = Coordinator::new(
            CoordinatorConfig::default(),
            ledger.clone(),
            Queue::memory(),
            permits.clone(),
            catalog.clone(),
            clock.clone(),
            CoordinatorMetrics::register(&Registry::new()).unwrap(),
            prices,
        );
        let spec = "name: s
benchmarks:
  worfbench: { limit: 'first:2', tasks: [lumos], judge: sim/lexical, judge_price: { input_per_mtok: 0, output_per_mtok: 0 } }
endpoints:
  sim: { kind: openai, base_url: 'http://127.0.0.1:9/v1', limits: { concurrency: 2 } }
models:
  - { id: sim/oracle, max_tokens: 1000, price: { input_per_mtok: 0, output_per_mtok: 1000 } }
budget_usd: 5
";
        let submission = Submission {
            spec: parse_spec(spec, &|_| None).unwrap(),
            data: BTreeMap::from([("worfbench".parse().unwrap(), data.snapshot())]),
            recorded: BTreeMap::new(),
        };
        let sweep = coordinator.submit(submission, Some(&"alice".parse().unwrap())).await.unwrap().id;
        let access = Access::Tokens { operator: None };
        let config = ApiConfig { access: access.clone(), ..ApiConfig::default() };
        let (api, readers) = router_and_readers(Arc::new(coordinator), config);
        let steering = Arc::new(ApiSteering { api, readers: readers.clone() });
        let viewers = viewers(&readers, &access, true, false).with_steering(steering.clone());
        let source = Source::Deployment(Store { ledger: ledger.clone(), catalog, permits: Some(permits) });
        let pages = regatta_viewer::router(source, viewers, clock, CancellationToken::new());
        Self { pages, ledger, sweep, authors: steering, _folder: folder }
    }

    async fn ask(&self, request: axum::http::request::Builder, number: u8, body: String) -> (u16, HeaderMap, String) {
        let request = request.header(header::HOST, HOST);
        let request = request.header(header::COOKIE, format!("regatta_view={}", token(number).text()));
        let response = self.pages.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
        let (head, body) = response.into_parts();
        let body = to_bytes(body, 1 << 20).await.unwrap();
        (head.status.as_u16(), head.headers, String::from_utf8(body.to_vec()).unwrap())
    }

    /// The page of the sweep, or one below it, as the owner of the token `number` sees it.
    async fn page(&self, number: u8, below: &str) -> (u16, String) {
        let (status, _, page) =
            self.ask(Request::get(format!("/ui/runs/{}{below}", self.sweep)), number, String::new()).await;
        (status, page)
    }

    /// Sends a form from a page of `origin`; of none if it is empty.
    async fn send(&self, number: u8, origin: &str, form: &str) -> (u16, String) {
        let mut request = Request::post(format!("/ui/runs/{}/steer", self.sweep))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        if !origin.is_empty() {
            request = request.header(header::ORIGIN, origin);
        }
        let (status, headers, page) = self.ask(request, number, form.to_owned()).await;
        if status == 303 {
            assert_eq!(headers[header::LOCATION], format!("/ui/runs/{}", self.sweep));
        }
        (status, page)
    }

    async fn row(&self) -> SweepRow {
        self.ledger.sweep(&self.sweep).await.unwrap().unwrap()
    }

    /// Entries of the audit log: actor, deed and outcome, the oldest first.
    async fn done(&self) -> Vec<String> {
        let rows = self.ledger.audit(None, 100).await.unwrap();
        let done = rows.into_iter().rev().filter_map(|row| Some((row.actor, row.action, row.result?)));
        let done = done.filter(|(.., result)| result.outcome == AuditOutcome::Done);
        done.map(|(actor, action, result)| format!("{actor} {action} {}", result.detail).trim_end().to_owned())
            .collect()
    }
}

#[tokio::test]
async fn who_may_not_change_a_sweep_sees_no_form_on_its_page() {
    let desk = Desk::open().await;
    for (number, sees) in [(ALICE, true), (BOB, false), (CAROL, false)] {
        let (status, page) = desk.page(number, "").await;
        assert_eq!((status, page.contains("<form")), (200, sees), "{number}: {page}");
        let (status, _) = desk.page(number, "/cancel").await;
        assert_eq!(status, if sees { 200 } else { 403 }, "{number}");
    }
}

#[tokio::test]
async fn orders_of_the_owner_are_obeyed_and_in_the_audit_log() {
    let desk = Desk::open().await;
    assert_eq!(desk.send(ALICE, ORIGIN, "order=pause").await.0, 303);
    assert!(desk.row().await.is_paused);
    let (_, page) = desk.page(ALICE, "").await;
    assert!(page.contains("paused") && page.contains("Continue"), "{page}");
    assert_eq!(desk.send(ALICE, ORIGIN, "order=resume&budget=9").await.0, 303);
    assert_eq!(desk.send(ALICE, ORIGIN, "order=throttle&endpoint=sim&calls=1").await.0, 303);
    let row = desk.row().await;
    assert_eq!((row.is_paused, row.budget.map(|budget| budget.dollars())), (false, Some(9.0)));
    assert_eq!(row.concurrency.into_values().collect::<Vec<_>>(), [1]);
    let (status, page) = desk.send(ALICE, ORIGIN, "order=resume&budget=1").await;
    assert!(status == 422 && page.contains("can only be raised"), "{status} {page}");
    let (_, page) = desk.page(ALICE, "/cancel").await;
    assert!(page.contains("Cancel this sweep?") && page.contains("value=\"cancel\""), "{page}");
    assert_eq!(desk.send(ALICE, ORIGIN, "order=cancel").await.0, 303);
    assert_eq!(desk.row().await.state, regatta_proto::SweepState::Cancelled);
    let expected = [
        "alice pause",
        "alice resume budget raised to $9.00",
        "alice concurrency endpoint sim: calls at once limited to 1",
        "alice cancel",
    ];
    assert_eq!(desk.done().await, expected);
}

#[tokio::test]
async fn a_page_that_is_open_loses_its_forms_when_the_sweep_has_ended() {
    let desk = Desk::open().await;
    let part = "<section id=\"steering\" data-part>";
    let (_, page) = desk.page(ALICE, "").await;
    assert!(page.contains(part), "{page}");
    let term = desk.ledger.lead(&"c".parse().unwrap(), std::time::Duration::from_secs(60)).await.unwrap().unwrap();
    let budget = desk.row().await.budget;
    assert!(desk.ledger.begin_tabulating(&desk.sweep, 0, budget, None, term).await.unwrap());
    let (_, page) = desk.page(ALICE, "").await;
    assert!(page.contains(part) && !page.contains("<form"), "{page}");
    let (_, page) = desk.page(CAROL, "").await;
    assert!(!page.contains(part), "{page}");
}

#[tokio::test]
async fn orders_of_others_and_of_pages_elsewhere_change_nothing() {
    let desk = Desk::open().await;
    let before = desk.row().await;
    for number in [BOB, CAROL] {
        let (status, page) = desk.send(number, ORIGIN, "order=cancel").await;
        assert_eq!(status, 403, "{page}");
    }
    for origin in ["", "https://evil.example", "null"] {
        for order in ["pause", "cancel", "resume", "throttle&endpoint=sim&calls=1"] {
            let (status, page) = desk.send(ALICE, origin, &format!("order={order}")).await;
            assert_eq!(status, 403, "{origin:?}: {page}");
        }
    }
    for form in ["order=pause&owner=bob", "order=delete", "order=resume&budget=much", "note=x"] {
        assert_eq!(desk.send(ALICE, ORIGIN, form).await.0, 400, "{form}");
    }
    assert_eq!(desk.row().await, before);
    assert_eq!(desk.done().await, Vec::<String>::new());
}

#[tokio::test]
async fn who_may_submit_annotates_under_the_name_of_the_owner_and_readers_do_not() {
    let desk = Desk::open().await;
    let by = async |number: u8| {
        let asker = Asker { token: Some(token(number).text().to_owned()), extensions: axum::http::Extensions::new() };
        desk.authors.name(&asker).await.map(|by| by.as_str().to_owned())
    };
    assert_eq!((by(ALICE).await.as_deref(), by(BOB).await.as_deref()), (Some("alice"), Some("bob")));
    assert_eq!(by(CAROL).await, None);
    let nobody = Asker { token: None, extensions: axum::http::Extensions::new() };
    assert_eq!(desk.authors.name(&nobody).await, None);
}

#[tokio::test]
async fn the_audit_log_has_who_annotated_which_session_and_whether_it_was_stored() {
    let desk = Desk::open().await;
    let begin = async |number: u8, path: &str| {
        let asker = Asker { token: Some(token(number).text().to_owned()), extensions: axum::http::Extensions::new() };
        desk.authors.begin(&asker, path).await
    };
    let (first, second) = ("/ui/runs/s/sessions/0/0", "/ui/runs/s/sessions/0/1");
    let stored = begin(ALICE, first).await.unwrap();
    desk.authors.end(stored, first, None).await;
    let failed = begin(BOB, second).await.unwrap();
    desk.authors.end(failed, second, Some("the bucket is away")).await;
    assert_eq!(begin(CAROL, first).await.unwrap_err().status, StatusCode::FORBIDDEN);
    let log = desk.ledger.audit(None, 100).await.unwrap();
    let told = log.into_iter().rev().filter_map(|row| Some((row.actor, row.action, row.subject, row.result?)));
    let told: Vec<String> = told
        .map(|(actor, action, subject, result)| {
            format!("{actor} {action} {subject} {:?} {}", result.outcome, result.detail)
        })
        .collect();
    let expected =
        [format!("alice annotate {first} Done "), format!("bob annotate {second} Failed the bucket is away")];
    assert_eq!(told, expected);
}
