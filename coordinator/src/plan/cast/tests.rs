use std::collections::BTreeMap;

use regatta_proto::{Digest, ModelSpec, parse_spec};
use regatta_stage::benchmark_lock;

use super::*;
use crate::talk::Talk;

const SPEC: &str = "\
name: demo
benchmarks:
  talk: { data: data, settings: [alone, talk], roles: { user: people/oracle }, judge: people/oracle }
endpoints:
  sim: { kind: simulated, lane: batch }
  people: { kind: simulated }
  minilm: { kind: encoder, path: somewhere }
models: [people/noisy-0.1, sim/oracle]
";

fn spec() -> SweepSpec {
    parse_spec(SPEC, &|_| None).unwrap()
}

fn settings(names: &[&str]) -> Vec<Setting> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn roles(user: bool, environment: bool) -> RoleModels {
    let model = || ModelSpec::from("people/oracle".parse::<ModelRef>().unwrap());
    RoleModels { user: user.then(model), environment: environment.then(model) }
}

#[test]
fn a_missing_role_and_an_unused_one_are_errors_that_name_the_key() {
    let check = |names: &[&str], roles| check_roles("benchmarks.talk", &Talk, &settings(names), &roles);
    assert!(check(&["alone"], roles(false, false)).is_ok());
    assert!(check(&["alone", "talk"], roles(true, false)).is_ok());
    let refused = [
        check(&["alone", "talk"], roles(false, false)),
        check(&["alone"], roles(true, false)),
        check(&["alone", "talk"], roles(true, true)),
    ];
    insta::assert_snapshot!(refused.map(|result| result.unwrap_err().to_string()).join("\n"));
}

fn lock(names: &[&str]) -> BenchmarkLock {
    BenchmarkLock {
        settings: settings(names),
        evaluators: Vec::new(),
        roles: roles(true, false),
        ..benchmark_lock(Digest::of(b""), "alone", 1)
    }
}

#[test]
fn conversations_are_refused_in_the_batch_lane() {
    let name: BenchmarkName = "talk".parse().unwrap();
    assert!(check_lanes(&name, &lock(&["alone"]), &Talk, &spec()).is_ok());
    let error = check_lanes(&name, &lock(&["alone", "talk"]), &Talk, &spec()).unwrap_err();
    insta::assert_snapshot!(error.to_string());
}

#[test]
fn a_judge_is_missed_where_some_session_is_judged_in_words() {
    let spec = spec();
    let mut wanted = spec.benchmarks.values().next().unwrap().clone();
    let check = |wanted: &BenchmarkSpec, names: &[&str]| {
        check_judge(&"talk".parse().unwrap(), &Talk, wanted, &spec, &settings(names), &[Evaluator::Official])
    };
    assert!(check(&wanted, &["alone", "talk"]).is_ok());
    wanted.judge = Some(Judge::Plain("minilm/any".parse().unwrap()));
    let encoder = check(&wanted, &["alone", "talk"]).unwrap_err();
    wanted.judge = None;
    assert!(check(&wanted, &["alone"]).is_ok());
    let none = check(&wanted, &["alone", "talk"]).unwrap_err();
    insta::assert_snapshot!(format!("{encoder}\n{none}"));
}

#[test]
fn an_audit_needs_a_metric_that_a_judge_decides() {
    let text =
        SPEC.replace("judge: people/oracle }", "judge: people/oracle, audit: { judge: sim/oracle, share: 0.1 } }");
    let spec = parse_spec(&text, &|_| None).unwrap();
    let wanted = spec.benchmarks.values().next().unwrap();
    let check = |evaluated: &[Evaluator]| {
        check_judge(&"talk".parse().unwrap(), &Talk, wanted, &spec, &settings(&["alone", "talk"]), evaluated)
    };
    assert!(check(&[Evaluator::Official]).is_ok());
    let refused = check(&[Evaluator::Exec]).unwrap_err();
    insta::assert_snapshot!(refused.to_string(), @"benchmarks.talk.audit: has nothing to correct: talk declares no metric that a judge's verdict can change; a benchmark with a program declares such values as `judged: true`; leave the audit out otherwise");
}

#[test]
fn a_cast_gives_models_to_members_that_its_sessions_have() {
    let model = || ModelSpec::from("people/oracle".parse::<ModelRef>().unwrap());
    let cast =
        |member: &str| BTreeMap::from([("best".to_owned(), BTreeMap::from([(member.parse().unwrap(), model())]))]);
    let check =
        |setting: &str, member: &str| check_members("benchmarks.talk", &Talk, &settings(&[setting]), &cast(member));
    assert!(check("team/cast=best", "cook").is_ok());
    assert!(check("external/mine/cast=best", "anybody").is_ok(), "what members a program has, only it knows");
    assert!(check("alone", "clerk").is_ok(), "it is not played there");
    let refused = [check("team/cast=best", "clerk"), check("alone/cast=best", "cook")];
    insta::assert_snapshot!(refused.map(|result| result.unwrap_err().to_string()).join("\n"));
}

#[test]
fn neither_teams_of_several_models_nor_external_agents_go_into_the_batch_lane() {
    let name: BenchmarkName = "talk".parse().unwrap();
    let check = |setting: &str| check_lanes(&name, &lock(&[setting]), &Talk, &spec());
    assert!(check("team").is_ok());
    let refused = [check("team/cast=best"), check("external/mine")];
    insta::assert_snapshot!(refused.map(|result| result.unwrap_err().to_string()).join("\n"));
}
