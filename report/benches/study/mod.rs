//! Coverage of the intervals: synthetic scores of items in clusters, drawn again and again, whose true mean is known.

mod alternatives;
mod attainable;
mod draws;
mod known;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use regatta_benchmarks::{Metric, Unit};
use regatta_proto::Level;
use regatta_report::Estimate;
use regatta_report::statistics::{Sample, estimate};

use self::draws::{beta, sizes};

/// Distribution of single scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scores {
    /// Right or wrong.
    Binary,
    /// As F1s are: most are 0 or 1, the others anywhere between.
    Shares,
    /// As grades are: close about their mean, none near an end.
    Close,
}

/// Distribution of items over clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// As equal as can be.
    Equal,
    /// In proportion to a lognormal variate of σ = 1, and at least one.
    Lognormal,
}

impl std::fmt::Display for Scores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Binary => "right or wrong",
            Self::Shares => "shares",
            Self::Close => "close",
        })
    }
}

impl std::fmt::Display for Sizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Equal => "equal",
            Self::Lognormal => "lognormal",
        })
    }
}

/// A population and a sample of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Design {
    pub(crate) scores: Scores,
    pub(crate) clusters: u32,
    pub(crate) items: u32,
    pub(crate) sizes: Sizes,
    /// Correlation of the qualities of two items of a cluster, 0..1: clusters draw theirs from a beta distribution.
    pub(crate) alikeness: f64,
    /// Probability that a session has no score, whatever it would have been.
    pub(crate) missing: f64,
}

/// Method of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// As it is printed of what lies within bounds.
    Printed,
    /// Student's, as it is printed of amounts.
    Student,
    /// The bootstrap-t of whole clusters.
    BootstrapT,
    /// The same of log-odds.
    BootstrapTOfLogOdds,
    /// Student's, corrected for the skewness of the clusters.
    Hall,
    /// Wilson's with the population's own variance, which nobody knows who has but a sample.
    Known,
    /// As it is printed where the sessions without a score are none of the sample.
    NotWidened,
}

impl Method {
    /// Printed interval and alternatives, as the table of alternatives has them.
    pub(crate) const ALL: [Self; 5] =
        [Self::Printed, Self::Student, Self::Hall, Self::BootstrapT, Self::BootstrapTOfLogOdds];
}

pub(crate) use self::attainable::attainable;

/// Parts of the replications, 0..=1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Coverage {
    /// The interval holds the true mean.
    pub(crate) covered: f64,
    /// Mean width.
    pub(crate) width: f64,
}

/// Scores of the items of one sample, and the cluster of each.
pub(crate) struct Drawn {
    pub(crate) samples: Vec<Sample>,
    pub(crate) clusters: Vec<u32>,
}

impl Drawn {
    /// The sessions that have a score.
    fn measured(&self) -> Self {
        let sessions = self.samples.iter().zip(&self.clusters);
        let (samples, clusters) = sessions.filter(|(sample, _)| matches!(sample, Sample::Scored { .. })).unzip();
        Self { samples, clusters }
    }

    fn mean(&self) -> f64 {
        let scores = self.samples.iter().filter_map(|sample| match sample {
            Sample::Scored { top, .. } => Some(*top),
            _ => None,
        });
        let (sum, count) = scores.fold((0.0, 0.0), |(sum, count), score| (sum + score, count + 1.0));
        sum / count
    }
}

impl Design {
    /// A sample of a population whose mean is `mean`.
    pub(crate) fn draw(&self, mean: f64, rng: &mut ChaCha8Rng) -> Drawn {
        let mut drawn = Drawn { samples: Vec::new(), clusters: Vec::new() };
        for (cluster, size) in (0..).zip(sizes(self.sizes, self.clusters, self.items, rng)) {
            let quality = match self.alikeness {
                0.0 => mean,
                alikeness => {
                    let total = (1.0 - alikeness) / alikeness;
                    beta(mean * total, (1.0 - mean) * total, rng)
                }
            };
            for _ in 0..size {
                let top = self.score(quality, rng);
                let is_missing = rng.random_bool(self.missing);
                drawn.samples.push(match is_missing {
                    true => Sample::Missing { weight: 1.0 },
                    false => Sample::Scored { top, bottom: 1.0 },
                });
                drawn.clusters.push(cluster);
            }
        }
        drawn
    }

    fn score(&self, quality: f64, rng: &mut ChaCha8Rng) -> f64 {
        let is_right = rng.random_bool(quality);
        let whole = f64::from(u8::from(is_right));
        match self.scores {
            Scores::Binary => whole,
            Scores::Shares if rng.random_bool(0.6) => whole,
            Scores::Shares => beta(3.0 * quality, 3.0 * (1.0 - quality), rng),
            Scores::Close => beta(30.0 * quality, 30.0 * (1.0 - quality), rng),
        }
    }
}

/// Interval of a sample by `method`; an interval that there is not (all items are alike, and that of Student has no width) holds nothing
/// but its value.
fn interval(method: Method, design: &Design, drawn: &Drawn, rng: &mut ChaCha8Rng) -> (f64, f64) {
    let sums = alternatives::Sums::of(drawn);
    match method {
        Method::Printed | Method::Student => Some(printed(method, drawn)),
        Method::BootstrapT => sums.bootstrap_t(alternatives::Transform::Identity, rng),
        Method::BootstrapTOfLogOdds => sums.bootstrap_t(alternatives::Transform::LogOdds, rng),
        Method::Hall => sums.hall(),
        Method::Known => Some(known::wilson(design, drawn)),
        Method::NotWidened => Some(printed(Method::Printed, &drawn.measured())),
    }
    .unwrap_or_else(|| printed(Method::Printed, drawn))
}

fn printed(method: Method, drawn: &Drawn) -> (f64, f64) {
    let estimate = estimated(method, drawn);
    let value = estimate.value.unwrap_or(f64::NAN);
    (estimate.low.unwrap_or(value), estimate.high.unwrap_or(value))
}

/// Estimate of a sample as it is printed, of a share or of an amount.
pub(crate) fn estimated(method: Method, drawn: &Drawn) -> Estimate {
    let positions: Vec<usize> = (0..drawn.samples.len()).collect();
    let unit = match method {
        Method::Student => Unit::Turns,
        _ => Unit::Plain,
    };
    let metric = Metric { unit, ..Metric::mean("score") };
    estimate(&metric, &[vec![drawn.samples.clone()]], &positions, &drawn.clusters, Level::USUAL)
}

/// The values of so many samples of `design`: of the same ones as those whose coverage has this `seed`.
pub(crate) fn values(design: &Design, mean: f64, replications: u32, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..replications).map(|_| design.draw(mean, &mut rng).mean()).collect()
}

/// The coverage of `methods` over the same `replications` of `design`, whose true mean is `mean`.
pub(crate) fn coverage<const N: usize>(
    design: &Design,
    mean: f64,
    methods: [Method; N],
    replications: u32,
    seed: u64,
) -> [Coverage; N] {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    // Its own, so that the samples are the same whatever methods there are.
    let mut resampled = ChaCha8Rng::seed_from_u64(seed ^ 0x5eed);
    let mut found = [Coverage::default(); N];
    let each = 1.0 / f64::from(replications);
    for _ in 0..replications {
        let drawn = design.draw(mean, &mut rng);
        for (method, coverage) in methods.into_iter().zip(&mut found) {
            let (low, high) = interval(method, design, &drawn, &mut resampled);
            coverage.covered += if low <= mean && mean <= high { each } else { 0.0 };
            coverage.width += (high - low) * each;
        }
    }
    found
}
