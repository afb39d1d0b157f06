//! The run: two trials of two items. One session is measured, with a tool, a thought and a failed try; one is refused by its endpoint; one goes
//! on in a second attempt, with a price that nobody knows; one is not run.

use std::path::{Path, PathBuf};

use regatta_proto::Digest;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(super) struct SmallRun {
    folder: TempDir,
    segment: String,
}

impl SmallRun {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).unwrap();
        let (segment, compressed) = transcripts();
        std::fs::create_dir(folder.path().join("transcripts")).unwrap();
        write(&segment, &compressed);
        write("sweep.lock.yaml", lock().to_string().as_bytes());
        write("summary.json", summary().to_string().as_bytes());
        write("results.jsonl", lines(&results()).as_bytes());
        write("attempts.jsonl", lines(&attempts(&segment)).as_bytes());
        Self { folder, segment }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn segment(&self) -> PathBuf {
        self.path().join(&self.segment)
    }
}

fn lines(documents: &[Value]) -> String {
    documents.iter().map(|document| format!("{document}\n")).collect()
}

/// JSON is YAML.
fn lock() -> Value {
    let benchmark = json!({
        "dataset": Digest::of(b"data").to_string(), "settings": ["one"], "evaluators": ["official"], "items": {"one": 2},
    });
    json!({
        "v": 2, "regatta": "0", "name": "s", "seed": 1, "trials": 2, "benchmarks": {"bench": benchmark}, "endpoints": {},
        "models": [{"id": "e/m"}], "price_sources": [],
    })
}

fn summary() -> Value {
    let metric = json!({
        "evaluator": "official", "metric": "f1", "headline": true, "value": 0.55, "low": 0.1, "high": 1.0, "n": 1, "scored": 2, "total": 4,
    });
    let row = json!({
        "benchmark": "bench", "setting": "one", "model": "e/m", "simulated": false, "items": 2, "coverage": 0.5, "metrics": [metric],
        "sessions": {"total": 4, "measured": 2, "model_failures": 0, "not_measured": 1, "not_run": 1},
    });
    json!({
        "sweep": "s-1", "state": "incomplete", "created_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:01:00Z", "rows": [row],
    })
}

fn results() -> [Value; 4] {
    let line = |trial: u16, item: &str, outcome: &str, cause: Value, flags: Value, scores: Value| {
        json!({
            "cell": trial, "benchmark": "bench", "setting": "one", "model": "e/m", "trial": trial, "item": item, "task": "all",
            "outcome": outcome, "cause": cause, "flags": flags, "scores": scores,
        })
    };
    [
        line(0, "tea", "measured", json!(null), json!(["truncated"]), json!({"official": {"f1": 0.1, "exact": 0.0}})),
        line(0, "odd, \"one\"", "not_measured", json!("auth"), json!([]), json!(null)),
        line(1, "tea", "measured", json!(null), json!([]), json!({"official": {"f1": 1.0}})),
        line(1, "odd, \"one\"", "not_run", json!(null), json!([]), json!(null)),
    ]
}

fn attempts(segment: &str) -> [Value; 4] {
    let line = |cell: u32, item: &str, attempt: u32, id: u32, cost: Option<u64>, calls: u32, served: Value| {
        json!({
            "cell": cell, "item": item, "attempt": attempt, "id": format!("w-{id}"), "state": "recorded", "outcome": "measured", "cause": null,
            "wasted": false, "worker": "w", "started_at": "2026-01-01T00:00:00.000001Z", "ended_at": "2026-01-01T00:00:05Z",
            "usage": {"input": 100 * calls, "output": 7 * calls}, "cost_nanodollars": cost, "known_cost_nanodollars": cost.unwrap_or(0),
            "unpriced_calls": u32::from(cost.is_none()), "at_most_nanodollars": null, "calls": calls, "retries": 0, "latency_us": 1_500_000,
            "served": served, "segment": segment, "line": id - 1,
        })
    };
    [
        line(0, "tea", 1, 1, Some(42_000), 2, json!(["m-1"])),
        line(0, "odd, \"one\"", 1, 2, Some(0), 0, json!(null)),
        line(1, "tea", 1, 3, Some(21_000), 1, json!(null)),
        line(1, "tea", 2, 4, None, 1, json!(["m-1"])),
    ]
}

/// Name and bytes of the segment.
fn transcripts() -> (String, Vec<u8>) {
    let request = |messages: Value| {
        json!({
            "messages": messages, "sampling": {"temperature": 0.0, "max_tokens": 64}, "stop": ["END"],
            "tools": [{"name": "boil", "description": "boils", "parameters": {"type": "object", "properties": {"what": {"type": "string"}}}}],
        })
    };
    let call = |attempt: u32, messages: Value, reply: Value, cost: Option<u64>, at: &str| {
        json!({"call": {
            "role": "agent", "attempt": attempt, "model": "e/m", "request": request(messages), "reply": reply,
            "usage": {"input": 100, "cached_input": 40, "output": 7}, "cost": cost, "served": {"model": "m-1", "request_id": "r"},
            "latency_us": 750_000, "at": at,
        }})
    };
    let asked = json!([{"role": "system", "content": "be brief"}, {"role": "user", "content": "make tea"}]);
    let boil = json!({"id": "c1", "name": "boil", "arguments": "{\"what\": \"water\"}"});
    let thought = json!({"text": "water first"});
    let calls_tool = json!({"text": null, "finish": "tool_calls", "tool_calls": [boil], "reasoning": thought});
    let told = json!([
        {"role": "system", "content": "be brief"}, {"role": "user", "content": "make tea"},
        {"role": "assistant", "content": "", "tool_calls": [boil], "reasoning": thought},
        {"role": "tool", "content": "it boils", "tool_call_id": "c1"},
    ]);
    let mut last = call(1, told, json!({"text": "=done", "finish": "length"}), Some(21_000), "2026-01-01T00:00:02Z");
    last["call"]["tries"] = json!([{"class": "rate_limited", "status": 429, "detail": "slow down", "latency_us": 9}]);
    let said = json!({"text": "tea", "finish": "stop"});
    let first = call(1, asked.clone(), said.clone(), Some(21_000), "2026-01-01T00:00:03Z");
    let second = call(2, asked.clone(), said, None, "2026-01-01T00:00:04Z");
    let refused = json!({"failed": {
        "role": "agent", "attempt": 1, "model": "e/m", "tries": [{"class": "auth", "status": 401, "detail": "no such key", "latency_us": 1000}],
        "request": request(asked.clone()),
    }});
    let stored = |number: u32, cell: u32, item: &str, position: u32, attempt: u32, events: Value| {
        json!({
            "cell": cell, "item": item, "position": position, "attempt": attempt, "attempt_id": format!("w-{number}"),
            "transcript": {"events": events},
        })
    };
    let lines = lines(&[
        stored(1, 0, "tea", 0, 1, json!([call(1, asked, calls_tool, Some(21_000), "2026-01-01T00:00:01Z"), last])),
        stored(2, 0, "odd, \"one\"", 1, 1, json!([refused])),
        stored(3, 1, "tea", 0, 1, json!([first])),
        stored(4, 1, "tea", 0, 2, json!([first, second])),
    ]);
    let compressed = zstd::bulk::compress(lines.as_bytes(), 1).unwrap();
    let name = Digest::of(&compressed).to_string();
    (format!("transcripts/{}.jsonl.zst", name.get(..16).unwrap()), compressed)
}
