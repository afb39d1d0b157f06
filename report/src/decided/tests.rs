//! Answers in words.

use regatta_benchmarks::{Better, Unit};
use regatta_catalog::{ContestSoFar, DecidedSoFar};
use regatta_proto::Evaluator;

use super::*;

fn sequence(one: &str, other: Option<&str>, relation: SequenceRelation, ends: (f64, f64, f64)) -> DecidedSequence {
    DecidedSequence {
        one: one.parse().unwrap(),
        other: other.map(|other| other.parse().unwrap()),
        value: Some(ends.1),
        low: ends.0,
        high: ends.2,
        relation,
        settled_in: None,
        points: Vec::new(),
    }
}

fn contestant(model: &str, sessions: u64, dropped_in: Option<usize>) -> DecidedContestant {
    DecidedContestant { model: model.parse().unwrap(), sessions, dropped_in }
}

fn decided(question: DecideQuestion, ended: Ending, sequences: Vec<DecidedSequence>) -> Decided {
    Decided {
        question,
        margin: "2pp".parse().unwrap(),
        confidence: 0.95,
        over: DecideOver::NewItems,
        ended,
        sessions: 412,
        sessions_max: 2000,
        cost: CostSum { known: Money(12_000_000_000), unknown_calls: 0 },
        cost_of_grid: Some(Money(80_000_000_000)),
        contests: vec![DecidedContest {
            benchmark: "worfbench".parse().unwrap(),
            setting: "two-shot".parse().unwrap(),
            evaluator: Evaluator::Official,
            metric: "f1_chain".to_owned(),
            unit: Unit::Plain,
            better: Better::Higher,
            range: (0.0, 1.0),
            decided: ended == Ending::Decided,
            rounds: 7,
            units: 200,
            best: None,
            candidates: Vec::new(),
            contestants: vec![
                contestant("e/a", 200, None),
                contestant("e/b", 200, None),
                contestant("e/c", 12, Some(2)),
            ],
            sequences,
        }],
    }
}

#[test]
fn a_ranking_is_told_pair_by_pair_with_its_money() {
    let told = decided(
        DecideQuestion::Ranking,
        Ending::Decided,
        vec![
            sequence("e/a", Some("e/b"), SequenceRelation::Better, (0.012, 0.041, 0.07)),
            sequence("e/a", Some("e/c"), SequenceRelation::Worse, (-0.4, -0.3, -0.2)),
            sequence("e/b", Some("e/c"), SequenceRelation::Equivalent, (-0.01, 0.002, 0.015)),
        ],
    );
    let first = headline(&told);
    assert!(
        first
            .starts_with("decided after $12.00 of about $80.00 that the whole grid would cost (412 of 2,000 sessions)"),
        "{first}"
    );
    assert_eq!(
        sentences(&told),
        [
            "e/a > e/b by 4.1 pp [1.2, 7.0]",
            "e/c > e/a by 30.0 pp [20.0, 40.0]",
            "e/b and e/c are equivalent within 2 pp: [-1.0, 1.5]",
            "e/c dropped in round 2 of 7, after 12 sessions",
        ]
    );
}

#[test]
fn of_the_best_only_its_own_sequences_are_told() {
    let mut told = decided(
        DecideQuestion::Best,
        Ending::Decided,
        vec![
            sequence("e/a", Some("e/b"), SequenceRelation::Open, (-0.01, 0.041, 0.07)),
            sequence("e/b", Some("e/c"), SequenceRelation::Better, (0.1, 0.2, 0.3)),
        ],
    );
    told.contests[0].best = Some("e/a".parse().unwrap());
    told.contests[0].candidates = vec!["e/a".parse().unwrap(), "e/b".parse().unwrap()];
    let lines = sentences(&told);
    assert_eq!(lines[0], "e/a is the best by f1_chain, or within 2 pp of it");
    assert_eq!(lines[1], "e/a − e/b: 4.1 pp [-1.0, 7.0]");
    assert!(!lines.iter().any(|line| line.contains("e/b > e/c")), "{lines:?}");
}

#[test]
fn a_sweep_that_ends_without_an_answer_says_why() {
    let open = sequence("e/a", Some("e/b"), SequenceRelation::Open, (-0.03, 0.003, 0.04));
    for (ended, words) in [
        (Ending::Exhausted, "everything was bought and not all is decided: $12.00"),
        (Ending::Budget, "stopped by the budget before all was decided: $12.00"),
        (Ending::Unmeasured, "stopped because too little was measured (resume it): $12.00"),
        (Ending::Cancelled, "cancelled before all was decided: $12.00"),
    ] {
        let told = decided(DecideQuestion::Ranking, ended, vec![open.clone()]);
        assert!(headline(&told).starts_with(words), "{}", headline(&told));
        assert_eq!(sentences(&told)[0], "e/a and e/b are open: 0.3 pp [-3.0, 4.0]");
    }
}

/// The same sweep while a round runs.
fn so_far(question: DecideQuestion, round: Option<usize>, sequences: Vec<DecidedSequence>) -> DecidedSoFar {
    let Decided { question, margin, confidence, over, sessions, sessions_max, cost_of_grid, contests, .. } =
        decided(question, Ending::Exhausted, sequences);
    let contests = contests.into_iter().map(|answers| ContestSoFar { round, answers });
    DecidedSoFar {
        question,
        margin,
        confidence,
        over,
        sessions,
        sessions_max,
        cost_of_grid,
        contests: contests.collect(),
    }
}

#[test]
fn while_it_runs_a_sweep_tells_its_round_and_every_sequence_as_it_is_now() {
    let mut told = so_far(
        DecideQuestion::Best,
        Some(8),
        vec![
            sequence("e/a", Some("e/b"), SequenceRelation::Open, (-0.02, 0.041, 0.09)),
            sequence("e/a", Some("e/c"), SequenceRelation::Better, (0.1, 0.2, 0.3)),
            sequence("e/b", Some("e/c"), SequenceRelation::Open, (-0.01, 0.16, 0.3)),
        ],
    );
    told.contests[0].answers.candidates = vec!["e/a".parse().unwrap(), "e/b".parse().unwrap()];
    let rendered = render_decided_so_far(&told, CostSum { known: Money(12_000_000_000), unknown_calls: 0 });
    let shown = format!("{}\n{}", rendered.headline, rendered.lines.join("\n"));
    insta::assert_snapshot!(shown, @r"
    question: best within 2 pp · 412 of 2,000 sessions bought · $12.00 of about $80.00 that the whole grid would cost
    round 8; known since the end of round 7:
    the best by f1_chain is one of e/a, e/b
    e/a and e/b are open: 4.1 pp [-2.0, 9.0]
    e/a > e/c by 20.0 pp [10.0, 30.0]
    e/b − e/c: 16.0 pp [-1.0, 30.0]
    e/c dropped in round 2, after 12 sessions
    ");
    assert!(rendered.pictures.is_empty(), "no points were told");
    for sequence in &mut told.contests[0].answers.sequences {
        sequence.points = vec![SequencePoint { round: 7, units: 40, low: sequence.low, high: sequence.high }];
    }
    let pictures = render_decided_so_far(&told, CostSum::default()).pictures;
    assert_eq!(pictures.len(), 3);
    assert!(pictures[0].0 == "e/a − e/b, pp" && pictures[0].1.starts_with("<svg class=\"plot\""), "{pictures:?}");
}

#[test]
fn a_candidate_that_others_are_compared_before_waits_and_is_not_dropped() {
    let mut told = so_far(DecideQuestion::Best, Some(8), Vec::new());
    told.contests[0].answers.candidates = vec!["e/a".parse().unwrap(), "e/c".parse().unwrap()];
    let lines = render_decided_so_far(&told, CostSum::default()).lines;
    assert_eq!(lines.last().unwrap(), "e/c waits since round 2, after 12 sessions");
}

#[test]
fn before_the_first_round_ends_and_after_the_last_one_there_is_no_interval_to_come() {
    let first = |round, rounds, is_decided| {
        let mut told = so_far(DecideQuestion::Ranking, round, Vec::new());
        (told.contests[0].answers.rounds, told.contests[0].answers.decided) = (rounds, is_decided);
        render_decided_so_far(&told, CostSum::default()).lines.swap_remove(0)
    };
    assert_eq!(first(Some(1), 0, false), "round 1, and nothing is known before its end");
    assert_eq!(first(None, 7, true), "decided after round 7:");
    assert_eq!(first(None, 7, false), "everything is bought and not all is decided, after round 7:");
}
