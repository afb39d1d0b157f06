//! Evaluators that a spec names and nobody knows, told with those of their benchmark.

use std::collections::BTreeMap;

use regatta_benchmarks::Registry;
use regatta_proto::{BenchmarkName, Evaluator, did_you_mean, read_yaml, substitute};
use serde::Deserialize;

/// The part of a spec that names evaluators, as texts.
#[derive(Deserialize)]
struct Spec {
    benchmarks: BTreeMap<BenchmarkName, Benchmark>,
}

#[derive(Deserialize)]
struct Benchmark {
    #[serde(default)]
    evaluators: Vec<String>,
}

/// An evaluator that the spec in `text` names and that is none, with those of its benchmark. The parser of specs knows no benchmark: it
/// could only list those of all. `None` where something else is wrong with the spec.
pub(super) fn unknown(text: &str, variable: &dyn Fn(&str) -> Option<String>, benchmarks: Registry) -> Option<String> {
    let spec: Spec = read_yaml(&substitute(text, variable).ok()?).ok()?;
    spec.benchmarks.iter().find_map(|(name, benchmark)| {
        let is_none = |(_, named): &(usize, &String)| named.parse::<Evaluator>().is_err();
        let (position, named) = benchmark.evaluators.iter().enumerate().find(is_none)?;
        let known = benchmarks.find(name)?.evaluators();
        let known: Vec<&str> = known.iter().map(|evaluator| evaluator.as_str()).collect();
        let meant = did_you_mean(named, known.iter().copied());
        let known = known.join(", ");
        Some(format!("benchmarks.{name}.evaluators[{position}]: unknown evaluator {named:?}; known: {known}{meant}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmarks::BENCHMARKS;

    fn said(spec: &str) -> Option<String> {
        unknown(spec, &|name| (name == "EVALUATOR").then(|| "lenient".to_owned()), BENCHMARKS)
    }

    #[test]
    fn an_unknown_evaluator_is_told_with_those_of_its_benchmark() {
        let spec = "name: a\nbenchmarks: { worfbench: { evaluators: [paper, offical] }, yours: { evaluators: ['${EVALUATOR}'] } }";
        assert_eq!(
            said(spec).unwrap(),
            "benchmarks.worfbench.evaluators[1]: unknown evaluator \"offical\"; known: official, paper; did you mean \"official\"?"
        );
        assert_eq!(
            said(&spec.replace("offical", "official")).unwrap(),
            "benchmarks.yours.evaluators[0]: unknown evaluator \"lenient\"; known: declared"
        );
    }

    #[test]
    fn other_specs_are_left_to_their_parser() {
        for spec in ["benchmarks: { worfbench: { evaluators: [exec] } }", "benchmarks: [worfbench]", "{", "name: a"] {
            assert_eq!(said(spec), None, "{spec}");
        }
    }
}
