//! The money of a plan in words: what is expected, the most that it can be, and who has no known price.

use std::collections::BTreeSet;

use regatta_proto::{ModelRef, Money};

/// Models that are named of those without a price.
const NAMED: usize = 3;

/// `about $1`, `at least about $1` where some of the amounts are unknown, and `cost unknown` where all are, or there are none.
pub(super) fn about(amounts: impl Iterator<Item = Option<Money>>) -> String {
    let (known, unknown): (Vec<_>, Vec<_>) = amounts.partition(Option::is_some);
    let sum: Money = known.iter().copied().flatten().sum();
    match (known.is_empty(), unknown.is_empty()) {
        (true, _) => "cost unknown".to_owned(),
        (false, true) => format!("about {sum}"),
        (false, false) => format!("at least about {sum}"),
    }
}

/// The bound to follow [`about`] of the same amounts; nothing where all of these are unknown.
pub(super) fn bound(at_most: Option<Money>, is_known: bool, tries: &str) -> String {
    match at_most {
        _ if !is_known => String::new(),
        Some(at_most) => format!(", at most {at_most}{tries}"),
        // Nothing bounds what has no price.
        None => ", with no upper bound".to_owned(),
    }
}

/// A clause on models whose price nobody knows, which `field` of the spec can tell; nothing where there are none.
pub(super) fn unpriced(models: &BTreeSet<&ModelRef>, field: &str) -> String {
    if models.is_empty() {
        return String::new();
    }
    let mut names: Vec<String> = models.iter().take(NAMED).map(ToString::to_string).collect();
    if models.len() > NAMED {
        names.push(format!("{} more", models.len() - NAMED));
    }
    format!(
        "; no price is known of {}: give it as `{field}` in the spec, or in a table with --prices FILE",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const CENT: Money = Money(10_000_000);

    #[test]
    fn what_is_known_in_part_is_told_as_the_least_and_what_is_not_known_as_that() {
        assert_eq!(about([Some(CENT), Some(CENT)].into_iter()), format!("about {}", Money(20_000_000)));
        assert_eq!(about([Some(CENT), None].into_iter()), format!("at least about {CENT}"));
        assert_eq!(about([None, None].into_iter()), "cost unknown");
        assert_eq!(about(std::iter::empty()), "cost unknown");
    }

    #[test]
    fn what_has_no_price_has_no_upper_bound() {
        assert_eq!(bound(Some(CENT), true, " in one try each"), format!(", at most {CENT} in one try each"));
        assert_eq!(bound(None, true, " in one try each"), ", with no upper bound");
        assert_eq!(bound(None, false, ""), "", "nothing is said twice");
    }

    #[test]
    fn models_without_a_price_are_named_with_where_it_can_be_given() {
        let models = ["h/a", "h/b", "h/c", "h/d", "h/e"].map(|id| id.parse::<ModelRef>().unwrap());
        assert_eq!(unpriced(&BTreeSet::new(), "price"), "");
        assert_eq!(
            unpriced(&models.iter().take(1).collect(), "judge_price"),
            "; no price is known of h/a: give it as `judge_price` in the spec, or in a table with --prices FILE"
        );
        let many = unpriced(&models.iter().collect(), "price");
        assert!(many.starts_with("; no price is known of h/a, h/b, h/c, 2 more: give"), "{many}");
    }
}
