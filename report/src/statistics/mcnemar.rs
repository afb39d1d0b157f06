//! McNemar's exact test: of the items that exactly one of both got right, each is as likely to be either's.

/// The two-sided p-value where `ours` items were right only for the one, and `theirs` only for the other: binomial with one half.
pub(crate) fn mcnemar(ours: u64, theirs: u64) -> f64 {
    let (fewer, all) = (ours.min(theirs), ours + theirs);
    let mut term = -(all as f64) * std::f64::consts::LN_2;
    let mut tail = term.exp();
    for at in 0..fewer {
        term += ((all - at) as f64 / (at + 1) as f64).ln();
        tail += term.exp();
    }
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_those_of_binomial_tables() {
        for ((ours, theirs), expected) in
            [((0, 0), 1.0), ((3, 3), 1.0), ((5, 0), 0.0625), ((1, 9), 22.0 / 1024.0), ((8, 2), 112.0 / 1024.0)]
        {
            assert!((mcnemar(ours, theirs) - expected).abs() < 1e-12, "{ours} and {theirs}");
        }
    }

    #[test]
    fn thousands_of_items_do_not_underflow() {
        // The normal approximation with its correction for continuity: z = 99 / sqrt(5000).
        assert!((mcnemar(2450, 2550) - 0.161_5).abs() < 1e-3, "{}", mcnemar(2450, 2550));
    }
}
