//! Simulated sweeps: contestants of known means answer items, and the rounds are played to their end.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::contest::{Contest, Path, Scores};
use crate::unit::UnitScore;

/// Distribution of scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// 0 or 1.
    Binary,
    /// Half of them 0 or 1, the others between.
    Bounded,
}

/// Contestants and items of a simulated sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Population {
    /// True means of the contestants, 0 to 1.
    pub means: Vec<f64>,
    /// Distribution of the scores.
    pub form: Form,
    /// Part of a session's luck that all sessions of its cluster share, 0 to 1.
    pub of_cluster: f64,
    /// Part of a session's luck that all sessions of its item share, over all contestants and trials.
    pub of_item: f64,
    /// Part of a session's luck that the trials of its item by the same contestant share.
    pub of_contestant: f64,
    /// Part of the sessions that are not measured, 0 to 1.
    pub missing: f64,
}

/// A simulated sweep at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// Results of its rounds.
    pub path: Path,
    /// Items of the sessions bought, by contestant.
    pub sessions: Vec<u64>,
}

/// Random draws that depend on the seed alone, so that every run gives the same scores.
pub struct Draws {
    rng: ChaCha8Rng,
}

impl Draws {
    /// Draws of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// Uniform in 0..1.
    pub fn uniform(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// `count` different ones of `all`, or all where there are fewer, in the order in which they are drawn.
    pub(crate) fn some_of(&mut self, all: &[usize], count: usize) -> Vec<usize> {
        let mut left = all.to_vec();
        let mut drawn = Vec::with_capacity(count);
        while drawn.len() < count && !left.is_empty() {
            let at = (self.uniform() * left.len() as f64) as usize;
            // A product that is rounded up would be beyond the end.
            drawn.push(left.swap_remove(at.min(left.len() - 1)));
        }
        drawn
    }
}

impl Population {
    /// Scores of the whole grid of `contest`.
    #[must_use]
    pub fn grid(&self, contest: &Contest, seed: u64) -> Scores {
        let mut draws = Draws::new(seed);
        let trials = usize::from(contest.most_trials);
        let mut scores = vec![vec![Vec::with_capacity(contest.sizes.len()); trials]; self.means.len()];
        for size in &contest.sizes {
            let cluster = draws.uniform();
            let mut sums = vec![vec![UnitScore::default(); trials]; self.means.len()];
            for _ in 0..*size {
                let item = draws.uniform();
                for (contestant, mean) in self.means.iter().enumerate() {
                    let own = draws.uniform();
                    for sum in &mut sums[contestant] {
                        let luck = self.luck(&mut draws, cluster, item, own);
                        let score = score(self.form, *mean, luck, draws.uniform());
                        let is_missing = draws.uniform() < self.missing;
                        sum.low += if is_missing { 0.0 } else { score };
                        sum.high += if is_missing { 1.0 } else { score };
                    }
                }
            }
            for (of_contestant, sums) in scores.iter_mut().zip(sums) {
                of_contestant.iter_mut().zip(sums).for_each(|(trial, sum)| trial.push(sum));
            }
        }
        scores
    }

    /// A uniform number, shared with the sessions of its cluster, item or contestant with these probabilities.
    fn luck(&self, draws: &mut Draws, cluster: f64, item: f64, own: f64) -> f64 {
        let (which, fresh) = (draws.uniform(), draws.uniform());
        let (of_cluster, of_item) = (self.of_cluster, self.of_cluster + self.of_item);
        match which {
            which if which < of_cluster => cluster,
            which if which < of_item => item,
            which if which < of_item + self.of_contestant => own,
            _ => fresh,
        }
    }
}

/// A score with this mean. High `luck` means a low score.
fn score(form: Form, mean: f64, luck: f64, kind: f64) -> f64 {
    let is_right = f64::from(u8::from(luck < mean));
    match form {
        Form::Bounded if kind < 0.5 => mean + (0.5 - luck) * 2.0 * mean.min(1.0 - mean),
        Form::Binary | Form::Bounded => is_right,
    }
}

/// Plays `contest` over the scores of a whole `grid` to its end.
///
/// Scores that a round does not evaluate change nothing, so the rounds are replayed once over all scores instead of after each purchase.
#[must_use]
pub fn play(contest: &Contest, grid: &Scores) -> Played {
    let path = contest.replay(grid);
    let items = |units: &usize| contest.sizes[..*units].iter().map(|size| u64::from(*size)).sum::<u64>();
    let sessions = path.needed.iter().map(|trials| trials.iter().map(items).sum()).collect();
    Played { path, sessions }
}
