use std::sync::LazyLock;

use proptest::prelude::*;
use regatta_proto::{BATCH, Circumstances, Money, Usage};

use super::*;

mod imports;
mod updates;

const TODAY: &str = "2026-11-21";

fn day(text: &str) -> Date {
    text.parse().unwrap()
}

fn at(url: Option<&str>) -> EndpointSpec {
    EndpointSpec { base_url: url.map(str::to_owned), ..EndpointSpec::of_kind(EndpointKind::Openai) }
}

fn shipped() -> &'static PriceTable {
    static SHIPPED: LazyLock<PriceTable> = LazyLock::new(|| PriceTable::shipped().unwrap());
    &SHIPPED
}

fn resolve(kind: EndpointKind, model: &str) -> (Option<Price>, PriceSource) {
    let model = ModelSpec::from(format!("any/{model}").parse::<regatta_proto::ModelRef>().unwrap());
    shipped().resolve(&EndpointSpec::of_kind(kind), &model, day(TODAY))
}

fn table(models: &str) -> PriceTable {
    PriceTable::parse(&format!("date: 2026-01-01\nmodels:\n{models}")).unwrap()
}

fn refused(models: &str) -> String {
    PriceTable::parse(&format!("date: 2026-01-01\nmodels:\n{models}")).unwrap_err().to_string()
}

/// Price of a prompt of a million tokens, in dollars.
fn input_price(listed: Option<Listed<'_>>) -> Option<f64> {
    listed.map(|listed| listed.price.price.input_per_mtok)
}

#[test]
fn the_shipped_table_says_its_day_and_its_sources() {
    let table = shipped();
    assert_eq!(table.date(), day(TODAY));
    assert_eq!(table.sources().len(), 3);
    assert!(table.models().len() >= 60);
}

#[test]
fn the_shipped_figures_are_those_of_the_providers_lists() {
    let table = shipped();
    let listed = |model: &str| {
        let price = &table.find(model, day(TODAY)).unwrap().price.price;
        (price.input_per_mtok, price.cached_input_per_mtok, price.cache_write_1h_per_mtok, price.output_per_mtok)
    };
    assert_eq!(listed("gpt-4o"), (2.5, Some(1.25), None, 10.0));
    assert_eq!(listed("gpt-5"), (1.25, Some(0.125), None, 10.0));
    assert_eq!(listed("text-embedding-3-small"), (0.02, None, None, 0.0));
    assert_eq!(listed("claude-opus-5-5"), (4.0, Some(0.2), Some(8.0), 20.0));
    assert_eq!(listed("claude-sonnet-4-5"), (3.0, Some(0.3), Some(6.0), 15.0));
    assert_eq!(listed("gemini-2.5-pro"), (1.25, Some(0.125), None, 10.0));
    assert_eq!(listed("deepseek/deepseek-v4-pro"), (0.66, Some(0.022), None, 1.98));
}

#[test]
fn a_shipped_batch_costs_half_and_a_long_prompt_more() {
    let table = shipped();
    for (model, bound) in [("gpt-5.4", 272_000), ("claude-haiku-5-5", 100_000), ("gemini-2.5-pro", 200_000)] {
        let price = &table.find(model, day(TODAY)).unwrap().price.price;
        let cost = |input, variant| {
            price
                .cost(&Usage { input, output: 1_000, ..Usage::default() }, &Circumstances { variant, at: None })
                .unwrap()
        };
        assert_eq!(cost(bound, Some(BATCH)).0 * 2, cost(bound, None).0, "{model}");
        assert!(cost(bound + 1, None).0 > cost(bound, None).0 * 3 / 2, "{model}");
        assert!(cost(bound + 1, Some(BATCH)).0 > cost(bound, Some(BATCH)).0 * 3 / 2, "{model}");
    }
}

#[test]
fn a_name_that_its_provider_moves_costs_what_the_model_behind_it_costs() {
    let table = shipped();
    let find = |model: &str, date| table.find(model, day(date)).unwrap().price;
    for (name, model) in [
        ("gemini-pro-latest", "gemini-3.1-pro-preview"),
        ("gemini-flash-latest", "gemini-3.8-flash"),
        ("gemini-flash-lite-latest", "gemini-3.5-flash-lite"),
    ] {
        for date in [TODAY, "2027-01-01"] {
            assert_eq!(find(name, date), find(model, date), "{name}");
        }
    }
}

#[test]
fn an_announced_price_holds_from_its_day() {
    let table = shipped();
    let on = |date| input_price(table.find("gemini-4-argon", day(date)));
    assert_eq!([on("2026-11-30"), on("2026-12-01")], [Some(2.0), Some(4.0)]);
}

#[test]
fn a_dated_snapshot_costs_what_its_model_costs_unless_listed() {
    let table = shipped();
    let find = |model: &str| table.find(model, day(TODAY)).map(|listed| listed.price);
    assert_eq!(find("gpt-4o-2024-08-06"), find("gpt-4o"));
    assert_ne!(find("gpt-4o-2024-05-13"), find("gpt-4o"));
    assert_eq!(find("claude-haiku-4-5-20251001"), find("claude-haiku-4-5"));
    assert!(find("claude-haiku-4-5").is_some());
    for unknown in
        ["gpt-4o-audio-preview", "gpt-4o-é024-08-06", "gpt-4o-2024-13-06", "gpt-4o-99991231", "-2024-08-06", ""]
    {
        assert_eq!(find(unknown), None, "{unknown}");
    }
}

#[test]
fn the_newest_price_that_is_not_after_the_day_counts() {
    let table = table(
        "  m:\n  - {from: 2026-06-01, price: {input_per_mtok: 3, output_per_mtok: 1}}\n  \
         - {price: {input_per_mtok: 1, output_per_mtok: 1}}\n  \
         - {from: 2026-03-01, price: {input_per_mtok: 2, output_per_mtok: 1}}\n  \
         n:\n  - {from: 2026-06-01, price: {input_per_mtok: 3, output_per_mtok: 1}}\n",
    );
    let on = |date| input_price(table.find("m", day(date)));
    assert_eq!([on("2020-01-01"), on("2026-02-28")], [Some(1.0); 2]);
    assert_eq!([on("2026-03-01"), on("2026-05-31"), on("2026-06-01")], [Some(2.0), Some(2.0), Some(3.0)]);
    assert_eq!(input_price(table.find("n", day("2026-05-31"))), None, "before its first day it is unknown");
}

#[test]
fn the_same_name_may_cost_differently_by_provider() {
    let table = table(
        "  gpt-5: {input_per_mtok: 1, output_per_mtok: 1}\n  azure/gpt-5: {input_per_mtok: 2, output_per_mtok: 1}\n  \
         openrouter/openai/gpt-5: {input_per_mtok: 3, output_per_mtok: 1}\n  \
         bedrock/eu-west-1/m: {input_per_mtok: 4, output_per_mtok: 1}\n  bedrock/m: {input_per_mtok: 5, output_per_mtok: 1}\n",
    );
    let cost = |endpoint: &EndpointSpec, model| input_price(table.lookup(endpoint, model, day(TODAY)));
    assert_eq!(cost(&at(None), "gpt-5"), Some(1.0));
    assert_eq!(cost(&EndpointSpec::of_kind(EndpointKind::Azure), "gpt-5"), Some(2.0));
    assert_eq!(cost(&at(Some("https://openrouter.ai/api/v1")), "openai/gpt-5"), Some(3.0));
    assert_eq!(cost(&at(Some("https://api.together.xyz/v1")), "openai/gpt-5"), None);
    assert_eq!(cost(&at(Some("http://gateway.internal/v1")), "openai/gpt-5"), Some(1.0));
    assert_eq!(cost(&at(Some("http://gateway.internal/v1")), "gpt-5-2025-08-07"), Some(1.0));
    let mut bedrock = EndpointSpec::of_kind(EndpointKind::Bedrock);
    assert_eq!(cost(&bedrock, "m"), Some(5.0));
    bedrock.region = Some("eu-west-1".to_owned());
    assert_eq!(cost(&bedrock, "m"), Some(4.0));
}

#[test]
fn the_specs_price_goes_first() {
    let mut model = ModelSpec::from("openai/gpt-4o".parse::<regatta_proto::ModelRef>().unwrap());
    let price = Price::per_mtok(1.0, 2.0);
    model.price = Some(price.clone());
    let (found, source) = shipped().resolve(&at(None), &model, day(TODAY));
    assert_eq!((found, source), (Some(price), PriceSource::Spec));
}

#[test]
fn a_price_from_a_table_says_which_one() {
    let digest = shipped().digest();
    let (price, source) = resolve(EndpointKind::Anthropic, "claude-opus-5-5");
    assert!(price.is_some());
    assert_eq!(source, PriceSource::Table { date: TODAY.to_owned(), digest: Some(digest) });
}

#[test]
fn an_unknown_price_is_unknown_and_not_zero() {
    assert_eq!(resolve(EndpointKind::Openai, "my-own-model"), (None, PriceSource::Unknown));
    assert_eq!(resolve(EndpointKind::Simulated, "oracle"), (None, PriceSource::Unknown));
    assert_eq!(resolve(EndpointKind::Simulated, "gpt-4o"), (None, PriceSource::Unknown));
}

#[test]
fn encoders_and_recorded_verdicts_cost_nothing() {
    for kind in [EndpointKind::Encoder, EndpointKind::Recorded] {
        let price = resolve(kind, "any").0.unwrap();
        let usage = Usage { input: 1_000_000, cached_input: 7, output: 9, ..Default::default() };
        assert_eq!(price.cost(&usage, &Default::default()), Some(Money::ZERO));
    }
}

#[test]
fn a_digest_is_of_the_prices_and_not_of_how_they_are_written() {
    let one = table("  b: {output_per_mtok: 2, input_per_mtok: 1}\n  a: {input_per_mtok: 0.5, output_per_mtok: 1}\n");
    let other = PriceTable::parse(
        "# A comment.\nmodels:\n  a:\n  - price: {input_per_mtok: 5e-1, output_per_mtok: 1.0}\n  \
         b: {input_per_mtok: 1, output_per_mtok: 2}\nsources: [somebody]\ndate: 2026-02-02\n",
    )
    .unwrap();
    assert_eq!(one.digest(), other.digest());
    let dearer =
        table("  b: {output_per_mtok: 2, input_per_mtok: 1}\n  a: {input_per_mtok: 0.51, output_per_mtok: 1}\n");
    assert_ne!(one.digest(), dearer.digest());
}

#[test]
fn a_table_is_read_as_it_was_written() {
    let table = shipped();
    assert_eq!(PriceTable::parse(&table.to_yaml().unwrap()).unwrap(), *table);
}

#[test]
fn what_is_wrong_in_a_table_is_named() {
    insta::assert_snapshot!(refused("  m: {input_per_mtok: -1, output_per_mtok: 1}\n"), @"failed to read the price table: input_per_mtok of m must be non-negative dollars, below a million");
    insta::assert_snapshot!(refused("  m: {input_per_mtok: 1, output_per_mtok: 1, variants: {batch: {input_per_mtok: .nan, output_per_mtok: 1}}}\n"), @"failed to read the price table: variants.batch.input_per_mtok of m must be non-negative dollars, below a million");
    insta::assert_snapshot!(refused("  m: []\n"), @"failed to read the price table: m must have one price from each day that it lists");
    insta::assert_snapshot!(refused("  m: [{price: {input_per_mtok: 1, output_per_mtok: 1}}, {price: {input_per_mtok: 2, output_per_mtok: 1}}]\n"), @"failed to read the price table: m must have one price from each day that it lists");
    insta::assert_snapshot!(refused("  m: {input_per_mtok: 1, output_per_mtok: 1}\n  m: {input_per_mtok: 2, output_per_mtok: 1}\n"), @"failed to read the price table: models: m is listed twice at line 3 column 3");
    insta::assert_snapshot!(refused("  m: {input_per_mtok: 1, ouput_per_mtok: 1}\n"), @r#"failed to read the price table: models.m: unknown field `ouput_per_mtok`, expected one of `input_per_mtok`, `cached_input_per_mtok`, `cache_write_per_mtok`, `cache_write_1h_per_mtok`, `output_per_mtok`, `reasoning_per_mtok`, `per_request`, `tiers`, `windows`, `variants` at line 3 column 26; did you mean "output_per_mtok"?"#);
    insta::assert_snapshot!(refused("  m: 7\n"), @"failed to read the price table: models.m: found `7`, expected a price, or a list of prices with the days they hold from at line 3 column 6");
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}", models in "[ -~\\n]{0,200}") {
        let _ = PriceTable::parse(&text);
        let _ = PriceTable::parse(&format!("date: 2026-01-01\nmodels:\n  {models}"));
    }

    #[test]
    fn no_name_makes_the_search_panic(model in "\\PC{0,40}", url in "\\PC{0,40}") {
        let table = shipped();
        let _ = table.lookup(&at(Some(&url)), &model, day(TODAY));
        let _ = table.find(&format!("{model}-2024-08-06"), day(TODAY));
    }
}

#[test]
fn a_misspelt_model_is_guessed_with_and_without_its_provider() {
    let table = PriceTable::shipped().unwrap();
    for misspelt in ["openai/gpt-4o-mni", "gpt-4o-mni"] {
        assert_eq!(table.guess(misspelt), "; did you mean \"gpt-4o-mini\"?");
    }
    assert_eq!(table.guess("here/zzzz"), "");
}
