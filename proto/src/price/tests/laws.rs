//! Laws of all prices and usages.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::super::*;

/// Figures as in price lists (multiples of a billionth), and others that are valid.
fn figure() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (0u64..200_000_000_000).prop_map(|nano| nano as f64 / 1e9),
        1 => 0.0..1e6f64,
        1 => Just(0.0),
    ]
}

prop_compose! {
    fn rates()(
        (input_per_mtok, output_per_mtok) in (figure(), figure()),
        cached_input_per_mtok in option::of(figure()),
        cache_write_per_mtok in option::of(figure()),
        cache_write_1h_per_mtok in option::of(figure()),
        reasoning_per_mtok in option::of(figure()),
    ) -> Rates {
        Rates { input_per_mtok, cached_input_per_mtok, cache_write_per_mtok, cache_write_1h_per_mtok, output_per_mtok, reasoning_per_mtok }
    }
}

prop_compose! {
    fn window()(from in 0i8..24, to in 0i8..24, days in vec(prop::sample::select(Day::WEEK.to_vec()), 0..3), rates in rates()) -> PriceWindow {
        PriceWindow { from: jiff::civil::time(from, 0, 0, 0), to: jiff::civil::time(to, 30, 0, 0), days, rates }
    }
}

prop_compose! {
    fn flat()(
        rates in rates(),
        per_request in option::of(0.0..10f64),
        tiers in vec((1u64..300_000, rates()).prop_map(|(above_input_tokens, rates)| PriceTier { above_input_tokens, rates }), 0..3),
        windows in vec(window(), 0..3),
    ) -> Price {
        Price { per_request, tiers, windows, ..Price::of_rates(&rates) }
    }
}

prop_compose! {
    fn price()(plain in flat(), variants in btree_map(prop::sample::select(vec!["batch".to_owned(), "flex".to_owned()]), flat(), 0..3)) -> Price {
        Price { variants, ..plain }
    }
}

prop_compose! {
    /// Includes usages that no provider should report, with parts larger than the whole.
    fn usage()(
        (input, cached_input, cache_write, cache_write_1h) in (0u64..600_000, 0u64..600_000, 0u64..600_000, 0u64..600_000),
        (output, reasoning) in (0u64..200_000, 0u64..200_000),
    ) -> Usage {
        Usage { input, cached_input, cache_write, cache_write_1h, output, reasoning, unmetered_calls: 0 }
    }
}

fn served() -> impl Strategy<Value = Option<&'static str>> {
    prop::sample::select(vec![None, Some("batch"), Some("flex"), Some("unheard of")])
}

fn moment() -> impl Strategy<Value = Option<Timestamp>> {
    option::of((1_700_000_000i64..1_900_000_000).prop_map(|second| Timestamp::from_second(second).unwrap()))
}

proptest! {
    #[test]
    fn the_parts_sum_to_the_whole(price in price(), usage in usage(), variant in served(), at in moment()) {
        let circumstances = Circumstances { variant, at };
        let Some(rates) = price.rates_for(usage.input, &circumstances) else {
            prop_assert_eq!((price.cost(&usage, &circumstances), price.variants.contains_key(variant.unwrap())), (None, false));
            return Ok(());
        };
        let parts = Meter::ALL.map(|meter| rates.femto_of(meter, &usage));
        let fee = price.variant(&circumstances).unwrap().femto_a_request();
        let cost = price.cost(&usage, &circumstances).unwrap();
        prop_assert_eq!(cost, nano(parts.iter().sum::<u128>() + fee));
        let rounded: u64 = parts.iter().map(|part| nano(*part).0).sum::<u64>() + nano(fee).0;
        prop_assert!(rounded.abs_diff(cost.0) < Meter::ALL.len() as u64 + 1);
    }

    #[test]
    fn every_token_is_of_one_meter(usage in usage()) {
        let (prompt, answer) = Meter::ALL.split_at(4);
        prop_assert_eq!(prompt.iter().map(|meter| meter.tokens(&usage)).sum::<u64>(), usage.input);
        prop_assert_eq!(answer.iter().map(|meter| meter.tokens(&usage)).sum::<u64>(), usage.output);
    }

    #[test]
    fn no_call_within_its_bounds_costs_more_than_the_worst_case(
        price in price(), usage in usage(), variant in served(), at in moment(), more in (0u64..500_000, 0u64..500_000)
    ) {
        let worst = price.at_most(usage.input + more.0, usage.output + more.1);
        let cost = price.cost(&usage, &Circumstances { variant, at });
        prop_assert!(cost.is_none_or(|cost| cost <= worst));
    }

    #[test]
    fn a_token_more_never_costs_less(price in price(), usage in usage(), variant in served(), at in moment(), prompt: bool) {
        let circumstances = Circumstances { variant, at };
        let more = if prompt { Usage { input: usage.input + 1, ..usage } } else { Usage { output: usage.output + 1, ..usage } };
        // A longer prompt may reach a cheaper tier; within one tier it costs no less.
        prop_assume!(price.rates_for(more.input, &circumstances) == price.rates_for(usage.input, &circumstances));
        prop_assert!(price.cost(&more, &circumstances) >= price.cost(&usage, &circumstances));
    }

    #[test]
    fn a_discount_on_cached_tokens_never_makes_a_hit_dearer_than_a_miss(
        plain in figure(), part in 0.0..=1.0f64, rest in 0u64..600_000, hit in 0u64..600_000
    ) {
        let price = Price { cached_input_per_mtok: Some(plain * part), ..Price::per_mtok(plain, 0.0) };
        let miss = Usage { input: rest + hit, ..Usage::default() };
        let none = Circumstances::default();
        let with_hit = Usage { cached_input: hit, ..miss };
        prop_assert!(price.cost(&with_hit, &none) <= price.cost(&miss, &none));
    }

    #[test]
    fn no_figures_make_the_arithmetic_panic(
        input: f64, output: f64, fee: f64, tokens in (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()), at in moment()
    ) {
        let (input_tokens, cached_input, output_tokens, reasoning) = tokens;
        let usage = Usage { input: input_tokens, cached_input, output: output_tokens, reasoning, ..Usage::default() };
        let price = Price { per_request: Some(fee), cached_input_per_mtok: Some(output), ..Price::per_mtok(input, output) };
        let cost = price.cost(&usage, &Circumstances { variant: Some(BATCH), at });
        prop_assert!(cost.unwrap() <= price.at_most(input_tokens, output_tokens));
        prop_assert_eq!(price.is_sane(), [input, output, fee].iter().all(|figure| (0.0..1e6).contains(figure)));
    }
}
