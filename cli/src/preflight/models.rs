//! Models that a sweep asks, by the fields that name them.

use regatta_proto::{EndpointName, Judge, ModelRef, SweepLock};

/// Models that `lock` asks at `endpoint`, each with the field that names it.
pub(super) fn asked_at<'l>(lock: &'l SweepLock, endpoint: &EndpointName) -> Vec<(String, &'l str)> {
    let here = all(lock).into_iter().filter(|(_, id)| id.endpoint == *endpoint);
    here.map(|(field, id)| (field, id.model.as_str())).collect()
}

fn all(lock: &SweepLock) -> Vec<(String, &ModelRef)> {
    let tested = lock.models.iter().enumerate().map(|(at, model)| (format!("models[{at}]"), &model.id));
    let mut all: Vec<(String, &ModelRef)> = tested.collect();
    for (name, benchmark) in &lock.benchmarks {
        let place = format!("benchmarks.{name}");
        all.extend(benchmark.roles.iter().map(|(role, model)| (format!("{place}.roles.{role}"), &model.id)));
        for (cast, members) in &benchmark.casts {
            let members = members.iter();
            all.extend(members.map(|(member, model)| (format!("{place}.casts.{cast}.{member}"), &model.id)));
        }
        all.extend(benchmark.judge.iter().flat_map(Judge::ids).map(|id| (format!("{place}.judge"), id)));
        let of_audit = benchmark.audit.iter().flat_map(|audit| audit.judge.ids());
        all.extend(of_audit.map(|id| (format!("{place}.audit.judge"), id)));
    }
    all
}

#[cfg(test)]
mod tests {
    use regatta_proto::Digest;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_model_is_named_by_its_field() {
        let benchmark = json!({
            "dataset": Digest::of(b"data").to_string(), "settings": ["one"], "evaluators": ["official"],
            "roles": { "user": { "id": "main/user" } }, "casts": { "tuned": { "intent": { "id": "main/member" } } },
            "judge": "main/judge", "audit": { "judge": "other/judge", "share": 0.1 }, "items": { "one": 1 },
        });
        let lock: SweepLock = serde_json::from_value(json!({
            "v": 2, "regatta": "0", "name": "s", "seed": 1, "trials": 1, "benchmarks": { "b": benchmark },
            "endpoints": {}, "models": [{ "id": "other/a" }, { "id": "main/b" }], "price_sources": [],
        }))
        .unwrap();
        let asked = |endpoint: &str| -> Vec<String> {
            let asked = asked_at(&lock, &endpoint.parse().unwrap()).into_iter();
            asked.map(|(field, model)| format!("{field} {model}")).collect()
        };
        let of_benchmark =
            ["benchmarks.b.roles.user user", "benchmarks.b.casts.tuned.intent member", "benchmarks.b.judge judge"];
        assert_eq!(asked("main"), [&["models[1] b"][..], &of_benchmark[..]].concat());
        assert_eq!(asked("other"), ["models[0] a", "benchmarks.b.audit.judge judge"]);
    }
}
