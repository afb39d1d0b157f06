//! Courses of contests.

use regatta_deciding::simulation::{Form, Population, play};
use regatta_deciding::{Contest, Question, Relation, Rules, Scores, State, UnitScore, rounds};

use crate::contest;

/// Scores of the first `units` units, where each contestant is right in `of_ten` of ten.
fn right(of_ten: &[usize], units: usize) -> Scores {
    let of = |right: &usize| {
        vec![(0..units).map(|unit| UnitScore::exact(f64::from(u8::from(unit % 10 < *right)))).collect()]
    };
    of_ten.iter().map(of).collect()
}

#[test]
fn the_first_look_is_no_earlier_than_anything_can_be_told() {
    let looks = rounds(200, 1, 1, 20, 0.005);
    assert_eq!(looks.first().map(|look| look.units), Some(9));
    assert_eq!(looks.last().map(|look| look.units), Some(200));
    assert!(looks.is_sorted() && looks.len() <= 20, "{looks:?}");
    assert_eq!(rounds(5, 1, 1, 20, 0.005).len(), 1, "fewer units than the first look needs are bought at once");
    assert_eq!(rounds(200, 1, 1, 1, 0.005).len(), 1);
    assert_eq!(rounds(200, 2, 4, 10, 0.005).iter().filter(|look| look.trials == 3 && look.units == 200).count(), 1);
}

#[test]
fn a_contest_begins_with_everyone_and_drops_who_is_beaten() {
    let contest = contest(3, vec![1; 400], Question::Best);
    let first = contest.rounds()[0];
    let path = contest.replay(&vec![vec![Vec::new()]; 3]);
    assert_eq!((path.state, path.live), (State::Next(first), vec![0, 1, 2]));
    let played = play(&contest, &right(&[8, 7, 1], 400));
    let dropped = played.path.dropped_in[2].unwrap();
    assert!(dropped < played.path.looked.len(), "the worst one goes long before the end");
    assert!(played.sessions[2] < played.sessions[0] / 3, "{:?}", played.sessions);
    assert_eq!(played.path.winner, Some(0));
}

#[test]
fn the_same_scores_give_the_same_next_round_whatever_came_before() {
    let contest = contest(3, vec![1; 400], Question::Ranking);
    let all = right(&[8, 7, 1], 400);
    let look = contest.rounds()[4];
    let bought: Scores = all.iter().map(|of| vec![of[0][..look.units].to_vec()]).collect();
    assert_eq!(contest.replay(&bought), contest.replay(&bought.clone()));
    // Units beyond the last complete round change nothing.
    let mut more = bought.clone();
    more[0][0].push(all[0][0][look.units]);
    assert_eq!(contest.replay(&bought).state, contest.replay(&more).state);
}

/// Buys round by round, as a sweep does.
fn step_by_step(contest: &Contest, grid: &Scores) -> (regatta_deciding::Path, Vec<u64>) {
    let mut bought: Scores = grid.iter().map(|trials| vec![Vec::new(); trials.len()]).collect();
    loop {
        let path = contest.replay(&bought);
        let State::Next(round) = path.state else {
            let items =
                |units: &Vec<UnitScore>| contest.sizes[..units.len()].iter().map(|size| u64::from(*size)).sum::<u64>();
            return (path, bought.iter().map(|trials| trials.iter().map(items).sum()).collect());
        };
        for one in &path.live {
            for (bought, all) in bought[*one].iter_mut().zip(&grid[*one]).take(usize::from(round.trials)) {
                let units = bought.len().max(round.units);
                *bought = all[..units].to_vec();
            }
        }
    }
}

#[test]
fn buying_round_by_round_is_the_same_as_looking_at_the_whole_grid_round_by_round() {
    let population = Population {
        means: vec![0.8, 0.7, 0.6, 0.3],
        form: Form::Binary,
        of_cluster: 0.1,
        of_item: 0.2,
        of_contestant: 0.2,
        missing: 0.02,
    };
    for (seed, question) in (0..).zip([Question::Best, Question::Ranking, Question::Against(2), Question::Interval]) {
        let contest = Contest {
            first_trials: 2,
            most_trials: 3,
            margin: 0.05,
            ..contest(4, [vec![3; 20], vec![1; 20]].concat(), question)
        };
        let grid = population.grid(&contest, seed);
        let played = play(&contest, &grid);
        assert_eq!((played.path, played.sessions), step_by_step(&contest, &grid), "{question:?}");
    }
}

/// Sweeps that were begun by the first rules go on by them.
#[test]
fn a_contest_keeps_the_rules_that_it_was_planned_by() {
    let grid = right(&[9, 8, 7, 5], 600);
    for (rules, sessions, candidates) in
        [(Rules::First, [74, 74, 55, 27], vec![0, 1]), (Rules::Second, [73, 73, 39, 26], vec![0, 1, 2, 3])]
    {
        let contest = Contest { margin: 0.05, rules, ..contest(4, vec![1; 600], Question::Best) };
        let (path, bought) = step_by_step(&contest, &grid);
        assert_eq!((path.winner, &bought[..]), (Some(0), &sessions[..]), "{rules:?}");
        assert_eq!(path.candidates, candidates, "{rules:?}");
    }
}

#[test]
fn rules_have_the_numbers_that_locks_name_and_later_ones_are_unknown() {
    for rules in [Rules::First, Rules::Second] {
        assert_eq!(Rules::of(rules.number()), Some(rules));
    }
    assert_eq!(Rules::of(Rules::NOW.number() + 1), None);
}

/// Close contestants and a wide margin: the one that is ahead changes now and then.
#[test]
fn who_is_within_the_margin_of_the_one_ahead_waits_and_catches_up_once_another_is_ahead() {
    let population = Population {
        means: vec![0.6, 0.6, 0.6, 0.5],
        form: Form::Binary,
        of_cluster: 0.0,
        of_item: 0.2,
        of_contestant: 0.1,
        missing: 0.0,
    };
    let contest = Contest { margin: 0.08, ..contest(4, vec![1; 600], Question::Best) };
    let (mut waited, mut caught_up) = (0, 0);
    for seed in 0..40 {
        let grid = population.grid(&contest, seed);
        let played = play(&contest, &grid);
        let (path, sessions) = step_by_step(&contest, &grid);
        assert_eq!((&played.path, &played.sessions), (&path, &sessions), "{seed}");
        assert!(sessions.iter().all(|bought| *bought <= 600), "never more than the grid: {sessions:?}");
        let has_waited = |one: &usize| path.dropped_in[*one].is_some_and(|round| round < path.looked.len());
        waited += u32::from(path.candidates.iter().any(has_waited));
        caught_up += u32::from(path.looked.windows(2).any(|two| two[0] == two[1]));
    }
    assert!(waited > 0 && caught_up > 0, "{waited} {caught_up}");
}

#[test]
fn of_two_equal_contestants_one_is_the_best_and_the_other_may_be() {
    let contest = Contest { margin: 0.1, ..contest(3, vec![1; 400], Question::Best) };
    let path = play(&contest, &right(&[8, 8, 1], 400)).path;
    assert_eq!(path.state, State::Decided);
    assert!(matches!(path.winner, Some(0 | 1)), "{:?}", path.winner);
    assert!([0, 1].iter().all(|one| path.candidates.contains(one)), "{:?}", path.candidates);
}

#[test]
fn the_best_is_decided_by_narrower_bounds_than_those_that_are_shown() {
    let all = right(&[8, 7], 100);
    for (question, is_narrower) in [(Question::Best, true), (Question::Ranking, false), (Question::Against(1), false)] {
        let path = contest(2, vec![1; 100], question).replay(&all);
        let track = &path.tracks[0];
        assert_eq!(track.decisive.low > track.interval.low, is_narrower, "{question:?}: {track:?}");
    }
}

#[test]
fn equal_contestants_are_equivalent_within_a_wide_margin() {
    let contest = Contest { margin: 0.2, ..contest(2, vec![1; 400], Question::Ranking) };
    let played = play(&contest, &right(&[5, 5], 400));
    assert_eq!(played.path.state, State::Decided);
    assert_eq!(played.path.tracks[0].relation, Relation::Equivalent);
}

#[test]
fn a_close_pair_ends_open_when_everything_is_bought() {
    let population = Population {
        means: vec![0.6, 0.6],
        form: Form::Binary,
        of_cluster: 0.0,
        of_item: 0.2,
        of_contestant: 0.0,
        missing: 0.0,
    };
    let contest = contest(2, vec![1; 100], Question::Ranking);
    let played = play(&contest, &population.grid(&contest, 7));
    assert_eq!(played.path.state, State::Exhausted);
    assert_eq!(played.sessions, [100, 100], "never more than the grid");
}
