use super::*;

mod laws;

/// Nano-dollars in a millionth of a dollar, which is the cost of one token at one dollar per million.
const MICRO: u64 = 1_000;

fn cost(price: &Price, usage: Usage) -> Money {
    price.cost(&usage, &Circumstances::default()).unwrap()
}

fn cost_at(price: &Price, usage: Usage, at: &str) -> Money {
    price.cost(&usage, &Circumstances { at: Some(at.parse().unwrap()), variant: None }).unwrap()
}

fn prompt(input: u64) -> Usage {
    Usage { input, ..Usage::default() }
}

fn gpt_5() -> Price {
    Price { cached_input_per_mtok: Some(0.125), ..Price::per_mtok(1.25, 10.0) }
}

fn claude_sonnet_4_5() -> Price {
    Price {
        cached_input_per_mtok: Some(0.3),
        cache_write_per_mtok: Some(3.75),
        cache_write_1h_per_mtok: Some(6.0),
        ..Price::per_mtok(3.0, 15.0)
    }
}

fn gpt_5_4() -> Price {
    let long =
        Rates { input_per_mtok: 5.0, cached_input_per_mtok: Some(0.5), output_per_mtok: 22.5, ..Rates::default() };
    Price {
        cached_input_per_mtok: Some(0.25),
        tiers: vec![PriceTier { above_input_tokens: 272_000, rates: long }],
        ..Price::per_mtok(2.5, 15.0)
    }
}

#[test]
fn openai_counts_cached_tokens_into_the_prompt_and_they_are_charged_once() {
    // {"prompt_tokens": 12000, "prompt_tokens_details": {"cached_tokens": 10000}, "completion_tokens": 3000,
    //  "completion_tokens_details": {"reasoning_tokens": 2048}}
    let usage = Usage { input: 12_000, cached_input: 10_000, output: 3_000, reasoning: 2_048, ..Usage::default() };
    // 2000 × 1.25 + 10000 × 0.125 + 3000 × 10
    assert_eq!(cost(&gpt_5(), usage), Money((2_500 + 1_250 + 30_000) * MICRO));
}

#[test]
fn anthropic_counts_cache_reads_and_writes_beside_the_prompt_and_they_are_charged_once() {
    // {"input_tokens": 50, "cache_read_input_tokens": 100000, "cache_creation": {"ephemeral_5m_input_tokens": 2000,
    //  "ephemeral_1h_input_tokens": 1000}, "output_tokens": 500}; `Usage` has everything in `input`.
    let usage = Usage {
        input: 50 + 100_000 + 2_000 + 1_000,
        cached_input: 100_000,
        cache_write: 2_000,
        cache_write_1h: 1_000,
        output: 500,
        reasoning: 0,
        unmetered_calls: 0,
    };
    // 50 × 3 + 100000 × 0.3 + 2000 × 3.75 + 1000 × 6 + 500 × 15
    assert_eq!(cost(&claude_sonnet_4_5(), usage), Money((150 + 30_000 + 7_500 + 6_000 + 7_500) * MICRO));
}

#[test]
fn a_cache_hit_that_another_tool_charged_fourfold_costs_what_its_provider_charged() {
    // BerriAI/litellm issue 14849: $0.7642 were reported where 5005 × 1.25 + 257955 × 0.625 + 1744 × 10 dollars per million are due.
    let price = Price { cached_input_per_mtok: Some(0.625), ..Price::per_mtok(1.25, 10.0) };
    let usage = Usage { input: 262_960, cached_input: 257_955, output: 1_744, ..Usage::default() };
    assert_eq!(cost(&price, usage), Money(184_918_125));
}

#[test]
fn what_has_no_price_of_its_own_is_charged_as_what_it_is_a_part_of() {
    let plain = Price::per_mtok(3.0, 15.0);
    let usage = Usage {
        input: 4,
        cached_input: 1,
        cache_write: 1,
        cache_write_1h: 1,
        output: 2,
        reasoning: 1,
        unmetered_calls: 0,
    };
    assert_eq!(cost(&plain, usage), Money((4 * 3 + 2 * 15) * MICRO));
    let writes = Price { cache_write_per_mtok: Some(4.0), ..plain };
    assert_eq!(cost(&writes, usage), Money((2 * 3 + 2 * 4 + 2 * 15) * MICRO));
}

#[test]
fn reasoning_is_part_of_the_output_and_charged_once_at_its_own_price() {
    // {"output_cost_per_token": 1.2e-06, "output_cost_per_reasoning_token": 4e-06}, for a model that bills reasoning separately.
    let price = Price { reasoning_per_mtok: Some(4.0), ..Price::per_mtok(0.4, 1.2) };
    let usage = Usage { output: 1_000, reasoning: 900, ..Usage::default() };
    assert_eq!(cost(&price, usage), Money((100 * 12 / 10 + 900 * 4) * MICRO));
}

#[test]
fn a_part_that_is_larger_than_its_whole_is_charged_no_more_than_the_whole() {
    let usage = Usage { input: 10, cached_input: 25, cache_write: 7, output: 3, reasoning: 9, ..Usage::default() };
    assert_eq!(cost(&gpt_5(), usage), Money(10 * 125 + 3 * 10 * MICRO));
}

#[test]
fn a_long_prompt_moves_the_whole_request_to_the_tiers_price() {
    let call = |input| Usage { input, cached_input: 100_000, output: 1_000, ..Usage::default() };
    // 172000 × 2.5 + 100000 × 0.25 + 1000 × 15, and 172001 × 5 + 100000 × 0.5 + 1000 × 22.5
    assert_eq!(cost(&gpt_5_4(), call(272_000)), Money((430_000 + 25_000 + 15_000) * MICRO));
    assert_eq!(cost(&gpt_5_4(), call(272_001)), Money((860_005 + 50_000 + 22_500) * MICRO));
}

#[test]
fn of_several_tiers_the_highest_that_is_reached_counts_in_whatever_order_they_are_written() {
    let tier = |above_input_tokens, input| PriceTier {
        above_input_tokens,
        rates: Rates { input_per_mtok: input, ..Rates::default() },
    };
    let price = Price { tiers: vec![tier(1_000, 9.0), tier(100, 3.0)], ..Price::per_mtok(1.0, 0.0) };
    let costs = [100, 101, 1_000, 1_001].map(|input| cost(&price, prompt(input)));
    assert_eq!(costs, [Money(100 * MICRO), Money(303 * MICRO), Money(3_000 * MICRO), Money(9_009 * MICRO)]);
}

#[test]
fn batches_are_charged_at_their_own_price_tiers_included() {
    let mut batch = gpt_5_4();
    batch.input_per_mtok = 1.25;
    batch.output_per_mtok = 7.5;
    batch.tiers[0].rates = Rates { input_per_mtok: 2.5, output_per_mtok: 11.25, ..Rates::default() };
    let price = Price { variants: [(BATCH.to_owned(), batch)].into(), ..gpt_5_4() };
    let cost = |input| {
        let circumstances = Circumstances::of_call(Lane::Batch, Some("default"), None);
        price.cost(&Usage { input, output: 1_000, ..Usage::default() }, &circumstances).unwrap()
    };
    assert_eq!(cost(1_000), Money((1_250 + 7_500) * MICRO));
    assert_eq!(cost(300_000), Money((750_000 + 11_250) * MICRO));
}

#[test]
fn a_way_of_being_served_without_a_price_of_its_own_has_no_known_cost() {
    let price = Price { variants: [("flex".to_owned(), Price::per_mtok(0.625, 5.0))].into(), ..gpt_5() };
    let served = |tier| price.cost(&prompt(1_000_000), &Circumstances::of_call(Lane::Live, tier, None));
    assert_eq!([served(Some("flex")), served(Some("FLEX"))], [Some(Money(625_000 * MICRO)); 2]);
    let standard = [None, Some("default"), Some("standard"), Some("STANDARD"), Some("auto"), Some("on_demand")];
    assert_eq!(standard.map(served), [Some(Money(1_250_000 * MICRO)); 6]);
    assert_eq!([served(Some("priority")), served(Some("scale")), served(Some("fast"))], [None; 3]);
    assert_eq!(served(Some(BATCH)), Some(Money(1_250_000 * MICRO)), "no batch is dearer than what is none");
}

#[test]
fn a_fee_per_request_is_charged_whatever_the_tokens() {
    let price = Price { per_request: Some(0.005), ..Price::per_mtok(1.0, 1.0) };
    assert_eq!(cost(&price, Usage::default()), Money(5_000 * MICRO));
    assert_eq!(cost(&price, prompt(3)), Money(5_003 * MICRO));
}

#[test]
fn a_discount_at_night_holds_from_its_first_second_to_its_last_across_midnight() {
    // DeepSeek until September 2025: 16:30–00:30 UTC at half the price.
    let night = PriceWindow {
        from: "16:30:00".parse().unwrap(),
        to: "00:30:00".parse().unwrap(),
        days: Vec::new(),
        rates: Rates { input_per_mtok: 0.135, output_per_mtok: 0.55, ..Rates::default() },
    };
    let price = Price { windows: vec![night], ..Price::per_mtok(0.27, 1.1) };
    let at = |time: &str| cost_at(&price, prompt(1_000_000), &format!("2025-06-30T{time}Z"));
    let (day, night) = (Money(270_000 * MICRO), Money(135_000 * MICRO));
    assert_eq!([at("16:29:59.999"), at("16:30:00"), at("23:59:59")], [day, night, night]);
    assert_eq!([at("00:00:00"), at("00:29:59.999"), at("00:30:00")], [night, night, day]);
    assert_eq!(cost(&price, prompt(1_000_000)), day, "a call of unknown time is charged the plain price");
}

#[test]
fn a_window_of_some_days_leaves_the_others_alone() {
    // DeepSeek since August 2026: 01:00–04:00 UTC on weekdays at twice the price.
    let peak = PriceWindow {
        from: "01:00:00".parse().unwrap(),
        to: "04:00:00".parse().unwrap(),
        days: Day::WEEK[..5].to_vec(),
        rates: Rates { input_per_mtok: 0.3, output_per_mtok: 1.2, ..Rates::default() },
    };
    let price = Price { windows: vec![peak], ..Price::per_mtok(0.15, 0.6) };
    let at = |date: &str| cost_at(&price, prompt(1_000_000), &format!("{date}T02:00:00Z"));
    let [friday, saturday, sunday, monday] =
        ["2026-11-20", "2026-11-21", "2026-11-22", "2026-11-23"].map(|date| at(date).0 / MICRO);
    assert_eq!([friday, saturday, sunday, monday], [300_000, 150_000, 150_000, 300_000]);
}

#[test]
fn a_window_that_ends_when_it_begins_is_the_whole_day_and_goes_before_tiers() {
    let midnight = "00:00:00".parse().unwrap();
    let rates = Rates { input_per_mtok: 1.0, ..Rates::default() };
    let sunday = PriceWindow { from: midnight, to: midnight, days: vec![Day::Sun], rates };
    let price = Price { windows: vec![sunday], ..gpt_5_4() };
    assert_eq!(cost_at(&price, prompt(300_000), "2026-11-22T12:00:00Z"), Money(300_000 * MICRO));
    assert_eq!(cost_at(&price, prompt(300_000), "2026-11-21T12:00:00Z"), Money(1_500_000 * MICRO));
}

#[test]
fn a_fraction_of_a_nano_dollar_is_rounded_half_up_once() {
    let tiny = Price::per_mtok(0.0005, 0.0);
    let cost = |input| cost(&tiny, prompt(input));
    assert_eq!((cost(0), cost(1), cost(2), cost(3)), (Money(0), Money(1), Money(1), Money(2)));
    // Three meters of 0.4 nano-dollars cost 1.2 together, not three times nothing.
    let price = Price {
        cached_input_per_mtok: Some(0.0004),
        cache_write_per_mtok: Some(0.0004),
        ..Price::per_mtok(0.0004, 0.0)
    };
    assert_eq!(
        price.cost(&Usage { input: 3, cached_input: 1, cache_write: 1, ..Usage::default() }, &Circumstances::default()),
        Some(Money(1))
    );
}

#[test]
fn the_worst_case_is_the_dearest_figure_of_every_tier_in_reach_and_every_variant() {
    let fast = Price::per_mtok(5.0, 30.0);
    let price = Price { variants: [("priority".to_owned(), fast)].into(), ..gpt_5_4() };
    // Below the tier 5 and 30 of the variant, above it 5 and 30 against 5 and 22.5 of the tier.
    assert_eq!(price.at_most(1_000, 100), Money((5_000 + 3_000) * MICRO));
    assert_eq!(gpt_5_4().at_most(272_000, 100), Money((680_000 + 1_500) * MICRO));
    assert_eq!(gpt_5_4().at_most(272_001, 100), Money((1_360_005 + 2_250) * MICRO));
    assert_eq!(claude_sonnet_4_5().at_most(1_000, 0), Money(6_000 * MICRO), "all of it may be written to the cache");
}

#[test]
fn a_call_that_names_its_service_tier_is_not_held_to_cost_what_a_dearer_one_costs() {
    let of = |input, output| Price::per_mtok(input, output);
    let variants = [("priority".to_owned(), of(5.0, 30.0)), ("flex".to_owned(), of(1.0, 6.0))].into();
    let price = Price { variants, ..of(2.0, 12.0) };
    let at_most = |tier: &str| price.at_most_as(tier, 1_000, 100).0 / MICRO;
    assert_eq!(["default", "flex", "priority", "auto", "unheard-of"].map(at_most), [3_200, 3_200, 8_000, 8_000, 8_000]);
}

#[test]
fn the_field_that_is_no_price_is_named() {
    let fault = |change: fn(&mut Price)| {
        let mut price = Price { variants: [(BATCH.to_owned(), gpt_5_4())].into(), ..gpt_5_4() };
        assert_eq!(price.first_fault(), None);
        change(&mut price);
        assert!(!price.is_sane());
        price.first_fault().unwrap()
    };
    assert_eq!(fault(|price| price.input_per_mtok = -1.0), "input_per_mtok");
    assert_eq!(fault(|price| price.per_request = Some(f64::NAN)), "per_request");
    assert_eq!(
        fault(|price| price.tiers[0].rates.cached_input_per_mtok = Some(f64::INFINITY)),
        "tiers[0].rates.cached_input_per_mtok"
    );
    assert_eq!(
        fault(|price| price.variants.get_mut(BATCH).unwrap().output_per_mtok = 1e6),
        "variants.batch.output_per_mtok"
    );
    assert_eq!(
        fault(|price| {
            let inner = price.clone();
            price.variants.get_mut(BATCH).unwrap().variants.insert("flex".to_owned(), inner);
        }),
        "variants.batch.variants"
    );
}

#[test]
fn a_price_is_written_as_it_was_read() {
    let yaml = "input_per_mtok: 0.15\noutput_per_mtok: 0.6\nwindows:\n- from: 01:00:00\n  to: 04:00:00\n  days:\n  - mon\n  - fri\n  \
                rates:\n    input_per_mtok: 0.3\n    output_per_mtok: 1.2\n";
    let price: Price = serde_yaml_ng::from_str(yaml).unwrap();
    assert_eq!(price.windows[0].days, [Day::Mon, Day::Fri]);
    assert_eq!(serde_yaml_ng::to_string(&price).unwrap(), yaml);
}
