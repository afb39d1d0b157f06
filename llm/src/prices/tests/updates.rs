//! Tables that are brought up to date with what a source says.

use super::super::*;
use super::{day, table};

const AT: &str = "https://prices.example/list.json";

/// LiteLLM's entries of models with these figures, in dollars per million tokens of prompts.
fn litellm(models: &[(&str, &str)]) -> Import {
    let entry = |(name, figure): &(&str, &str)| {
        format!(
            r#""{name}": {{"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": {figure}e-6, "output_cost_per_token": 1e-6}}"#
        )
    };
    let entries: Vec<String> = models.iter().map(entry).collect();
    Import::litellm(format!("{{{}}}", entries.join(",")).as_bytes()).unwrap()
}

fn updated(table: &PriceTable, import: &Import, on: &str) -> PriceUpdate {
    PriceUpdate::of(table, import, ("LiteLLM", AT, day(on)), false).unwrap()
}

/// A table of the first of January that was read from LiteLLM.
fn begun(models: &[(&str, &str)]) -> PriceTable {
    let empty = PriceTable::new(day("2026-01-01"), Vec::new(), BTreeMap::new()).unwrap();
    updated(&empty, &litellm(models), "2026-01-01").table
}

fn input(table: &PriceTable, model: &str, on: &str) -> Option<f64> {
    table.find(model, day(on)).map(|listed| listed.price.price.input_per_mtok)
}

#[test]
fn what_is_new_what_changed_and_what_is_gone_is_told() {
    let table = begun(&[("gpt-a", "1"), ("gpt-b", "2"), ("gpt-c", "3")]);
    let update = updated(&table, &litellm(&[("gpt-b", "2"), ("gpt-c", "4"), ("gpt-d", "5")]), "2026-02-01");
    assert_eq!((&update.new[..], &update.gone[..]), (&["gpt-d".to_owned()][..], &["gpt-a".to_owned()][..]));
    let [change] = &update.changed[..] else { panic!("{:?}", update.changed) };
    let figures = [&change.was, &change.is].map(|price| price.as_ref().map(|price| price.input_per_mtok));
    assert_eq!((change.model.as_str(), figures), ("gpt-c", [Some(3.0), Some(4.0)]));
    assert_eq!((update.unchanged, update.kept.len()), (1, 0));
    assert_eq!(input(&update.table, "gpt-a", "2026-02-01"), Some(1.0), "old runs are priced by it");
}

#[test]
fn a_changed_price_holds_from_the_day_it_was_read() {
    let update = updated(&begun(&[("gpt-a", "1")]), &litellm(&[("gpt-a", "2")]), "2026-02-01");
    let on = |date| input(&update.table, "gpt-a", date);
    assert_eq!([on("2026-01-31"), on("2026-02-01")], [Some(1.0), Some(2.0)]);
    let corrected = updated(&update.table, &litellm(&[("gpt-a", "3")]), "2026-02-01").table;
    assert_eq!(
        [input(&corrected, "gpt-a", "2026-01-31"), input(&corrected, "gpt-a", "2026-02-01")],
        [Some(1.0), Some(3.0)]
    );
}

#[test]
fn an_update_that_is_made_twice_changes_nothing() {
    let import = litellm(&[("gpt-a", "2"), ("gpt-b", "1")]);
    let once = updated(&begun(&[("gpt-a", "1")]), &import, "2026-02-01").table;
    let twice = updated(&once, &import, "2026-02-01");
    assert_eq!((twice.new.len(), twice.changed.len(), twice.unchanged), (0, 0, 2));
    assert_eq!(twice.table, once);
}

#[test]
fn a_price_says_where_and_when_it_was_read() {
    let table = updated(&begun(&[("gpt-a", "1"), ("gpt-b", "1")]), &litellm(&[("gpt-b", "1")]), "2026-02-01").table;
    let read = |model| table.reading(model).map(ToString::to_string);
    assert_eq!(read("gpt-a"), Some(format!("LiteLLM, {AT}, on 2026-01-01")));
    assert_eq!(read("gpt-b"), Some(format!("LiteLLM, {AT}, on 2026-02-01")));
    assert_eq!(read("gpt-c"), None);
    assert_eq!(PriceTable::parse(&table.to_yaml().unwrap()).unwrap(), table);
}

#[test]
fn a_price_that_somebody_wrote_stays_unless_it_is_to_be_replaced() {
    let own =
        table("  gpt-a: {input_per_mtok: 0.5, output_per_mtok: 1}\n  llama: {input_per_mtok: 0, output_per_mtok: 0}\n");
    let import = litellm(&[("gpt-a", "1")]);
    let update = updated(&own, &import, "2026-02-01");
    assert_eq!((update.kept.len(), update.changed.len(), update.gone.len()), (1, 0, 0));
    assert_eq!(input(&update.table, "gpt-a", "2026-02-01"), Some(0.5));
    let replaced = PriceUpdate::of(&own, &import, ("LiteLLM", AT, day("2026-02-01")), true).unwrap();
    assert_eq!((replaced.kept.len(), replaced.changed.len()), (0, 1));
    assert_eq!(input(&replaced.table, "gpt-a", "2026-02-01"), Some(1.0));
    assert_eq!(input(&replaced.table, "llama", "2026-02-01"), Some(0.0));
}

#[test]
fn of_a_copy_of_the_shipped_table_nothing_counts_as_somebodys_own() {
    let copy = PriceTable::copy_of_shipped().unwrap();
    assert!(copy.models().keys().all(|model| copy.reading(model).is_some()));
    assert_eq!(copy.digest(), PriceTable::shipped().unwrap().digest());
}

#[test]
fn a_figure_a_hundred_times_as_much_or_as_little_as_before_is_told_and_not_taken() {
    let table = begun(&[("gpt-a", "1"), ("gpt-b", "1"), ("gpt-c", "0.5")]);
    // Per thousand tokens where it was per million, the other way round, and a price that rose by much.
    let import = litellm(&[("gpt-a", "1000"), ("gpt-b", "0.001"), ("gpt-c", "49")]);
    for replaces_own in [false, true] {
        let update = PriceUpdate::of(&table, &import, ("LiteLLM", AT, day("2026-02-01")), replaces_own).unwrap();
        let names = |changes: &[PriceChange]| changes.iter().map(|change| change.model.clone()).collect::<Vec<_>>();
        assert_eq!(
            (names(&update.doubtful), names(&update.changed)),
            (vec!["gpt-a".into(), "gpt-b".into()], vec!["gpt-c".into()])
        );
        let figures = ["gpt-a", "gpt-b", "gpt-c"].map(|model| input(&update.table, model, "2026-02-01"));
        assert_eq!(figures, [Some(1.0), Some(1.0), Some(49.0)]);
        assert_eq!(update.table.reading("gpt-a").map(|reading| reading.on), Some(day("2026-01-01")));
    }
}

#[test]
fn a_figure_of_batches_or_of_long_prompts_in_another_unit_is_not_taken_either() {
    let of = |batch: &str, long: &str| {
        let json = format!(
            r#"{{"gpt-a": {{"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2e-6, "output_cost_per_token": 2e-6,
                "input_cost_per_token_batches": {batch}, "input_cost_per_token_above_200k_tokens": {long}}}}}"#
        );
        Import::litellm(json.as_bytes()).unwrap()
    };
    let empty = PriceTable::new(day("2026-01-01"), Vec::new(), BTreeMap::new()).unwrap();
    let table = updated(&empty, &of("1e-6", "4e-6"), "2026-01-01").table;
    for (batch, long, count) in [("1e-3", "4e-6", 1), ("1e-6", "4e-3", 1), ("0.9e-6", "4e-6", 0)] {
        assert_eq!(updated(&table, &of(batch, long), "2026-02-01").doubtful.len(), count, "{batch} {long}");
    }
}

#[test]
fn a_figure_that_no_model_costs_is_in_another_unit() {
    // Dollars per million in a field of dollars per token.
    let import = litellm(&[("gpt-a", "150000"), ("gpt-b", "600")]);
    assert_eq!(import.prices().keys().collect::<Vec<_>>(), ["gpt-b"]);
    let problems: Vec<&str> = import.report.problems.iter().map(|at| at.model.as_str()).collect();
    assert_eq!(problems, ["gpt-a"]);
}

#[test]
fn no_source_makes_the_tokens_free_that_are_written_to_a_cache() {
    let litellm = r#"{"gpt-a": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6,
        "cache_creation_input_token_cost": 0}}"#;
    let models_dev = r#"{"openai": {"models": {"gpt-a": {"cost": {"input": 1, "output": 2, "cache_write": 0}}}}}"#;
    let genai = r#"[{"id": "openai", "models": [{"id": "gpt-a", "prices": {"input_mtok": 1, "output_mtok": 2, "cache_write_mtok": 0}}]}]"#;
    for json in [litellm, models_dev, genai] {
        let (source, import) = Import::any(json.as_bytes()).unwrap();
        assert_eq!(import.prices()["gpt-a"][0].price, Price::per_mtok(1.0, 2.0), "{source}");
        assert_eq!(import.report.assumed.len(), 1, "{source}");
    }
}

#[test]
fn whoever_repeats_a_name_with_other_figures_changes_no_price() {
    let models_dev = r#"{"google": {"models": {"gemini-x": {"cost": {"input": 1, "output": 2}}}},
        "openai": {"models": {"gpt-a": {"cost": {"input": 1, "output": 2}}}},
        "text-completion-openai": {"models": {"gpt-a": {"cost": {"input": 9, "output": 9}}}}}"#;
    let genai = r#"[{"id": "openai", "models": [{"id": "gpt-a", "prices": {"input_mtok": 1, "output_mtok": 2}},
        {"id": "gpt-a", "prices": {"input_mtok": 9, "output_mtok": 9}}]}]"#;
    for json in [models_dev, genai] {
        let (source, import) = Import::any(json.as_bytes()).unwrap();
        assert_eq!(import.prices()["gpt-a"][0].price, Price::per_mtok(1.0, 2.0), "{source}");
        let problems: Vec<&str> = import.report.problems.iter().map(|at| at.problem.as_str()).collect();
        assert_eq!(problems, ["is gpt-a in a table, as another model with other figures is; left out"], "{source}");
    }
}

#[test]
fn figures_that_are_no_price_are_refused_by_name_and_the_old_price_stays() {
    let table = begun(&[("gpt-a", "1")]);
    for figure in ["-1", "1e300", "1e400", "NaN", "Infinity", "-Infinity", "\"NaN\"", "true"] {
        let json = format!(
            r#"{{"gpt-a": {{"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": {figure}, "output_cost_per_token": 1e-6}},
                "gpt-b": {{"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6, "source": "NaN \" NaN"}}}}"#
        );
        let import = Import::litellm(json.as_bytes()).unwrap();
        let problems: Vec<_> = import.report.problems.iter().map(|at| (at.model.as_str(), at.field.as_str())).collect();
        assert_eq!(problems, [("gpt-a", "input_cost_per_token")], "{figure}");
        let update = updated(&table, &import, "2026-02-01");
        assert_eq!((update.new.len(), update.changed.len(), update.gone.len()), (1, 0, 0), "{figure}");
        assert_eq!(input(&update.table, "gpt-a", "2026-02-01"), Some(1.0), "{figure}");
    }
}

#[test]
fn each_form_is_told_from_the_others() {
    let of = |json: &str| Import::any(json.as_bytes()).unwrap();
    let genai = r#"[{"id": "openai", "models": [{"id": "gpt-a", "prices": {"input_mtok": 1, "output_mtok": 2}}]}]"#;
    let models_dev = r#"{"openai": {"id": "openai", "models": {"gpt-a": {"cost": {"input": 1, "output": 2}}}}}"#;
    let litellm = r#"{"gpt-a": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}}"#;
    for (json, source) in [(genai, "genai-prices"), (models_dev, "models.dev"), (litellm, "LiteLLM")] {
        let (name, import) = of(json);
        assert_eq!(name, source);
        assert_eq!(import.prices()["gpt-a"][0].price, Price::per_mtok(1.0, 2.0), "{source}");
    }
    assert!(Import::any(b"no list").unwrap_err().to_string().contains("failed to read the source's prices as JSON"));
}

#[test]
fn models_devs_figures_are_dollars_per_million_with_those_of_long_prompts() {
    let json = r#"{"google": {"models": {
        "gemini-x": {"cost": {"input": 1.25, "output": 10, "cache_read": 0.125, "reasoning": 12, "input_audio": 3,
            "context_over_200k": {"input": 2.5, "output": 15}}},
        "gemma": {"cost": {"input": 0, "output": 0}}, "none": {}, "broken": {"cost": {"input": -1, "output": 1}}}},
        "togetherai": {"models": {"llama": {"cost": {"input": 0.5, "output": 0.5}}}}, "empty": 7}"#;
    let import = Import::models_dev(json.as_bytes()).unwrap();
    let prices = import.prices();
    assert_eq!(prices.keys().collect::<Vec<_>>(), ["gemini-x", "together/llama"]);
    let price = &prices["gemini-x"][0].price;
    assert_eq!((price.cached_input_per_mtok, price.reasoning_per_mtok), (Some(0.125), Some(12.0)));
    let [long] = &price.tiers[..] else { panic!("{:?}", price.tiers) };
    assert_eq!((long.above_input_tokens, long.rates.input_per_mtok, long.rates.output_per_mtok), (200_000, 2.5, 15.0));
    let mut problems: Vec<_> = import.report.problems.iter().map(|at| format!("{} {}", at.model, at.field)).collect();
    problems.sort();
    assert_eq!(problems, ["empty models", "google/broken cost.input"]);
}
