//! Effects that comparisons can see, in words.

use regatta_benchmarks::Unit;
use regatta_proto::counted;
use regatta_report::Outlook;

/// A difference as people read it: in percentage points where the metric is a share.
pub(crate) fn effect(value: f64, range: (f64, f64), unit: Unit) -> String {
    match unit {
        Unit::Plain | Unit::Percent if range == (0.0, 1.0) => format!("{:.1} pp", 100.0 * value),
        Unit::Plain | Unit::Percent | Unit::OutOfTen | Unit::Turns | Unit::Money => {
            format!("{:.2}", value * unit.factor())
        }
    }
}

/// The least difference that is seen, with one digit more than [`effect`] and rounded up: beside a wanted 5.0 pp, 5.0 would say nothing.
pub(crate) fn least(value: f64, range: (f64, f64), unit: Unit) -> String {
    // Products of binary fractions may be a little too large.
    let up = |value: f64, digits: f64| (value * digits - 1e-9).ceil() / digits;
    match unit {
        Unit::Plain | Unit::Percent if range == (0.0, 1.0) => format!("{:.2} pp", up(100.0 * value, 100.0)),
        Unit::Plain | Unit::Percent | Unit::OutOfTen | Unit::Turns | Unit::Money => {
            format!("{:.3}", up(value * unit.factor(), 1000.0))
        }
    }
}

/// `1 trial`, `3 trials`.
pub(crate) fn of_trials(trials: u16) -> String {
    counted(trials.into(), "trial", "trials")
}

/// Meaning of "to see".
pub(crate) fn aim(power: f64, level: f64) -> String {
    format!(
        "to see: a true difference is found in {} % of such sweeps, at {} % after Holm's correction over all pairs of a benchmark",
        (1000.0 * power).round() / 10.0,
        (1000.0 * level).round() / 10.0
    )
}

/// The smallest difference that the comparisons of one benchmark and setting can see.
pub(crate) fn sees(outlook: &Outlook) -> String {
    let Outlook { benchmark, setting, metric, items, clusters, trials, pairs, .. } = outlook;
    let pairs = match pairs {
        0 | 1 => "one comparison".to_owned(),
        pairs => format!("{pairs} pairs"),
    };
    let of = format!(
        "{} in {} × {}, {pairs}",
        counted((*items).into(), "item", "items"),
        counted((*clusters).into(), "cluster", "clusters"),
        of_trials(*trials)
    );
    match outlook.smallest {
        Some(smallest) => {
            let about = if outlook.basis.is_assumed() { "about " } else { "" };
            let smallest = effect(smallest, outlook.range, outlook.unit);
            format!("{benchmark} {setting}: differences of {metric} from {about}{smallest} on are seen ({of})")
        }
        None => format!("{benchmark} {setting}: no difference of {metric} can be seen ({of})"),
    }
}
