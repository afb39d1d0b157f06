//! The golden vectors of `exec`, and what docs/benchmarks/appbench.md §7 says of perfect plans on the published data.

use std::collections::BTreeMap;

use regatta_benchmark_testing::{document, lines, shared};
use serde_json::Value;

use super::score::ExecScore;
use super::*;
use crate::data::{Data, Entry, Split};
use crate::parse::paper::{Argument, Call, call};
use crate::vectors;

#[test]
fn every_item_and_group_of_the_golden_case_is_as_expected() {
    let (Some(data), Some(shared)) = (vectors::data(), shared("appbench")) else { return };
    let case = shared.join("golden/exec-mixed");
    let expected = document(&case.join("expected.json"));
    let mut groups: BTreeMap<String, Vec<ExecScore>> = BTreeMap::new();
    let mut items = 0;
    for line in lines(&case.join("predictions.jsonl")) {
        let text = |field: &str| line[field].as_str().unwrap().to_owned();
        let scored = score(&data, data.find(&text("item")).unwrap(), &text("output"));
        assert_eq!(scored.golden(), expected["items"][text("id")], "{line}");
        groups.entry(text("group")).or_default().push(scored);
        items += 1;
    }
    assert_eq!(items, expected["items"].as_object().unwrap().len());
    assert_eq!(groups.len(), expected["aggregate"].as_object().unwrap().len());
    for (group, scores) in &groups {
        let (got, expected) = (aggregate(scores.iter().map(ExecScore::outcome)), &expected["aggregate"][group]);
        for (name, value) in expected.as_object().unwrap() {
            let (got, value) = (got[name].as_f64().unwrap(), value.as_f64().unwrap());
            assert!((got - value).abs() <= 1e-12, "{group} {name}: {got}, not {value}");
        }
    }
}

/// Successful items of each split, when their plans are written by `plan`.
fn successes(data: &Data, plan: impl Fn(&Entry) -> String) -> [usize; 4] {
    Split::ALL.map(|split| data.of_split(split).filter(|entry| score(data, entry, &plan(entry)).success).count())
}

/// Way in which a perfect plan writes an argument that gold takes from an earlier call.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    /// As a variable only if the earlier call really makes the value.
    ProducedAsVariables,
    /// With its true value.
    AllLiteral,
}

/// The gold plan of `entry` with its dependencies written in another style; what gold has as literals stays.
fn rewritten(data: &Data, entry: &Entry, style: Style) -> String {
    let parsed: Vec<Call> =
        entry.gold.api_results.iter().filter_map(|text| call(text, |name| data.phone.has_api(name))).collect();
    let mut plan = String::new();
    for (at, gold) in parsed.iter().enumerate() {
        let truth = |at: usize, key: &str| entry.gold.used_api.get(at).and_then(|call| call.input(key));
        let write = |key: &str, value: &Argument| {
            let Argument::Name(name) = value else { return format!("'{}'", value.text()) };
            let producer = parsed.iter().take(at).rposition(|call| call.returned.contains(name));
            let is_echo = producer.is_some_and(|producer| truth(producer, key).is_some());
            match truth(at, key) {
                Some(value) if is_echo || style == Style::AllLiteral => format!("'{value}'"),
                _ => name.clone(),
            }
        };
        let arguments = gold.arguments.iter().map(|(key, value)| format!("#{key}={}", write(key, value)));
        let (arguments, returned) = (arguments.collect::<Vec<_>>().join(", "), gold.returned.join(", "));
        let app = entry.gold.used_app.get(at).map_or("", |app| app);
        plan.push_str(&format!("{app}: [{returned} = {}({arguments})]\n", gold.name));
    }
    plan
}

#[test]
fn gold_plans_themselves_reach_the_true_calls_on_585_items() {
    let Some(data) = vectors::data() else { return };
    let gold = |entry: &Entry| -> String {
        let calls = entry.gold.api_results.iter().enumerate();
        calls.map(|(at, call)| format!("{}: [{call}]\n", entry.gold.used_app.get(at).map_or("", |app| app))).collect()
    };
    assert_eq!(successes(&data, gold), [200, 131, 139, 115]);
}

#[test]
fn plans_with_the_values_that_users_gave_as_literals_and_the_others_as_variables_reach_nearly_all() {
    let Some(data) = vectors::data() else { return };
    let plan = |entry: &Entry| rewritten(&data, entry, Style::ProducedAsVariables);
    assert_eq!(successes(&data, plan), [200, 200, 201, 190]);
}

#[test]
fn plans_with_all_true_values_as_literals_fail_only_where_the_data_contradict_themselves() {
    let Some(data) = vectors::data() else { return };
    let plan = |entry: &Entry| rewritten(&data, entry, Style::AllLiteral);
    assert_eq!(successes(&data, plan), [200, 200, 201, 196]);
}

#[test]
fn the_detail_of_an_item_is_its_golden_entry_and_more() {
    let Some(data) = vectors::data() else { return };
    let entry = data.find("sm-000").unwrap();
    let plan: String = entry.gold.api_results.iter().map(|call| format!("Rents: [{call}]\n")).collect();
    let scored = score(&data, entry, &plan);
    let (Value::Object(golden), Value::Object(detail)) = (scored.golden(), scored.detail()) else { unreachable!() };
    assert!(golden.iter().all(|(name, value)| detail.get(name) == Some(value)));
    assert_eq!((&detail["makespan"], &detail["schedule"]), (&2.into(), &serde_json::json!([[0], [1]])));
    assert_eq!(detail["ledger"].as_array().map(Vec::len), Some(1));
}
