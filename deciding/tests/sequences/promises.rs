//! Guarantees of sequences and decisions, over simulated sweeps with a look at every round. The long form is a bench.

use regatta_deciding::simulation::{Form, Population, play};
use regatta_deciding::{Contest, Estimand, Over, Question, Relation, State};

use crate::contest;

const SWEEPS: u64 = 100;
/// Most wrong sweeps of a hundred: if each goes wrong with probability 0.05, 12 or more do with a probability of 0.004.
const WRONG_MAX: usize = 12;

fn population(means: &[f64], form: Form) -> Population {
    Population { means: means.to_vec(), form, of_cluster: 0.2, of_item: 0.3, of_contestant: 0.1, missing: 0.0 }
}

/// Number of sweeps in which any sequence misses its true value in any round.
fn misses(contest: &Contest, population: &Population) -> usize {
    let is_missed = |seed: &u64| {
        let grid = population.grid(contest, *seed);
        let path = play(contest, &grid).path;
        path.tracks.iter().any(|track| {
            let true_value = match track.estimand {
                Estimand::Mean(one) => population.means[one],
                Estimand::Difference(one, other) => population.means[one] - population.means[other],
            };
            // The running intersection contains the value at the end if it did at every look.
            !track.interval.contains(true_value)
        })
    };
    (0..SWEEPS).filter(is_missed).count()
}

#[test]
fn all_sequences_of_a_sweep_hold_together_at_every_look() {
    let means = [0.7, 0.7, 0.68, 0.6, 0.4];
    for form in [Form::Binary, Form::Bounded] {
        for sizes in [vec![1; 200], [vec![8; 15], vec![2; 20]].concat()] {
            for question in [Question::Ranking, Question::Interval] {
                let contest = contest(means.len(), sizes.clone(), question);
                let missed = misses(&contest, &population(&means, form));
                assert!(missed < WRONG_MAX, "{form:?} {question:?}: {missed} of {SWEEPS}");
            }
        }
    }
}

#[test]
fn wrong_answers_are_rarer_than_asked_for_with_ties_and_near_ties() {
    for (means, margin) in
        [([0.6, 0.6, 0.6, 0.6, 0.6], 0.0), ([0.7, 0.69, 0.6, 0.6, 0.3], 0.02), ([0.66, 0.6, 0.6, 0.6, 0.6], 0.05)]
    {
        for question in [Question::Ranking, Question::Best, Question::Against(1)] {
            let contest = Contest { margin, ..contest(5, vec![1; 300], question) };
            let population = population(&means, Form::Binary);
            let is_wrong = |seed: &u64| {
                let path = play(&contest, &population.grid(&contest, *seed)).path;
                let best = means.iter().copied().fold(0.0, f64::max);
                path.winner.is_some_and(|winner| means[winner] < best - margin)
                    || (question == Question::Best && !path.candidates.iter().any(|one| means[*one] == best))
                    || (question != Question::Best
                        && path.tracks.iter().any(|track| match (track.estimand, track.relation) {
                            (Estimand::Difference(one, other), Relation::Greater) => means[one] <= means[other],
                            (Estimand::Difference(one, other), Relation::Less) => means[one] >= means[other],
                            (Estimand::Difference(one, other), Relation::Equivalent) => {
                                (means[one] - means[other]).abs() > margin
                            }
                            _ => false,
                        }))
            };
            let wrong = (0..SWEEPS).filter(is_wrong).count();
            assert!(wrong < WRONG_MAX, "{means:?} {question:?}: {wrong} of {SWEEPS}");
        }
    }
}

#[test]
fn the_best_of_models_that_differ_costs_a_part_of_the_grid_that_shrinks_with_the_difference() {
    // About 0.39 and 0.12 in 150 other sweeps each.
    for (means, most) in [([0.8, 0.75, 0.7, 0.65, 0.6], 0.45), ([0.9, 0.8, 0.7, 0.6, 0.5], 0.17)] {
        let contest = contest(5, vec![1; 1000], Question::Best);
        let population =
            Population { of_cluster: 0.0, of_item: 0.4, of_contestant: 0.1, ..population(&means, Form::Binary) };
        let bought = |seed: u64| play(&contest, &population.grid(&contest, seed)).sessions.iter().sum::<u64>();
        let mut sessions: Vec<u64> = (0..SWEEPS).map(bought).collect();
        sessions.sort_unstable();
        let part = sessions[sessions.len() / 2] as f64 / 5000.0;
        assert!(part < most, "{means:?}: {part} of the grid");
    }
}

#[test]
fn further_trials_keep_the_promise() {
    let contest = Contest { most_trials: 4, ..contest(2, vec![2; 60], Question::Ranking) };
    let population = population(&[0.6, 0.6], Form::Binary);
    let missed = misses(&contest, &population);
    assert!(missed < WRONG_MAX, "{missed} of {SWEEPS}");
}

#[test]
fn over_the_grid_the_answer_is_what_the_grid_shows() {
    let contest = Contest { over: Over::Grid, ..contest(5, vec![1; 200], Question::Best) };
    let population = population(&[0.7, 0.65, 0.6, 0.5, 0.4], Form::Binary);
    let mut wrong = 0;
    for seed in 0..SWEEPS {
        let grid = population.grid(&contest, seed);
        let shown: Vec<f64> = grid.iter().map(|of| of[0].iter().map(|unit| unit.low).sum::<f64>() / 200.0).collect();
        let played = play(&contest, &grid);
        assert_eq!(played.path.state, State::Decided, "the whole grid decides everything");
        let best = shown.iter().copied().fold(0.0, f64::max);
        wrong += usize::from(played.path.winner.is_none_or(|winner| shown[winner] < best - 0.02));
    }
    assert!(wrong < WRONG_MAX, "{wrong} of {SWEEPS}");
}

#[test]
fn sessions_that_are_not_measured_never_tilt_an_answer() {
    let contest = contest(2, vec![1; 300], Question::Ranking);
    let population = Population { missing: 0.1, ..population(&[0.6, 0.6], Form::Binary) };
    let missed = misses(&contest, &population);
    assert!(missed < WRONG_MAX, "{missed} of {SWEEPS}");
}
