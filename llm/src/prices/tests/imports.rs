//! Imports of the tables of LiteLLM and genai-prices. The fixtures have their format, with some real and some broken figures.

use std::collections::BTreeMap;

use proptest::prelude::*;
use regatta_proto::{Circumstances, Day, Meter, Price, Rates};

use super::super::*;
use super::{TODAY, day};

const LITELLM: &[u8] = include_bytes!("../fixtures/litellm.json");
const GENAI_PRICES: &[u8] = include_bytes!("../fixtures/genai_prices.json");

fn litellm() -> Import {
    Import::litellm(LITELLM).unwrap()
}

fn genai_prices() -> Import {
    Import::genai_prices(GENAI_PRICES).unwrap()
}

fn table(import: &Import) -> PriceTable {
    PriceTable::new(day(TODAY), Vec::new(), import.prices()).unwrap()
}

fn price(import: &Import, name: &str, on: &str) -> Price {
    table(import).find(name, day(on)).unwrap_or_else(|| panic!("no {name}")).price.price.clone()
}

/// Rates of a prompt of `input` tokens, for a variant and a moment.
fn rates(price: &Price, input: u64, variant: Option<&str>, at: Option<&str>) -> Rates {
    price.rates_for(input, &Circumstances { variant, at: at.map(|at| at.parse().unwrap()) }).unwrap()
}

fn plain(input: f64, cached: Option<f64>, output: f64) -> Rates {
    Rates { input_per_mtok: input, cached_input_per_mtok: cached, output_per_mtok: output, ..Rates::default() }
}

#[test]
fn dollars_per_token_become_dollars_per_million_without_a_rounding_error() {
    let per_million = |text: &str| import::dollars(&serde_json::from_str(text).unwrap(), 6);
    assert_eq!(per_million("2.8e-08"), Some(0.028));
    assert_eq!(per_million("1.0000000000000001e-07"), Some(0.1));
    assert_eq!(per_million("0.000015"), Some(15.0));
    assert_eq!(per_million("0"), Some(0.0));
    assert_eq!([per_million("-1e-9"), per_million("1"), per_million("\"1e-6\""), per_million("null")], [None; 4]);
}

#[test]
fn litellms_tiers_and_variants_are_taken_over() {
    let price = price(&litellm(), "gpt-5.4", TODAY);
    assert_eq!(rates(&price, 272_000, None, None), plain(2.5, Some(0.25), 15.0));
    assert_eq!(rates(&price, 272_001, None, None), plain(5.0, Some(0.5), 22.5));
    assert_eq!(rates(&price, 272_000, Some("batch"), None), plain(1.25, Some(0.13), 7.5));
    // Output and cached input have no batch price for long prompts, so the flat one stays.
    assert_eq!(rates(&price, 272_001, Some("batch"), None), plain(2.5, Some(0.13), 7.5));
    // Figures that `priority` leaves out are standard, tier by tier; `fast` is OpenAI's other name for it.
    assert_eq!(rates(&price, 1, Some("priority"), None), plain(5.0, Some(0.25), 30.0));
    assert_eq!(rates(&price, 272_000, Some("fast"), None), plain(5.0, Some(0.25), 30.0));
    // It has no figures for long prompts, so the standard price holds.
    assert_eq!(rates(&price, 272_001, Some("fast"), None), plain(5.0, Some(0.5), 22.5));
}

#[test]
fn litellms_cache_writes_of_an_hour_are_taken_over_with_their_tier() {
    let price = price(&litellm(), "claude-haiku-5-5", TODAY);
    let writes = |input| {
        let rates = rates(&price, input, None, None);
        (rates.cache_write_per_mtok, rates.cache_write_1h_per_mtok)
    };
    assert_eq!([writes(1), writes(100_001)], [(Some(0.125), Some(0.2)), (Some(0.625), Some(1.0))]);
}

#[test]
fn an_entry_without_a_price_of_prompt_tokens_is_no_price() {
    let litellm = br#"{"m": {"litellm_provider": "p", "mode": "chat", "output_cost_per_token": 1e-6}}"#;
    let genai = br#"[{"id": "p", "models": [
        {"id": "m", "prices": {"output_mtok": 1}},
        {"id": "later", "prices": [{"prices": {"input_mtok": 1, "output_mtok": 1}},
            {"constraint": {"start_date": "2026-02-01"}, "prices": {"output_mtok": 1}}]}]}]"#;
    for (import, skipped) in [(Import::litellm(litellm), 1), (Import::genai_prices(genai), 2)] {
        let import = import.unwrap();
        assert!(import.prices().is_empty());
        assert_eq!(import.report.skipped["no price of prompt tokens"].len(), skipped);
    }
}

#[test]
fn what_neither_a_variant_nor_the_hours_state_costs_the_standard_price() {
    let json = br#"{"m": {"litellm_provider": "p", "mode": "chat", "input_cost_per_token": 2e-6, "output_cost_per_token": 8e-6,
        "output_cost_per_token_flex": 4e-6, "off_peak_pricing": {"hours_utc": "00:00-06:00", "output_cost_per_token": 6e-6}}}"#;
    let price = price(&Import::litellm(json).unwrap(), "p/m", TODAY);
    let at_night = |variant| rates(&price, 1, variant, Some("2026-01-05T03:00:00Z"));
    assert_eq!(at_night(None), plain(2.0, None, 6.0));
    assert_eq!(at_night(Some("flex")), plain(2.0, None, 4.0), "prompt tokens are not free at night");
}

#[test]
fn what_one_source_alone_says_is_charged_is_not_agreed_on() {
    let litellm = |extra: &str| {
        let json = format!(
            r#"{{"embedder": {{"litellm_provider": "p", "mode": "embedding", "input_cost_per_token": 1e-6{extra}}}}}"#
        );
        Import::litellm(json.as_bytes()).unwrap()
    };
    let genai = br#"[{"id": "p", "models": [{"id": "embedder", "prices": {"input_mtok": 1}}]}]"#;
    let genai = Import::genai_prices(genai).unwrap();
    let agreed = |extra: &str| CrossCheck::of(&litellm(extra), &genai, day(TODAY)).agreed().len();
    assert_eq!(agreed(""), 1);
    assert_eq!(agreed(r#", "output_cost_per_token": 1e-6"#), 0);
    assert_eq!(agreed(r#", "input_cost_per_request": 0.001"#), 0);
}

#[test]
fn litellms_ranges_price_the_whole_request() {
    let price = price(&litellm(), "dashscope/qwen-plus-2025-07-28", TODAY);
    let with_reasoning =
        |input, output, reasoning| Rates { reasoning_per_mtok: Some(reasoning), ..plain(input, None, output) };
    assert_eq!(rates(&price, 256_000, None, None), with_reasoning(0.4, 1.2, 4.0));
    assert_eq!(rates(&price, 256_001, None, None), with_reasoning(1.2, 3.6, 12.0));
}

#[test]
fn litellms_long_prompts_begin_at_the_bound_itself_at_xai() {
    let price = price(&litellm(), "xai/grok-4.7", TODAY);
    let input = |tokens| rates(&price, tokens, None, None).input_per_mtok;
    assert_eq!([input(199_999), input(200_000)], [2.0, 4.0]);
}

#[test]
fn litellms_off_peak_hours_become_windows() {
    let price = price(&litellm(), "deepseek/deepseek-flash", TODAY);
    let input = |at| rates(&price, 1, None, Some(at)).input_per_mtok;
    // 2026-11-20 is a Friday.
    assert_eq!([input("2026-11-20T00:59:59Z"), input("2026-11-20T01:00:00Z")], [0.15, 0.3]);
    assert_eq!([input("2026-11-20T09:59:59Z"), input("2026-11-20T10:00:00Z")], [0.3, 0.15]);
    assert_eq!([input("2026-11-21T02:00:00Z"), input("2026-11-22T23:59:59Z")], [0.15; 2]);
    assert_eq!(price.windows[3].days, [Day::Sat, Day::Sun]);
    assert_eq!(price.cache_write_per_mtok, None, "a zero on top of the prompt is not a free prompt");
}

#[test]
fn litellms_models_are_named_by_who_sells_them() {
    let import = litellm();
    let names: Vec<String> = table(&import).models().keys().cloned().collect();
    assert_eq!(
        names,
        [
            "azure/gpt-5.5",
            "bedrock/eu-west-1/meta.llama3-8b",
            "claude-haiku-5-5",
            "dashscope/qwen-plus-2025-07-28",
            "deepseek/deepseek-flash",
            "gpt-5.4",
            "openai/gpt-oss-120b",
            "perplexity/pplx-70b-online",
            "tencent/deepseek-v4.1-flash",
            "text-embedding-3-small",
            "xai/grok-4.7",
        ]
    );
    assert_eq!(price(&import, "azure/gpt-5.5", TODAY).input_per_mtok, 5.0, "azure/ is more telling than azure_ai/");
    assert_eq!(price(&import, "perplexity/pplx-70b-online", TODAY).per_request, Some(0.005));
}

#[test]
fn what_litellm_says_and_was_not_understood_is_reported() {
    insta::assert_yaml_snapshot!(litellm().report);
}

#[test]
fn genai_prices_tiers_and_variants_are_taken_over() {
    let import = genai_prices();
    let price = price(&import, "gpt-5.4", TODAY);
    assert_eq!(rates(&price, 272_001, None, None), plain(5.0, Some(0.5), 22.5));
    assert_eq!(rates(&price, 272_001, Some("batch"), None), plain(2.5, Some(0.13), 7.5));
    assert_eq!(rates(&price, 1, Some("priority"), None), plain(6.0, Some(0.25), 30.0));
    assert_eq!(price.variants.keys().collect::<Vec<_>>(), ["batch", "priority"]);
}

#[test]
fn a_variant_holds_from_its_own_day() {
    let import = genai_prices();
    let variants = |on| price(&import, "gpt-5.4", on).variants.into_keys().collect::<Vec<_>>();
    assert_eq!(variants("2026-10-11"), ["batch"]);
    assert_eq!(variants("2026-10-12"), ["batch", "priority"]);
}

#[test]
fn genai_prices_history_is_taken_over() {
    let import = genai_prices();
    let on = |date| price(&import, "o3", date).rates();
    assert_eq!([on("2025-06-09"), on("2025-06-10")], [plain(10.0, Some(2.5), 40.0), plain(2.0, Some(0.5), 8.0)]);
}

#[test]
fn of_genai_prices_days_and_hours_the_last_that_holds_counts() {
    let import = genai_prices();
    let input = |date, time| {
        let at = format!("{date}T{time}Z");
        rates(&price(&import, "deepseek/deepseek-v4-pro", date), 1, None, Some(&at)).input_per_mtok
    };
    assert_eq!([input("2026-08-16", "12:00:00"), input("2026-08-16", "02:00:00")], [0.435, 1.32]);
    assert_eq!([input("2026-08-17", "12:00:00"), input("2026-08-17", "02:00:00")], [0.66, 1.32]);
    // The price from December follows the windows in the list, so these no longer count.
    assert_eq!([input("2026-12-01", "12:00:00"), input("2026-12-01", "02:00:00")], [1.0, 1.0]);
}

#[test]
fn genai_prices_hours_with_an_offset_are_those_of_utc() {
    let price = price(&genai_prices(), "deepseek/deepseek-flash", TODAY);
    let input = |at| rates(&price, 1, None, Some(at)).input_per_mtok;
    assert_eq!([input("2026-11-20T05:59:59Z"), input("2026-11-20T06:00:00Z")], [0.15, 0.3]);
    assert_eq!([input("2026-11-20T09:59:59Z"), input("2026-11-20T10:00:00Z")], [0.3, 0.15]);
}

#[test]
fn genai_prices_fees_are_per_thousand_requests_and_other_names_are_known() {
    let import = genai_prices();
    assert_eq!(price(&import, "perplexity/sonar", TODAY).per_request, Some(0.005));
    let names: Vec<String> = table(&import).models().keys().cloned().collect();
    let known = [
        "deepseek/deepseek-flash",
        "deepseek/deepseek-v4-pro",
        "gpt-5-4",
        "gpt-5.4",
        "o3",
        "perplexity/sonar",
        "text-embedding-3-small",
    ];
    assert_eq!(names, known, "a snapshot needs no name of its own");
}

#[test]
fn what_genai_prices_says_and_was_not_understood_is_reported() {
    insta::assert_yaml_snapshot!(genai_prices().report);
}

#[test]
fn providers_may_be_in_an_object_with_other_things() {
    let providers: serde_json::Value = serde_json::from_slice(GENAI_PRICES).unwrap();
    let object = serde_json::json!({ "units": {}, "providers": providers }).to_string();
    assert_eq!(Import::genai_prices(object.as_bytes()).unwrap(), genai_prices());
}

#[test]
fn a_file_of_another_form_is_refused() {
    insta::assert_snapshot!(Import::litellm(b"[]").unwrap_err(), @"failed to read LiteLLM's prices: expected an object of models");
    insta::assert_snapshot!(Import::litellm(b"{").unwrap_err(), @"failed to read LiteLLM's prices as JSON: EOF while parsing an object at line 1 column 1");
    insta::assert_snapshot!(Import::genai_prices(LITELLM).unwrap_err(), @"failed to read genai-prices's prices: expected a list of providers");
}

fn cross_check() -> CrossCheck {
    CrossCheck::of(&litellm(), &genai_prices(), day(TODAY))
}

#[test]
fn disagreements_are_named_by_model_price_and_meter() {
    insta::assert_yaml_snapshot!(cross_check());
}

#[test]
fn less_than_one_per_cent_is_no_disagreement() {
    let one = |input: &str| {
        let json = format!(
            r#"{{"m": {{"litellm_provider": "p", "mode": "chat", "input_cost_per_token": {input}, "output_cost_per_token": 1e-6}}}}"#
        );
        let other = br#"[{"id": "p", "models": [{"id": "m", "prices": {"input_mtok": 1, "output_mtok": 1}}]}]"#;
        let check = CrossCheck::of(
            &Import::litellm(json.as_bytes()).unwrap(),
            &Import::genai_prices(other).unwrap(),
            day(TODAY),
        );
        check.disagreements.len()
    };
    assert_eq!([one("0.991e-6"), one("1.009e-6"), one("0.98e-6"), one("1.03e-6"), one("0")], [0, 0, 1, 1, 1]);
}

#[test]
fn what_both_agree_on_leaves_out_what_they_do_not() {
    let check = cross_check();
    let agreed = check.agreed();
    assert_eq!(agreed.keys().collect::<Vec<_>>(), ["gpt-5.4", "text-embedding-3-small"]);
    let price = &agreed["gpt-5.4"][0].price;
    assert_eq!(price.variants.keys().collect::<Vec<_>>(), ["batch"], "they disagree on `priority`");
    assert_eq!(price.tiers.len(), 1);
    assert_eq!(price.rates().stated(Meter::CachedInput), Some(0.25));
}

/// Random JSON with the fields that the importers read.
fn nonsense() -> impl Strategy<Value = serde_json::Value> {
    let word = prop::sample::select(
        [
            "input_cost_per_token",
            "output_cost_per_token",
            "mode",
            "chat",
            "litellm_provider",
            "tiered_pricing",
            "range",
            "off_peak_pricing",
            "hours_utc",
            "windows",
            "weekdays",
            "16:30-00:30",
            "25:00-é",
            "id",
            "models",
            "match",
            "or",
            "equals",
            "prices",
            "constraint",
            "start_date",
            "start_time",
            "end_time",
            "2026-01-01",
            "08:00:00+99:99",
            "input_mtok",
            "output_mtok",
            "base",
            "tiers",
            "start",
            "price",
            "price_variants",
            "when",
            "processing",
            "batch",
            "requests_kcount",
            "providers",
            "cache_creation_input_token_cost_above_1hr_above_9999999999999999999k_tokens_batches",
            "input_cost_per_token_above_k_tokens",
        ]
        .map(str::to_owned)
        .to_vec(),
    );
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        word.clone().prop_map(serde_json::Value::from),
        "\\PC{0,80}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(6, 60, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
            prop::collection::btree_map(prop_oneof![word.clone(), "[a-z/-]{0,9}"], inner, 0..8).prop_map(
                |map: BTreeMap<String, serde_json::Value>| map.into_iter().collect::<serde_json::Map<_, _>>().into()
            ),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_makes_an_import_panic_or_make_an_insane_table(value in nonsense()) {
        let json = value.to_string();
        for import in [Import::litellm(json.as_bytes()), Import::genai_prices(json.as_bytes())].into_iter().flatten() {
            prop_assert!(PriceTable::new(day(TODAY), Vec::new(), import.prices()).is_ok());
        }
    }

    #[test]
    fn no_damage_to_a_file_makes_an_import_panic(
        at in any::<prop::sample::Index>(), value in nonsense(), which: bool
    ) {
        let bytes = if which { LITELLM } else { GENAI_PRICES };
        let mut document: serde_json::Value = serde_json::from_slice(bytes).unwrap();
        replace(&mut document, at.index(count(&serde_json::from_slice(bytes).unwrap())), &value);
        let json = document.to_string();
        let import = if which { Import::litellm(json.as_bytes()) } else { Import::genai_prices(json.as_bytes()) };
        if let Ok(import) = import {
            prop_assert!(PriceTable::new(day(TODAY), Vec::new(), import.prices()).is_ok());
            let _ = CrossCheck::of(&import, &genai_prices(), day(TODAY));
        }
    }

    #[test]
    fn no_bytes_make_an_import_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Import::litellm(&bytes);
        let _ = Import::genai_prices(&bytes);
    }
}

fn children(value: &mut serde_json::Value) -> Vec<&mut serde_json::Value> {
    match value {
        serde_json::Value::Array(values) => values.iter_mut().collect(),
        serde_json::Value::Object(fields) => fields.values_mut().collect(),
        _ => Vec::new(),
    }
}

/// Number of values in `value`, including itself.
fn count(value: &serde_json::Value) -> usize {
    1 + children(&mut value.clone()).into_iter().map(|child| count(child)).sum::<usize>()
}

/// Replaces the `nth` value, in the order of [`count`], with `other`. Returns the number left to count; `None` once it is replaced.
fn replace(value: &mut serde_json::Value, nth: usize, other: &serde_json::Value) -> Option<usize> {
    let Some(mut left) = nth.checked_sub(1) else {
        *value = other.clone();
        return None;
    };
    for child in children(value) {
        left = replace(child, left, other)?;
    }
    Some(left)
}
