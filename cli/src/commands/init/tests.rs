use clap::Parser;
use insta::assert_snapshot;
use regatta_proto::parse_spec;

use super::*;
use crate::args::{Cli, Command};
use crate::benchmarks::BENCHMARKS;

fn written(arguments: &[&str]) -> String {
    let cli = Cli::try_parse_from(["regatta", "init"].iter().chain(arguments)).unwrap();
    let Command::Init(args) = cli.command else { panic!("not init") };
    spec(&args, &Own::new()).unwrap()
}

#[test]
fn a_spec_without_flags_runs_without_keys() {
    assert_snapshot!(written(&[]));
}

#[test]
fn a_spec_of_real_models_has_what_they_need() {
    assert_snapshot!(written(&[
        "--name",
        "providers",
        "-b",
        "flowbench:session/single/flowchart",
        "-b",
        "worfbench",
        "-m",
        "openai/gpt-4o-mini",
        "-m",
        "here/llama-3.3-70b",
        "--limit",
        "20",
        "--trials",
        "3",
        "--budget",
        "5",
        "--data",
        "worfbench=data of others/worfbench",
    ]));
}

#[test]
fn every_benchmark_has_a_spec_that_is_read_again() {
    for benchmark in BENCHMARKS.all() {
        for model in ["sim/oracle", "openai/gpt-4o-mini", "here/llama"] {
            let text = written(&["-b", benchmark.name().as_str(), "-m", model]);
            let spec = parse_spec(&text, &|name| (name == "REGATTA_MINILM").then(|| "/models/minilm".to_owned()));
            let spec = spec.unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert!(spec.benchmarks.contains_key(&benchmark.name()));
            assert_eq!(spec.models.len(), 1);
        }
    }
}

#[test]
fn a_sweep_has_the_name_of_its_file_where_that_is_one() {
    for (file, name) in [("quiz.yaml", "quiz"), ("specs/night-2.yaml", "night-2"), ("my sweep.yaml", "first")] {
        let text = written(&[file]);
        assert!(text.contains(&format!("\nname: {name}\n")), "{text}");
    }
    assert!(written(&["quiz.yaml", "--name", "mine"]).contains("\nname: mine\n"));
    let spec = parse_spec(&written(&["2026.yaml"]), &|_| None).unwrap();
    assert_eq!(spec.name.as_str(), "2026");
}

#[test]
fn an_unknown_benchmark_is_told_with_the_one_that_may_have_been_meant() {
    let cli = Cli::try_parse_from(["regatta", "init", "-b", "worfbnech"]).unwrap();
    let Command::Init(args) = cli.command else { panic!("not init") };
    let error = spec(&args, &Own::new()).unwrap_err().to_string();
    assert!(error.contains("did you mean \"worfbench\"?; a benchmark of your own has a folder"), "{error}");
}

#[test]
fn a_folder_of_any_name_is_read_from_the_spec_as_it_was() {
    for folder in [
        "plain/a-b",
        "-a",
        "two words",
        "a: b # c",
        "cafe\u{301}",
        "\u{200b}",
        "line\nbreak",
        "quo\"te\\",
        "2024",
        "null",
    ] {
        let read: String = serde_yaml_ng::from_str(&quoted(Path::new(folder))).unwrap();
        assert_eq!(read, folder);
    }
}
