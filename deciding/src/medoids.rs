//! k-medoids: points of which each stands for those that are nearest to it.

use crate::simulation::Draws;

/// Beginnings of which the best is kept: from one alone the search may end far from the best medoids.
const BEGINNINGS: usize = 5;

/// Most improvements from a beginning. They end by themselves earlier, mostly.
const IMPROVEMENTS: usize = 50;

/// A point that stands for `weight` equal ones.
pub(crate) struct Point {
    pub(crate) at: Vec<f64>,
    pub(crate) weight: f64,
}

/// Positions of at most `count` of the points, ascending, that others are near to by squared Euclidean distance. Fewer where there are fewer
/// points.
pub(crate) fn medoids(points: &[Point], count: usize, draws: &mut Draws) -> Vec<usize> {
    if points.len() <= count {
        return (0..points.len()).collect();
    }
    let mut best: Option<(f64, Vec<usize>)> = None;
    for _ in 0..BEGINNINGS {
        let mut found = beginning(points, count, draws);
        for _ in 0..IMPROVEMENTS {
            let improved = improved(points, &found);
            if improved == found {
                break;
            }
            found = improved;
        }
        let cost: f64 = points.iter().map(|point| point.weight * nearest(points, &found, &point.at).1).sum();
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, found));
        }
    }
    best.map_or_else(Vec::new, |(_, found)| found)
}

/// Points drawn in proportion to their weight, and to the squared distance from those that were drawn before (k-means++).
fn beginning(points: &[Point], count: usize, draws: &mut Draws) -> Vec<usize> {
    let mut found = Vec::with_capacity(count);
    let mut chances: Vec<f64> = points.iter().map(|point| point.weight).collect();
    let mut distances = vec![f64::INFINITY; points.len()];
    while found.len() < count {
        let Some(next) = drawn(&chances, draws) else { break };
        found.push(next);
        for ((point, distance), chance) in points.iter().zip(&mut distances).zip(&mut chances) {
            *distance = distance.min(squared(&point.at, &points[next].at));
            *chance = point.weight * *distance;
        }
    }
    found.sort_unstable();
    found
}

/// A position drawn in proportion to `chances`; `None` where there is no chance.
fn drawn(chances: &[f64], draws: &mut Draws) -> Option<usize> {
    let mut left = draws.uniform() * chances.iter().sum::<f64>();
    let mut last = None;
    for (at, chance) in chances.iter().enumerate().filter(|(_, chance)| **chance > 0.0) {
        last = Some(at);
        if left < *chance {
            break;
        }
        left -= chance;
    }
    last
}

/// The medoid of each medoid's cluster. Under squared distances that is the point nearest to the cluster's mean.
fn improved(points: &[Point], medoids: &[usize]) -> Vec<usize> {
    let mut clusters: Vec<Vec<usize>> = vec![Vec::new(); medoids.len()];
    for (at, point) in points.iter().enumerate() {
        clusters[nearest(points, medoids, &point.at).0].push(at);
    }
    let mut found: Vec<usize> = clusters.iter().filter_map(|cluster| medoid(points, cluster)).collect();
    found.sort_unstable();
    found
}

fn medoid(points: &[Point], cluster: &[usize]) -> Option<usize> {
    let first = points.get(*cluster.first()?)?;
    let weight: f64 = cluster.iter().map(|at| points[*at].weight).sum();
    let mut mean = vec![0.0; first.at.len()];
    for at in cluster {
        let point = &points[*at];
        for (sum, value) in mean.iter_mut().zip(&point.at) {
            *sum += point.weight * value / weight;
        }
    }
    let distance = |at: &&usize| squared(&points[**at].at, &mean);
    cluster.iter().min_by(|one, other| distance(one).total_cmp(&distance(other))).copied()
}

/// Position among `medoids` of the nearest one, the first of equally near ones, and its squared distance.
fn nearest(points: &[Point], medoids: &[usize], at: &[f64]) -> (usize, f64) {
    let distances = medoids.iter().map(|medoid| squared(&points[*medoid].at, at)).enumerate();
    distances.min_by(|(_, one), (_, other)| one.total_cmp(other)).unwrap_or((0, f64::INFINITY))
}

fn squared(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other) * (one - other)).sum()
}
