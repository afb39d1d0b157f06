//! Rules, alerts and dashboards name metrics that are documented, fire when they should, and have runbooks.

use std::collections::BTreeSet;
use std::process::Command;

use regatta_tests::regatta::workspace;
use serde_yaml_ng::Value;

use crate::rendering::{chart, field, items, kind, objects_of, promtool, renderer, succeeds, word};

/// Names of metrics in a text, without what a histogram's series end in.
fn metrics(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let names = text.split(|c: char| !is_part(c)).filter(|name| name.starts_with("regatta_"));
    names
        .map(|name| {
            ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name).to_owned()
        })
        .collect()
}

#[test]
fn every_metric_in_rules_and_dashboards_is_documented() {
    let documented = metrics(&std::fs::read_to_string(workspace().join("docs/metrics.md")).unwrap());
    assert!(documented.len() > 30);
    let mut places =
        vec![chart().join("files/rules.yaml"), chart().join("values.yaml"), chart().join("templates/autoscaling.yaml")];
    places.extend(std::fs::read_dir(chart().join("dashboards")).unwrap().map(|entry| entry.unwrap().path()));
    assert_eq!(places.len(), 7);
    for place in places {
        let used = metrics(&std::fs::read_to_string(&place).unwrap());
        let unknown: Vec<_> = used.difference(&documented).collect();
        assert!(!used.is_empty() && unknown.is_empty(), "{}: {unknown:?}", place.display());
    }
}

/// Alerts of a file of rules.
fn alerts(rules: &Value) -> BTreeSet<String> {
    let groups = items(field(rules, "groups"));
    let rules = groups.iter().flat_map(|group| items(field(group, "rules")));
    rules.map(|rule| word(field(rule, "alert")).to_owned()).filter(|name| !name.is_empty()).collect()
}

fn rules() -> Value {
    serde_yaml_ng::from_str(&std::fs::read_to_string(chart().join("files/rules.yaml")).unwrap()).unwrap()
}

#[test]
fn every_alert_has_a_runbook_and_every_runbook_an_alert() {
    let pages = std::fs::read_dir(workspace().join("docs/runbooks")).unwrap();
    let pages: BTreeSet<String> =
        pages.map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(alerts(&rules()), pages);
    let groups = rules();
    for rule in items(field(&groups, "groups")).iter().flat_map(|group| items(field(group, "rules"))) {
        let alert = word(field(rule, "alert"));
        assert!(alert.is_empty() || word(field(rule, "annotations.runbook")) == format!("{alert}.md"), "{alert}");
    }
}

#[test]
fn rules_are_right_and_every_alert_is_tested_both_ways() {
    let Some(mut check) = promtool("chart") else { return };
    succeeds(check.args(["check", "rules"]).arg(chart().join("files/rules.yaml")));
    let cases = workspace().join("helm/tests/rules.yaml");
    succeeds(Command::new("promtool").args(["test", "rules"]).arg(&cases));
    let cases: Value = serde_yaml_ng::from_str(&std::fs::read_to_string(cases).unwrap()).unwrap();
    let cases = items(field(&cases, "tests"));
    let (rules, mut of_alerts) = (rules(), 0);
    for alert in alerts(&rules) {
        let (firing, silent) = (named_after(cases, &alert, "fires"), named_after(cases, &alert, "is silent"));
        assert!(!firing.is_empty() && !silent.is_empty(), "{alert}: {} {}", firing.len(), silent.len());
        assert!(firing.iter().all(|case| fired(case).contains(&alert)), "{alert} does not fire in each of {firing:?}");
        let looked_at = looked_at(&rules, &alert);
        for case in &silent {
            let given = metrics(&serde_yaml_ng::to_string(field(case, "input_series")).unwrap());
            assert!(!given.is_disjoint(&looked_at), "{alert} is silent for want of what it looks at: {case:?}");
            let asked = items(field(case, "promql_expr_test"));
            let asks_for_all = asked.iter().any(|test| word(field(test, "expr")).contains("(ALERTS{alertstate="));
            assert!(asks_for_all && !fired(case).contains(&alert), "{alert} is not silent: {case:?}");
        }
        of_alerts += firing.len() + silent.len();
    }
    assert_eq!(of_alerts, cases.len(), "each case is named after an alert");
}

/// Cases that are named after an alert and what it does in them.
fn named_after<'c>(cases: &'c [Value], alert: &str, does: &str) -> Vec<&'c Value> {
    let beginning = format!("{alert} {does}: ");
    cases.iter().filter(|case| word(field(case, "name")).starts_with(&beginning)).collect()
}

/// Alerts that a case has fire at some moment, as text.
fn fired(case: &Value) -> String {
    let moments = items(field(case, "promql_expr_test")).iter();
    moments.map(|test| serde_yaml_ng::to_string(field(test, "exp_samples")).unwrap()).collect()
}

/// Metrics that an alert looks at, by way of recorded series too.
fn looked_at(rules: &Value, alert: &str) -> BTreeSet<String> {
    let rules: Vec<_> = items(field(rules, "groups")).iter().flat_map(|group| items(field(group, "rules"))).collect();
    let of_alert = rules.iter().find(|rule| word(field(rule, "alert")) == alert).unwrap();
    let mut text = word(field(of_alert, "expr")).to_owned();
    for rule in &rules {
        let recorded = word(field(rule, "record"));
        if !recorded.is_empty() && text.contains(recorded) {
            text = format!("{text} {}", word(field(rule, "expr")));
        }
    }
    metrics(&text)
}

#[test]
fn the_rules_that_the_chart_makes_are_right_too() {
    let (Some(renderer), Some(mut promtool)) = (renderer("chart"), promtool("chart")) else { return };
    let objects = objects_of(renderer, "everything");
    let made = objects.iter().find(|object| kind(object) == "PrometheusRule").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.yaml");
    std::fs::write(&path, serde_yaml_ng::to_string(field(made, "spec")).unwrap()).unwrap();
    succeeds(promtool.args(["check", "rules"]).arg(&path));
    let (made, written) = (field(made, "spec"), rules());
    let left_out: Vec<String> = alerts(&written).difference(&alerts(made)).cloned().collect();
    assert_eq!(left_out, ["RegattaUnpriced"]);
    let text = serde_yaml_ng::to_string(made).unwrap();
    assert!(text.contains("label_replace(vector(12.5), \"namespace\", \"evaluations\""), "{text}");
    assert!(text.contains("/docs/runbooks/RegattaBudget.md"), "{text}");
}
