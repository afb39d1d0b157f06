use std::collections::HashMap;
use std::sync::Mutex;

use futures::FutureExt;
use regatta_proto::{BenchmarkName, ChatMessage, ChatRole, Finish, ItemId, Sampling, SessionSeed, Setting, Trial};

use super::*;

/// An answer store in memory.
#[derive(Default)]
pub(crate) struct MemoryStore {
    answers: Mutex<HashMap<Digest, Bytes>>,
    is_away: bool,
}

impl ResponseStore for MemoryStore {
    fn get<'a>(&'a self, key: &'a Digest) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        let found = if self.is_away {
            Err(StoreError("away".into()))
        } else {
            Ok(self.answers.lock().unwrap().get(key).cloned())
        };
        async move { found }.boxed()
    }

    fn put<'a>(&'a self, key: &'a Digest, answer: Bytes) -> BoxFuture<'a, Result<(), StoreError>> {
        self.answers.lock().unwrap().insert(*key, answer);
        async { Ok(()) }.boxed()
    }
}

fn cache(store: MemoryStore) -> ResponseCache {
    ResponseCache::new(Arc::new(store), &EndpointSpec::of_kind(EndpointKind::Openai), None)
}

fn request(text: &str) -> ChatRequest {
    ChatRequest::new(vec![ChatMessage::new(ChatRole::User, text)], Sampling::default())
}

fn answer(text: &str) -> CachedResponse {
    CachedResponse {
        reply: Reply::of_text(Some(text), Finish::Stop),
        usage: Usage { input: 3, output: 2, ..Usage::default() },
        raw_usage: None,
        served: Served::default(),
        latency_us: 5,
        first_token_us: None,
        at: None,
        cost: Some(Money(7)),
    }
}

struct Session {
    benchmark: BenchmarkName,
    setting: Setting,
    item: ItemId,
}

impl Session {
    fn of(item: &str) -> Self {
        Self { benchmark: "b".parse().unwrap(), setting: "s".parse().unwrap(), item: item.parse().unwrap() }
    }

    fn tag(&self, trial: u16, seed: u64) -> SessionTag<'_> {
        SessionTag {
            benchmark: &self.benchmark,
            setting: &self.setting,
            item: &self.item,
            trial: Trial(trial),
            role: Role::Agent,
            seed: SessionSeed(seed),
        }
    }
}

#[tokio::test]
async fn what_was_kept_is_found_in_every_mode_but_off_and_refresh() {
    let cache = cache(MemoryStore::default());
    let key = cache.chat_key("m", Role::Agent, &request("hi"), None, 0);
    cache.keep(CacheMode::ReadWrite, &key, &answer("there")).await;
    for mode in [CacheMode::ReadWrite, CacheMode::ReadOnly, CacheMode::Replay] {
        assert_eq!(cache.find_response(mode, &key).await, Found::Kept(answer("there")), "{mode:?}");
    }
    for mode in [CacheMode::Off, CacheMode::Refresh] {
        assert_eq!(cache.find_response(mode, &key).await, Found::Ask, "{mode:?}");
    }
}

#[tokio::test]
async fn what_is_asked_anew_replaces_what_was_kept_so_that_a_replay_has_it() {
    let cache = cache(MemoryStore::default());
    let key = cache.chat_key("m", Role::Agent, &request("hi"), None, 0);
    cache.keep(CacheMode::ReadWrite, &key, &answer("there")).await;
    cache.keep(CacheMode::ReadWrite.asking_anew(), &key, &answer("here")).await;
    assert_eq!(cache.find_response(CacheMode::Replay.asking_anew(), &key).await, Found::Kept(answer("here")));
    assert_eq!(CacheMode::ReadOnly.asking_anew(), CacheMode::Off);
}

#[tokio::test]
async fn what_only_reads_keeps_nothing() {
    let cache = cache(MemoryStore::default());
    let key = cache.chat_key("m", Role::Agent, &request("hi"), None, 0);
    for mode in [CacheMode::Off, CacheMode::ReadOnly, CacheMode::Replay] {
        cache.keep(mode, &key, &answer("there")).await;
    }
    assert_eq!(cache.find_response(CacheMode::ReadWrite, &key).await, Found::Ask);
}

#[tokio::test]
async fn a_miss_is_asked_for_unless_replaying() {
    let cache = cache(MemoryStore::default());
    let key = cache.chat_key("m", Role::Agent, &request("hi"), None, 0);
    assert_eq!(cache.find_response(CacheMode::ReadOnly, &key).await, Found::Ask);
    let Found::Missing(reason) = cache.find_response(CacheMode::Replay, &key).await else { panic!("it is not there") };
    assert!(reason.contains(&key.to_string()), "{reason}");
}

#[tokio::test]
async fn a_store_that_is_away_or_damaged_costs_a_call_but_never_an_answer() {
    let away = cache(MemoryStore { is_away: true, ..MemoryStore::default() });
    let key = away.chat_key("m", Role::Agent, &request("hi"), None, 0);
    assert_eq!(away.find_response(CacheMode::ReadWrite, &key).await, Found::Ask);
    assert!(matches!(away.find_response(CacheMode::Replay, &key).await, Found::Missing(_)));
    let damaged = MemoryStore::default();
    damaged.answers.lock().unwrap().insert(key, Bytes::from_static(b"not an answer"));
    let damaged = cache(damaged);
    assert_eq!(damaged.find_response(CacheMode::ReadWrite, &key).await, Found::Ask);
    assert!(matches!(damaged.find_response(CacheMode::Replay, &key).await, Found::Missing(_)));
}

#[test]
fn everything_that_an_answer_depends_on_is_part_of_its_key() {
    let cache = cache(MemoryStore::default());
    let openai = || EndpointSpec::of_kind(EndpointKind::Openai);
    let of = |spec: &EndpointSpec, address| ResponseCache::new(Arc::new(MemoryStore::default()), spec, address);
    let elsewhere = of(&openai(), Some("http://other/v1"));
    let routed = of(&EndpointSpec { headers: [("x-route".into(), "b".into())].into(), ..openai() }, None);
    let keyed = |variable: &str| {
        of(&EndpointSpec { headers_env: [("x-virtual-key".into(), variable.into())].into(), ..openai() }, None)
    };
    let (ours, theirs) = (keyed("OUR_KEY"), keyed("THEIR_KEY"));
    let dated = of(&EndpointSpec { api_version: Some("2024-10-21".into()), ..openai() }, None);
    let (one, two) = (Session::of("one"), Session::of("two"));
    let (mut warm, hi) = (request("hi"), request("hi"));
    warm.sampling.temperature = Some(0.5);
    let keys = [
        cache.chat_key("m", Role::Agent, &hi, Some(&one.tag(0, 1)), 0),
        cache.chat_key("n", Role::Agent, &hi, Some(&one.tag(0, 1)), 0),
        cache.chat_key("m", Role::Agent, &hi, Some(&one.tag(0, 1)), 1),
        cache.chat_key("m", Role::User, &hi, Some(&one.tag(0, 1)), 0),
        cache.chat_key("m", Role::Judge, &hi, Some(&one.tag(0, 1)), 0),
        cache.chat_key("m", Role::Agent, &warm, Some(&one.tag(0, 1)), 0),
        cache.chat_key("m", Role::Agent, &hi, Some(&two.tag(0, 1)), 0),
        cache.chat_key("m", Role::Agent, &hi, Some(&one.tag(1, 1)), 0),
        // A sweep with another seed gets other samples.
        cache.chat_key("m", Role::Agent, &hi, Some(&one.tag(0, 2)), 0),
        elsewhere.chat_key("m", Role::Agent, &hi, Some(&one.tag(0, 1)), 0),
        routed.chat_key("m", Role::Agent, &hi, Some(&one.tag(0, 1)), 0),
        ours.chat_key("m", Role::Agent, &hi, Some(&one.tag(0, 1)), 0),
        theirs.chat_key("m", Role::Agent, &hi, Some(&one.tag(0, 1)), 0),
        dated.chat_key("m", Role::Agent, &hi, Some(&one.tag(0, 1)), 0),
    ];
    let distinct: std::collections::HashSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), keys.len());
}

#[test]
fn a_simulated_endpoint_is_known_by_its_settings_and_not_by_its_port() {
    let at = |url: &str, kind| {
        let spec = EndpointSpec::of_kind(kind);
        ResponseCache::new(Arc::new(MemoryStore::default()), &spec, Some(url)).chat_key(
            "m",
            Role::Agent,
            &request("hi"),
            None,
            0,
        )
    };
    assert_eq!(at("http://[::1]:1/v1", EndpointKind::Simulated), at("http://[::1]:2/v1", EndpointKind::Simulated));
    assert_ne!(at("http://[::1]:1/v1", EndpointKind::Openai), at("http://[::1]:2/v1", EndpointKind::Openai));
}
