use serde_json::{Map, Value, json};

use crate::{SweepSpec, check_bounds, check_spec, json_bytes};

/// A spec with `value` at `pointer`.
fn spec(pointer: &str, value: Value) -> SweepSpec {
    let mut document = json!({
        "name": "demo",
        "benchmarks": { "worfbench": { "data": "data" } },
        "endpoints": { "main": { "kind": "openai" }, "lane": { "kind": "openai", "lane": "batch" } },
        "models": ["main/a"],
    });
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    document.pointer_mut(parent).unwrap()[field] = value;
    serde_json::from_value(document).unwrap()
}

fn check(pointer: &str, value: Value) -> Result<(), String> {
    check_bounds(&spec(pointer, value)).map_err(|error| error.to_string())
}

/// So many entries with the value of `value`, by name.
fn map(count: usize, value: &Value) -> Value {
    (0..count).map(|number| (format!("n{number}"), value.clone())).collect::<Map<_, _>>().into()
}

fn list(count: usize, item: impl Fn(usize) -> String) -> Value {
    (0..count).map(|number| Value::from(item(number))).collect::<Vec<_>>().into()
}

fn text(length: usize) -> Value {
    "x".repeat(length).into()
}

/// A part of a spec, filled up to a number of entries, bytes or milliseconds.
type Filled = fn(usize) -> Value;

/// A place in a spec, the most that it may hold, and how it is filled.
const PLACES: &[(&str, usize, Filled)] = &[
    ("/benchmarks", 100, |count| map(count, &json!({ "data": "data" }))),
    ("/models", 2000, |count| list(count, |number| format!("main/{number}"))),
    ("/endpoints", 200, |count| {
        let mut endpoints = map(count - 1, &json!({ "kind": "openai" }));
        endpoints["main"] = json!({ "kind": "openai" });
        endpoints
    }),
    ("/agents", 200, |count| map(count, &json!({ "url": "http://agent/" }))),
    ("/benchmarks/worfbench/settings", 1000, |count| list(count, |number| format!("s{number}"))),
    ("/benchmarks/worfbench/tasks", 1000, |count| list(count, |number| format!("t{number}"))),
    ("/benchmarks/worfbench/tasks", 200, |length| json!(["x".repeat(length)])),
    ("/benchmarks/worfbench/items", 10_000, |count| list(count, |number| format!("i{number}"))),
    ("/benchmarks/worfbench/evaluators", 16, |count| list(count, |_| "official".to_owned())),
    (
        "/benchmarks/worfbench",
        100,
        |count| json!({ "settings": list(count, |number| format!("team/cast=n{number}")), "casts": map(count, &json!({ "one": "main/a" })) }),
    ),
    (
        "/benchmarks/worfbench",
        64,
        |count| json!({ "settings": ["team/cast=c"], "casts": { "c": map(count, &json!("main/a")) } }),
    ),
    ("/endpoints/main/headers", 32, |count| map(count, &json!("value"))),
    ("/endpoints/main/headers", 100, |length| json!({ "x".repeat(length): "value" })),
    ("/endpoints/main/headers", 4096, |length| json!({ "x-title": text(length) })),
    ("/endpoints/main/headers_env", 32, |count| map(count, &json!("VARIABLE"))),
    ("/endpoints/main/body", 65_536, |length| json!({ "a": text(length - 8) })),
    ("/endpoints/main/base_url", 2048, |length| format!("https://{}", "x".repeat(length - 8)).into()),
    ("/endpoints/main/api_version", 200, text),
    ("/endpoints/main/region", 200, text),
    ("/models", 200, |length| json!([{ "id": "main/a", "family": text(length) }])),
    ("/endpoints/main/timeouts", 86_400_000, |time| json!({ "connect_ms": time })),
    ("/endpoints/main/timeouts", 86_400_000, |time| json!({ "first_byte_ms": time })),
    ("/endpoints/main/timeouts", 86_400_000, |time| json!({ "total_ms": time })),
    ("/endpoints/main/retries", 86_400_000, |time| json!({ "base_delay_ms": time })),
    ("/endpoints/main/retries", 86_400_000, |time| json!({ "max_delay_ms": time })),
    ("/endpoints/main/retries", 86_400_000, |time| json!({ "deadline_ms": time })),
    ("/endpoints/lane/batch", 86_400_000, |time| json!({ "gather_ms": time })),
    ("/endpoints/lane/batch", 86_400_000, |time| json!({ "poll_ms": time })),
    ("/agents", 2048, |length| json!({ "a": { "url": format!("http://a/{}", "x".repeat(length - 9)) } })),
    ("/decide", 200, |length| json!({ "question": "interval", "margin": "2pp", "metric": text(length) })),
];

#[test]
fn whatever_a_spec_lists_and_says_has_a_most_and_one_more_is_refused_with_what_to_do() {
    let mut refused = Vec::new();
    for (pointer, most, filled) in PLACES {
        assert_eq!(check(pointer, filled(*most)), Ok(()), "{pointer}: {most}");
        refused.push(check(pointer, filled(most + 1)).expect_err(pointer));
    }
    insta::assert_snapshot!(refused.join("\n"));
}

#[test]
fn what_is_measured_as_json_may_be_as_long_as_its_most_to_the_byte() {
    let agent = |length: usize| json!({ "command": [text(length)] });
    let one = |length: usize| json!({ "a": agent(length) });
    let many = |length: usize| {
        let mut agents = map(69, &agent(60_000));
        agents["last"] = agent(length);
        agents
    };
    let endpoint =
        |length: usize| json!({ "kind": "openai", "model_limits": { "x".repeat(length): { "concurrency": 1 } } });
    let of_agent = json_bytes(spec("/agents", one(0)).agents.values().next().unwrap()).len();
    let of_endpoint = json_bytes(spec("/endpoints/main", endpoint(0)).endpoints.values().next_back().unwrap()).len();
    let of_spec = json_bytes(&spec("/agents", many(0))).len();
    let check_part = |pointer: &str, most: usize, empty: usize, filled: &dyn Fn(usize) -> Value| {
        assert_eq!(check(pointer, filled(most - empty)), Ok(()), "{pointer}: {most}");
        let refused = check(pointer, filled(most - empty + 1)).unwrap_err();
        assert!(refused.contains(&format!("has {} bytes, at most {most} are allowed", most + 1)), "{refused}");
    };
    check_part("/agents", 64 << 10, of_agent, &one);
    check_part("/endpoints/main", 256 << 10, of_endpoint, &endpoint);
    check_part("/agents", 4 << 20, of_spec, &many);
}

#[test]
fn what_is_long_as_a_whole_is_refused_although_each_part_is_short() {
    let tiers = |count: usize| {
        let rates = json!({ "input_per_mtok": 1.0, "output_per_mtok": 1.0 });
        let tiers: Vec<Value> =
            (0..count).map(|number| json!({ "above_input_tokens": number, "rates": rates })).collect();
        json!({ "input_per_mtok": 1.0, "output_per_mtok": 1.0, "tiers": tiers })
    };
    assert_eq!(check("/models", json!([{ "id": "main/a", "price": tiers(10) }])), Ok(()));
    let refused = [
        check("/models", json!([{ "id": "main/a", "price": tiers(1000) }])),
        check(
            "/benchmarks/worfbench/judge",
            json!({ "panel": ["main/b", { "id": "main/a", "price": tiers(1000) }], "rule": "mean" }),
        ),
        check("/benchmarks/worfbench/roles", json!({ "user": { "id": "main/a", "price": tiers(1000) } })),
        check("/benchmarks/worfbench/judge_price", tiers(1000)),
        check("/endpoints/main/model_limits", map(20_000, &json!({ "concurrency": 1 }))),
        check("/agents", json!({ "a": { "command": list(20_000, |_| "word".to_owned()) } })),
        check("/agents", json!({ "a": { "command": ["run"], "env": map(10_000, &json!("value")) } })),
        // Each of a hundred benchmarks has as many settings as one may have.
        check(
            "/benchmarks",
            map(100, &json!({ "settings": list(1000, |number| format!("{}{number}", "x".repeat(90))) })),
        ),
    ];
    insta::assert_snapshot!(refused.map(Result::unwrap_err).join("\n"));
}

/// Nights of stored schedules, and rescores of old runs, are planned from specs that were accepted by a version without bounds.
#[test]
fn a_spec_that_is_read_again_keeps_what_is_beyond_its_bounds() {
    for (pointer, value) in [
        ("/endpoints/main/timeouts", json!({ "total_ms": 100 * 3_600_000 })),
        ("/endpoints/main/headers", map(33, &json!("x"))),
        ("/models", list(2001, |number| format!("main/{number}"))),
        ("/benchmarks/worfbench/tasks", list(1001, |number| format!("t{number}"))),
    ] {
        assert!(check(pointer, value.clone()).is_err(), "{pointer}");
        assert_eq!(check_spec(&spec(pointer, value)), Ok(()), "{pointer}");
    }
}
