use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Json;
use axum::extract::Query;
use axum::response::{AppendHeaders, Redirect};
use axum::routing::get;
use proptest::prelude::*;
use regatta_backends::{AuditRow, OwnerRow};
use regatta_catalog::Input;
use regatta_coordinator::{TokenList, VerdictsPage};
use reqwest::header::HeaderValue;
use tokio_util::sync::CancellationToken;

use super::schedules::Asked;
use super::*;
use crate::hostile::{nearly, nearly_text};

fn with_token(coordinator: &str) -> ClientArgs {
    ClientArgs { token: Some("a token of sixteen".to_owned()), ..ClientArgs::at(coordinator.to_owned()) }
}

#[test]
fn a_token_leaves_this_machine_encrypted_or_by_an_explicit_word() {
    let refused = Client::new(&with_token("http://regatta.example:8080")).err().unwrap();
    let said = refused.to_string();
    assert!(refused.downcast_ref::<BadConfiguration>().is_some());
    assert!(said.contains("https://") && said.contains("--plain-http") && !said.contains("sixteen"), "{said}");
    for good in ["https://regatta.example", "http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080"] {
        Client::new(&with_token(good)).unwrap();
    }
    Client::new(&ClientArgs { plain_http: true, ..with_token("http://regatta.example") }).unwrap();
    Client::new(&ClientArgs::at("http://regatta.example".to_owned())).unwrap();
}

#[test]
fn a_password_in_the_address_of_a_coordinator_is_refused_and_not_told() {
    for address in ["https://user:hidden@regatta.example", "http://user:hidden@127.0.0.1:8080"] {
        let refused = Client::new(&ClientArgs::at(address.to_owned())).err().unwrap();
        assert!(refused.downcast_ref::<BadConfiguration>().is_some());
        let said = refused.to_string();
        assert!(said.contains("REGATTA_TOKEN") && !said.contains("hidden"), "{said}");
    }
}

/// A server with one route, and its address.
fn serving(routes: axum::Router) -> String {
    let listener = crate::listener::listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    crate::listener::serve(listener, routes, CancellationToken::new());
    address
}

/// A coordinator that lists the numbers 1 to `most`, two a page, and a client that asks it.
fn listing(most: u64) -> Client {
    let page = move |Query(asked): Query<HashMap<String, String>>| async move {
        let after: u64 = asked.get("after").map_or(0, |after| after.parse().unwrap());
        let page: Vec<u64> = (after + 1..=most).take(2).collect();
        let last = page.last().filter(|last| **last < most);
        let link = last.map(|last| (LINK, format!("<?after={last}&limit=2>; rel=\"next\"")));
        (AppendHeaders(link), Json(page))
    };
    Client::new(&with_token(&serving(axum::Router::new().route("/v1/numbers", get(page))))).unwrap()
}

#[tokio::test]
async fn a_list_is_read_page_by_page() {
    let client = listing(5);
    assert_eq!(client.whole::<u64>("numbers").await.unwrap(), [1, 2, 3, 4, 5]);
    let some = client.pages("numbers", "?limit=3", 3, |page: Vec<u64>| page).await.unwrap();
    assert_eq!(some, [1, 2, 3]);
}

/// A page of tokens comes from a coordinator whose owners have a list of their own, and the next answer from one of before.
#[tokio::test]
async fn no_owner_seems_to_be_without_a_quota_while_coordinators_are_replaced() {
    let row = serde_json::json!({ "owner": "alice", "quota": { "sessions": 7 }, "granted": 0, "granted_sessions": 0 });
    let owner: OwnerRow = serde_json::from_value(row).unwrap();
    let tokens = move |Query(asked): Query<HashMap<String, String>>| async move {
        let owners = if asked.contains_key("limit") { Vec::new() } else { vec![owner.clone()] };
        Json(TokenList { tokens: Vec::new(), owners })
    };
    let client = Client::new(&with_token(&serving(axum::Router::new().route("/v1/tokens", get(tokens))))).unwrap();
    let owners = client.tokens().await.unwrap().owners;
    assert_eq!(owners.iter().map(|row| row.quota.sessions).collect::<Vec<_>>(), [Some(7)]);
}

#[tokio::test]
async fn a_list_without_an_end_is_read_as_far_as_it_was_wanted() {
    let some = listing(u64::MAX).pages("numbers", "?limit=9", 9, |page: Vec<u64>| page).await.unwrap();
    assert_eq!(some, (1..10).collect::<Vec<_>>());
    // Pages without entries lead nowhere.
    let nothing = async || ([(LINK, "<?after=1&limit=2>; rel=\"next\"")], "[]");
    let client = Client::new(&with_token(&serving(axum::Router::new().route("/v1/numbers", get(nothing)))));
    assert_eq!(client.unwrap().whole::<u64>("numbers").await.unwrap(), [0; 0]);
}

#[tokio::test]
async fn coordinators_of_before_there_were_pages_are_understood() {
    let owner = serde_json::json!({
        "owner": "alice", "quota": { "budget": null, "sessions": 5 }, "granted": 0, "granted_sessions": 3,
    });
    let tokens = serde_json::json!({ "tokens": [], "owners": [owner] });
    let routes = axum::Router::new()
        .route("/v1/sweeps", get(async || "[]"))
        .route("/v1/tokens", get(async move || Json(tokens)));
    let client = Client::new(&with_token(&serving(routes))).unwrap();
    assert!(client.sweeps().await.unwrap().is_empty());
    assert_eq!(client.tokens().await.unwrap().owners[0].quota.sessions, Some(5));
    let nobody = serde_json::json!({ "tokens": [], "owners": [] });
    let routes = axum::Router::new().route("/v1/tokens", get(async move || Json(nobody)));
    let client = Client::new(&with_token(&serving(routes))).unwrap();
    assert!(client.tokens().await.unwrap().owners.is_empty());
}

#[test]
fn a_link_leads_to_the_same_list_alone() {
    let next = |link: &'static str| next_page(&HeaderMap::from_iter([(LINK, HeaderValue::from_static(link))]));
    assert_eq!(next("<?after=a%2Bb&limit=2>; rel=\"next\"").as_deref(), Some("?after=a%2Bb&limit=2"));
    for other in [
        "<https://evil.example/v1/sweeps?after=a>; rel=\"next\"",
        "<//evil.example/?after=a>; rel=\"next\"",
        "<../tokens?after=a>; rel=\"next\"",
        "<?after=a>; rel=\"prev\"",
        "?after=a",
        "",
    ] {
        assert_eq!(next(other), None, "{other}");
    }
}

#[tokio::test]
async fn a_redirection_is_not_followed() {
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let answer = move || async move {
        count.fetch_add(1, Ordering::SeqCst);
        "[]"
    };
    let elsewhere = serving(axum::Router::new().route("/v1/sweeps", get(answer)));
    let to = format!("{elsewhere}/v1/sweeps");
    let redirecting = axum::Router::new().route("/v1/sweeps", get(async move || Redirect::temporary(&to)));
    let problem = Client::new(&with_token(&serving(redirecting))).unwrap().sweeps().await.unwrap_err();
    assert!(problem.downcast_ref::<BadConfiguration>().is_some());
    assert!(problem.to_string().contains(&format!("redirects to {elsewhere}/v1/sweeps")), "{problem}");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

/// Reads an answer; `true` if it is understood.
type Reading = fn(&[u8]) -> bool;

fn reads<T: DeserializeOwned>(body: &[u8]) -> bool {
    decoded::<T>(body).is_ok()
}

/// Right answers, and their kinds.
const ANSWERS: [(&str, Reading); 10] = [
    (
        r#"[{"id":"s1","name":"nightly","lock":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
             "state":"running","budget":5000000000,"created_at":"2026-01-01T00:00:00Z","ended_at":null}]"#,
        reads::<Vec<SweepRow>>,
    ),
    (
        r#"{"id":"s1","state":"running","created_at":"2026-01-01T00:00:00Z","ended_at":null,"has_report":true,"cells":[],
            "budget":{"cap":9,"spent":1,"maybe_spent":2,"reserved":3,"left":3}}"#,
        reads::<SweepStatus>,
    ),
    (r#"{"id":"s1","created":true,"sessions":12}"#, reads::<Submitted>),
    (
        r#"{"term":3,"stalled":null,"reports_waiting":1,"reports_set_aside":0,"dead_letters":0,"sweeps":[],
            "findings":[{"about":"s1","problem":"it stands still","next_step":"look"}]}"#,
        reads::<Diagnosis>,
    ),
    (
        r#"{"going":[{"sweep":"s1","ended_at":"2026-01-01T00:00:00Z","goes":"everything","objects":3}],
            "kept":1,"applied":false,"left":0,"problems":["one"]}"#,
        reads::<GcResult>,
    ),
    (
        r#"{"tokens":[],"owners":[{"owner":"alice","quota":{"sessions":7},"granted":0,"granted_sessions":0}]}"#,
        reads::<TokenList>,
    ),
    (
        r#"[{"number":7,"at":"2026-01-01T00:00:00Z","actor":"alice","credential":"a token","action":"submit",
             "subject":"s1","result":null}]"#,
        reads::<Vec<AuditRow>>,
    ),
    (
        r#"[{"kind":"lock","digest":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"}]"#,
        reads::<Vec<Input>>,
    ),
    (r#"{"verdicts":[],"looked_up":1}"#, reads::<VerdictsPage>),
    (r#"{"at":"2026-01-01T00:00:00Z"}"#, reads::<Asked>),
];

#[test]
fn an_answer_of_each_kind_is_read() {
    for (right, reads) in ANSWERS {
        assert!(reads(right.as_bytes()), "{right}");
    }
}

#[test]
fn a_refusal_without_words_says_its_status() {
    for text in ["", " ", r#"{"error":""}"#] {
        let said = refusal(StatusCode::NOT_FOUND, text.to_owned()).to_string();
        assert_eq!(said, "the coordinator answered 404 Not Found; does it run another version?", "{text:?}");
    }
    let said = refusal(StatusCode::CONFLICT, r#"{"error":"it has ended"}"#.to_owned()).to_string();
    assert_eq!(said, "the coordinator answered 409 Conflict: it has ended");
}

proptest! {
    #[test]
    fn an_answer_that_is_nearly_right_is_read_or_refused(
        (which, body) in (0..ANSWERS.len()).prop_flat_map(|which| {
            nearly(ANSWERS[which].0.as_bytes()).prop_map(move |body| (which, body))
        }),
    ) {
        let (_, reads) = ANSWERS[which];
        reads(&body);
    }

    #[test]
    fn whatever_a_refusal_says_the_error_has_words(status in 400_u16..600, text in nearly_text(r#"{"error":"no"}"#)) {
        let said = refusal(StatusCode::from_u16(status).unwrap(), text).to_string();
        prop_assert!(!said.trim().is_empty());
    }

    #[test]
    fn whatever_a_link_says_it_leads_to_the_same_list(link in nearly(b"<?after=a%2Bb&limit=2>; rel=\"next\"")) {
        if let Ok(link) = HeaderValue::from_bytes(&link) {
            let next = next_page(&HeaderMap::from_iter([(LINK, link)]));
            prop_assert!(next.is_none_or(|next| next.starts_with('?')));
        }
    }
}
