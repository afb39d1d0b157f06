use super::*;

fn price() -> Price {
    Price { cached_input_per_mtok: Some(0.075), ..Price::per_mtok(0.15, 0.6) }
}

fn cost(price: &Price, usage: Usage) -> Money {
    price.cost(&usage, &Circumstances::default())
}

#[test]
fn cached_tokens_are_charged_once_at_their_own_price() {
    let usage = Usage { input: 1_000_000, cached_input: 400_000, ..Usage::default() };
    assert_eq!(cost(&price(), usage), Money(90_000_000 + 30_000_000));
}

#[test]
fn reasoning_tokens_are_part_of_the_output_and_not_charged_again() {
    let usage = Usage { output: 1_000_000, reasoning: 900_000, ..Usage::default() };
    assert_eq!(cost(&price(), usage), Money(600_000_000));
}

#[test]
fn a_fraction_of_a_nano_dollar_is_rounded_half_up_once() {
    let tiny = Price::per_mtok(0.0005, 0.0);
    let cost = |input| cost(&tiny, Usage { input, ..Usage::default() });
    assert_eq!((cost(0), cost(1), cost(2), cost(3)), (Money(0), Money(1), Money(1), Money(2)));
}
