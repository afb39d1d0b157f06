use insta::assert_snapshot;
use regatta_benchmarks::Better;
use regatta_proto::Evaluator;

use super::*;
use crate::statistics::Gaps;

fn pair(one: &str, other: &str, value: f64, p_holm: f64) -> Pair {
    let contestant = |name: &str| {
        let (model, setting) = name.split_once(' ').unwrap();
        Contestant { model: model.parse().unwrap(), setting: setting.parse().unwrap(), simulated: true }
    };
    Pair {
        one: contestant(one),
        other: contestant(other),
        evaluator: Evaluator::Official,
        metric: "success".to_owned(),
        unit: Unit::Percent,
        better: Better::Higher,
        difference: Difference {
            value,
            low: Some(value - 0.029),
            high: Some(value + 0.029),
            n: 120,
            clusters: 40,
            p: Some(p_holm / 6.0),
            test: Some(Test::SampledFlips),
            missing: None,
            withheld: false,
        },
        p_holm: Some(p_holm),
    }
}

fn family(pairs: Vec<Pair>) -> Vec<PairFamily> {
    vec![PairFamily { benchmark: "worfbench".parse().unwrap(), size: 6, with_best_only: false, pairs }]
}

#[test]
fn one_group_of_items_alone_is_not_compared_and_has_no_p_value() {
    let mut alone = pair("sim/a plain", "sim/b plain", 0.3, 1.0);
    alone.difference = Difference { low: None, high: None, clusters: 1, p: None, test: None, ..alone.difference };
    alone.p_holm = None;
    let families = family(vec![alone]);
    assert_eq!(
        lines_of(&families, Level::USUAL)[1],
        "  plain: sim/a *, sim/b *: not compared: one group of items alone"
    );
    let row = sheet(&families[0], Level::USUAL).rows.remove(0);
    for at in [4, 5] {
        assert!(matches!(&row[at], Field::Number(p) if p == NOTHING), "column {at}");
    }
}

#[test]
fn a_terminal_shows_who_is_better_and_which_pairs_are_tied() {
    let fewer_turns =
        Pair { unit: Unit::Turns, better: Better::Lower, ..pair("sim/a plain", "sim/d plain", -2.1, 0.0002) };
    let pairs = vec![
        pair("sim/a plain", "sim/b plain", 0.041, 0.003),
        pair("sim/b plain", "sim/c plain", -0.05, 0.04),
        pair("sim/a plain", "sim/c plain", -0.01, 0.7),
        pair("sim/a plain", "sim/a autogen/cast=tuned", 0.03, 0.2),
        fewer_turns,
    ];
    assert_snapshot!(lines_of(&family(pairs), Level::USUAL).join("\n"));
}

#[test]
fn many_pairs_are_counted_where_a_terminal_has_no_room() {
    let names: Vec<String> = (0..12).map(|at| format!("sim/m{at} plain")).collect();
    let better = names.iter().map(|name| pair("sim/a plain", name, 0.2, 0.001));
    let tied = names.iter().map(|name| pair("sim/b plain", name, 0.01, 0.9));
    let lines = lines_of(&family(better.chain(tied).collect()), Level::USUAL);
    assert_eq!(lines.len(), 1 + SHOWN + 2);
    assert_eq!(
        lines[11..],
        ["  and 2 more differences, in the report", "  no difference seen in 12 pairs, which are in the report"]
    );
}

#[test]
fn what_missing_sessions_leave_of_a_difference_is_told_with_it() {
    let missing = Gaps {
        coverage: 0.94,
        bound_low: Some(0.01),
        bound_high: Some(0.07),
        complete_low: Some(0.02),
        complete_high: Some(0.06),
        complete_p: Some(0.004),
    };
    let with = |coverage: f64, p: f64, withheld: bool, pair: Pair| {
        let missing = Some(Gaps { coverage, ..missing });
        Pair { difference: Difference { missing, p: Some(p), withheld, ..pair.difference }, ..pair }
    };
    let worse = with(0.94, 0.01, false, pair("sim/b plain", "sim/c plain", 0.041, 0.03));
    let pairs = vec![
        with(0.94, 0.01, false, pair("sim/a plain", "sim/b plain", 0.041, 0.03)),
        Pair { difference: worse.difference.turned(), ..worse },
        with(0.88, 1.0, false, pair("sim/a plain", "sim/c plain", 0.041, 1.0)),
        with(0.61, 0.01, true, pair("sim/a plain", "sim/d plain", 0.041, 0.03)),
    ];
    assert_snapshot!(lines_of(&family(pairs), Level::USUAL).join("\n"));
}
