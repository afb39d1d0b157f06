//! The examples that ship: they parse, and what they name exists.

use std::path::Path;

use regatta_proto::{EndpointKind, SweepSpec, parse_spec};

use crate::harness::{miniature, worfbench};

fn example(name: &str) -> SweepSpec {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    parse_spec(&text, &|variable| (variable == "REGATTA_MINILM").then(|| "/models/minilm".to_owned())).unwrap()
}

#[test]
fn every_example_that_runs_worfbench_names_settings_that_it_has() {
    for name in ["quickstart.yaml", "worfbench.yaml"] {
        let spec = example(name);
        let benchmark = &spec.benchmarks[&"worfbench".parse().unwrap()];
        assert!(!benchmark.settings.is_empty());
        assert!(benchmark.settings.iter().all(|setting| worfbench().settings().contains(setting)), "{name}");
        for setting in &benchmark.settings {
            assert_eq!(benchmark.limit, None);
            assert_eq!(miniature().select(setting, &benchmark.tasks, None).unwrap().len(), 35);
        }
    }
}

#[test]
fn the_quickstart_needs_no_key_no_download_and_prices_every_model() {
    let spec = example("quickstart.yaml");
    assert!(spec.endpoints.values().all(|endpoint| endpoint.kind == EndpointKind::Simulated));
    assert!(spec.models.iter().all(|model| model.price.is_some()));
    let data = spec.benchmarks[&"worfbench".parse().unwrap()].data.clone().unwrap();
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(data).is_dir());
    assert_eq!((spec.trials, spec.models.len()), (3, 3));
}
