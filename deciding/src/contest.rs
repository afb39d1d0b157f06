//! One benchmark and setting of an adaptive sweep: its rounds are replayed from the scores bought so far.
//!
//! The scores are the only state between rounds, so every process that has them finds the same next round. Units come in one random order
//! for all contestants, and each contestant has a prefix of it: dropping a contestant ends its prefix and changes no other. A sequence is
//! over the units that both of its contestants have. When it is evaluated, and whether it goes on, may depend on anything, because its
//! bounds hold at all looks together.

use crate::capital::Bets;
use crate::interval::Interval;
use crate::population::Population;
use crate::question::{Over, Question};
use crate::rounds::{Round, rounds};
use crate::rules::Rules;
use crate::sequence::bounds_of;
use crate::track::{Estimand, Look, Relation, Track};
use crate::unit::{Unit, UnitScore};

/// A contest as planned.
#[derive(Debug, Clone, PartialEq)]
pub struct Contest {
    /// Items of each unit, in the order in which they are bought.
    pub sizes: Vec<u32>,
    /// Number of contestants.
    pub contestants: usize,
    /// Trials of each item in the first pass over the units.
    pub first_trials: u16,
    /// Trials of each item at most.
    pub most_trials: u16,
    /// The question to decide.
    pub question: Question,
    /// Largest difference that does not matter, 0 to 1.
    pub margin: f64,
    /// Largest probability that any answer is wrong.
    pub level: f64,
    /// Number of looks in a pass over the units.
    pub rounds: u32,
    /// The population that the answer is about.
    pub over: Over,
    /// Rules by which the rounds are played.
    pub rules: Rules,
}

/// Scores bought so far, by contestant, trial and unit, with units in their order.
pub type Scores = Vec<Vec<Vec<UnitScore>>>;

/// State of a contest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The question is answered.
    Decided,
    /// The question is open, and everything that may be bought has been.
    Exhausted,
    /// The question is open: this round is to be bought for each contestant of [`Path::live`].
    Next(Round),
}

/// Results of the rounds so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// State after the last round.
    pub state: State,
    /// Rounds that were evaluated.
    pub looked: Vec<Round>,
    /// Contestants for which the next round buys; at the end, those that the question has not excluded.
    pub live: Vec<usize>,
    /// Number of the round after which each contestant was dropped for good, from 1; `None` for those that stayed to the end.
    pub dropped_in: Vec<Option<usize>>,
    /// Units that each contestant had to have for these looks, by trial.
    pub needed: Vec<Vec<usize>>,
    /// Contestants that may still be the best; empty for other questions.
    pub candidates: Vec<usize>,
    /// The best contestant, or one within the margin of it; `None` while that is open.
    pub winner: Option<usize>,
    /// All sequences, open and settled.
    pub tracks: Vec<Track>,
}

impl Path {
    /// Estimate of how much the open sequences narrow in total when `round` is bought, assuming a width proportional to the inverse root of
    /// the units.
    #[must_use]
    pub fn narrowing(&self, round: Round) -> f64 {
        let narrows = |track: &Track| {
            let (before, after) = (track.units as f64, round.units.max(1) as f64);
            // A further pass over the same units counts as if it were over other ones.
            let after = if after > before { after } else { 2.0 * before };
            track.interval.width() * (1.0 - (before / after).sqrt())
        };
        let open = |track: &&Track| track.relation == Relation::Open && track.is_about(&self.live);
        self.tracks.iter().filter(open).map(narrows).sum()
    }
}

impl Contest {
    /// All looks, in order.
    #[must_use]
    pub fn rounds(&self) -> Vec<Round> {
        let level = self.decisive_level(self.first_trials);
        rounds(self.sizes.len(), self.first_trials, self.most_trials, self.rounds, level)
    }

    /// Replays the rounds over `scores`.
    #[must_use]
    pub fn replay(&self, scores: &Scores) -> Path {
        let everyone: Vec<usize> = (0..self.contestants).collect();
        let mut path = Path {
            state: State::Exhausted,
            looked: Vec::new(),
            live: everyone.clone(),
            dropped_in: vec![None; self.contestants],
            needed: vec![vec![0; usize::from(self.most_trials)]; self.contestants],
            candidates: everyone,
            winner: None,
            tracks: self.estimands().into_iter().map(Track::new).collect(),
        };
        for round in self.rounds() {
            loop {
                if !path.live.iter().all(|one| has_bought(&scores[*one], round)) {
                    path.state = State::Next(round);
                    return path;
                }
                let looked_at = path.live.clone();
                self.look(&mut path, round, scores);
                if self.is_decided(&mut path) {
                    path.state = State::Decided;
                    return path;
                }
                // Contestants that are in question again catch up before anything is bought beyond.
                if path.live.iter().all(|one| looked_at.contains(one)) {
                    break;
                }
            }
        }
        path
    }

    fn estimands(&self) -> Vec<Estimand> {
        let all = 0..self.contestants;
        match self.question {
            Question::Interval => all.map(Estimand::Mean).collect(),
            Question::Against(baseline) => {
                all.filter(|one| *one != baseline).map(|one| Estimand::Difference(one, baseline)).collect()
            }
            Question::Ranking | Question::Best => {
                let count = self.contestants;
                all.flat_map(|one| (one + 1..count).map(move |other| Estimand::Difference(one, other))).collect()
            }
        }
    }

    /// Error of one of the two bounds of a sequence over `trials` trials.
    ///
    /// For the best, only the sequences of the one that is truly the best must hold: if all of them do it is never excluded, and whoever is
    /// declared the best in its place is within the margin of it. These are one less than the contestants.
    fn bound_level(&self, trials: u16) -> f64 {
        let others = self.contestants.saturating_sub(1).max(1);
        let sequences = match self.question {
            Question::Ranking => others * self.contestants / 2,
            Question::Best | Question::Against(_) => others,
            Question::Interval => self.contestants,
        };
        let further = self.most_trials.saturating_sub(self.first_trials);
        let part = match further {
            0 => 1.0,
            _ if trials == self.first_trials => 0.5,
            further => 0.5 / f64::from(further),
        };
        part * self.level / (2.0 * sequences.max(1) as f64)
    }

    /// Error of one of the two bounds that the question is decided by. For the best, only bounds of how far others are ahead of it can give a
    /// wrong answer, so the error of both ends is that of one; the first rules left it at both.
    fn decisive_level(&self, trials: u16) -> f64 {
        let level = self.bound_level(trials);
        match (self.question, self.rules) {
            (Question::Best, Rules::Second) => 2.0 * level,
            (Question::Best, Rules::First) | (Question::Ranking | Question::Against(_) | Question::Interval, _) => {
                level
            }
        }
    }

    fn look(&self, path: &mut Path, round: Round, scores: &Scores) {
        path.looked.push(round);
        for one in &path.live {
            for needed in &mut path.needed[*one][..usize::from(round.trials)] {
                *needed = round.units.max(*needed);
            }
        }
        let number = path.looked.len();
        let (level, decisive_level) = (self.bound_level(round.trials), self.decisive_level(round.trials));
        let largest = f64::from(self.sizes.iter().copied().max().unwrap_or(1).max(1));
        let weight = |unit: usize| f64::from(self.sizes[unit]) / largest;
        let population = match self.over {
            Over::NewItems => None,
            Over::Grid => Some(Population { units: self.sizes.len(), weight: (0..self.sizes.len()).map(weight).sum() }),
        };
        let mean = |contestant: usize, unit: usize| -> UnitScore {
            let mut sum = UnitScore::default();
            for trial in &scores[contestant][..usize::from(round.trials)] {
                sum.low += trial[unit].low;
                sum.high += trial[unit].high;
            }
            let scale = largest * f64::from(round.trials);
            UnitScore { low: sum.low / scale, high: sum.high / scale }
        };
        // A contestant is in as many sequences as it has others to differ from.
        let means_of = |contestant: usize| -> Vec<UnitScore> {
            let units = if path.live.contains(&contestant) { round.units } else { 0 };
            (0..units).map(|unit| mean(contestant, unit)).collect()
        };
        let means: Vec<Vec<UnitScore>> = (0..self.contestants).map(means_of).collect();
        for track in path.tracks.iter_mut().filter(|track| track.is_about(&path.live)) {
            let unit = |unit: usize| -> Unit {
                let weight = weight(unit);
                match track.estimand {
                    Estimand::Mean(one) => {
                        let one = means[one][unit];
                        Unit { low: one.low, high: one.high.min(weight), weight }
                    }
                    // The sequence of a difference d in -1..=1 is that of (d + 1) / 2.
                    Estimand::Difference(one, other) => {
                        let (one, other) = (means[one][unit], means[other][unit]);
                        let half = |difference: f64| (f64::midpoint(difference, weight)).clamp(0.0, weight);
                        Unit { low: half(one.low - other.high), high: half(one.high - other.low), weight }
                    }
                }
            };
            let units: Vec<Unit> = (0..round.units).map(unit).collect();
            let weights: f64 = units.iter().map(|unit| unit.weight).sum();
            let value = units.iter().map(|unit| unit.middle()).sum::<f64>() / weights;
            let scaled = |value: f64| match track.estimand {
                Estimand::Mean(_) => value,
                Estimand::Difference(..) => 2.0 * value - 1.0,
            };
            let on_scale = |Interval { low, high }| Interval { low: scaled(low), high: scaled(high) };
            let bets = Bets::of(self.rules);
            let [bounds, decisive] = match self.question {
                Question::Best => bounds_of(bets, &units, population, [level, decisive_level]),
                Question::Ranking | Question::Against(_) | Question::Interval => {
                    let [both] = bounds_of(bets, &units, population, [level]);
                    [both, both]
                }
            }
            .map(on_scale);
            let look = Look { round: number, value: scaled(value), bounds, decisive, units: round.units };
            track.look(&look, self.margin);
        }
    }

    /// Drops contestants about which no question is open now, and takes back those about which one is again. Returns `true` if everything is
    /// decided.
    fn is_decided(&self, path: &mut Path) -> bool {
        let is_open = |one: usize| {
            let open = |track: &Track| track.relation == Relation::Open && track.is_about_one(one);
            path.tracks.iter().any(open)
        };
        let (live, decided) = match self.question {
            Question::Ranking | Question::Interval | Question::Against(_) => {
                let open: Vec<usize> = path.live.iter().copied().filter(|one| is_open(*one)).collect();
                let decided = open.is_empty();
                (open, decided)
            }
            Question::Best => {
                let undominated: Vec<usize> =
                    path.candidates.iter().copied().filter(|one| !is_dominated(&path.tracks, *one)).collect();
                if !undominated.is_empty() {
                    path.candidates = undominated;
                }
                let live = match self.rules {
                    Rules::First => {
                        path.winner = self.winner(path);
                        path.candidates.clone()
                    }
                    Rules::Second => {
                        let live = self.in_question(path);
                        path.winner = if let [only] = live.as_slice() { Some(*only) } else { None };
                        live
                    }
                };
                (live, path.winner.is_some())
            }
        };
        let number = path.looked.len();
        for (one, dropped_in) in path.dropped_in.iter_mut().enumerate() {
            *dropped_in = if live.contains(&one) { None } else { dropped_in.or(Some(number)) };
        }
        path.live = live;
        decided
    }

    /// By the first rules: the candidate that no other contestant is known to beat by more than the margin.
    fn winner(&self, path: &Path) -> Option<usize> {
        let beats = |one: usize, other: usize| lead(&path.tracks, one, other).is_some_and(|low| low >= -self.margin);
        let wins = |one: &usize| path.candidates.iter().all(|other| other == one || beats(*one, *other));
        match path.candidates.as_slice() {
            [only] => Some(*only),
            // An exact tie is no answer to a question that has no margin.
            _ if self.margin == 0.0 => None,
            several => several.iter().copied().find(wins),
        }
    }

    /// By the second rules: the candidate that is furthest ahead, and those that may be better than it by more than the margin; if there are
    /// none, it is the best or within the margin of it. The others wait: they are candidates still, and in question again once another one is ahead.
    fn in_question(&self, path: &Path) -> Vec<usize> {
        let candidates = &path.candidates;
        // An exact tie is no answer to a question that has no margin.
        if self.margin == 0.0 {
            return candidates.clone();
        }
        // No difference is below −1.
        let ahead = |one: usize, other: usize| lead(&path.tracks, one, other).unwrap_or(-1.0);
        let least_lead = |one: usize| {
            let others = candidates.iter().filter(|other| **other != one);
            others.map(|other| ahead(one, *other)).fold(f64::INFINITY, f64::min)
        };
        // The first one of several that are equally far ahead.
        let further =
            |one: &usize, other: &usize| least_lead(*one).total_cmp(&least_lead(*other)).then_with(|| other.cmp(one));
        let Some(first) = candidates.iter().copied().max_by(further) else { return Vec::new() };
        candidates.iter().copied().filter(|one| *one == first || ahead(first, *one) < -self.margin).collect()
    }
}

fn has_bought(scores: &[Vec<UnitScore>], round: Round) -> bool {
    let trials = usize::from(round.trials);
    scores.len() >= trials && scores[..trials].iter().all(|trial| trial.len() >= round.units)
}

/// Decisive lower bound of the mean of `one` minus that of `other`.
fn lead(tracks: &[Track], one: usize, other: usize) -> Option<f64> {
    tracks.iter().find_map(|track| match track.estimand {
        Estimand::Difference(first, second) if (first, second) == (one, other) => Some(track.decisive.low),
        Estimand::Difference(first, second) if (first, second) == (other, one) => Some(-track.decisive.high),
        Estimand::Difference(..) | Estimand::Mean(_) => None,
    })
}

/// `true` if a sequence shows that another contestant is better.
fn is_dominated(tracks: &[Track], one: usize) -> bool {
    tracks.iter().any(|track| match track.estimand {
        Estimand::Difference(first, _) if first == one => track.decisive.high < 0.0,
        Estimand::Difference(_, second) if second == one => track.decisive.low > 0.0,
        Estimand::Difference(..) | Estimand::Mean(_) => false,
    })
}
