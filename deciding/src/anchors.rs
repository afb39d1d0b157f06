//! Items that stand for all: anchors, with weights, chosen by the response patterns of models.
//!
//! The idea is that of anchor points (Polo, Weber, Choshen, Sun, Xu and Yurochkin, "tinyBenchmarks: evaluating LLMs with fewer examples", 2024,
//! arXiv:2402.14992): items that models answer alike are clustered, and each cluster is represented by its weight. One anchor for each cluster
//! lets a single session decide about a large one, which a score of right or wrong turns into luck. So there are half as many clusters as
//! anchors, which are shared out in proportion to the clusters' sizes, and of several choices within the clusters the one is kept that
//! estimates the models of the history best. Where there are no more patterns than anchors, each has one.

use std::collections::BTreeMap;

use crate::medoids::{Point, medoids};
use crate::responses::whole;
use crate::simulation::Draws;

/// Choices of which the best is kept.
const CHOICES: usize = 100;

/// Items that models answer alike.
struct Cluster {
    /// Items that are in it, those without a score of some model included.
    size: usize,
    /// Items of it that may be chosen.
    complete: Vec<usize>,
}

/// Scores by model that items have in common, with these items.
type Patterns = BTreeMap<Vec<u64>, Vec<usize>>;

/// Chooses `count` of the items `complete`, ascending and with weights that sum to the number of all items that some model has a score of.
/// `rows` has the scores of each model by item. There must be at least `count` complete items, and one anchor.
pub(crate) fn anchors(rows: &[&[Option<f64>]], complete: &[usize], count: usize, seed: u64) -> Vec<(usize, f64)> {
    let mut draws = Draws::new(seed);
    let clusters = clusters(rows, complete, count, &mut draws);
    let shares = shares(&clusters, count);
    let mut best: Option<(f64, Vec<(usize, f64)>)> = None;
    for _ in 0..CHOICES {
        let choice = choice(&clusters, &shares, &mut draws);
        let misfit: f64 = rows.iter().map(|row| (estimate_of(row, &choice) - whole(row)).powi(2)).sum();
        if best.as_ref().is_none_or(|(least, _)| misfit < *least) {
            best = Some((misfit, choice));
        }
    }
    let mut found = best.map_or_else(Vec::new, |(_, choice)| choice);
    found.sort_by_key(|(item, _)| *item);
    found
}

/// Estimate of the mean over all items from a model's scores in the anchors.
pub(crate) fn estimate_of(row: &[Option<f64>], anchors: &[(usize, f64)]) -> f64 {
    weighted_mean(anchors.iter().filter_map(|(item, weight)| Some((*weight, row[*item]?))))
}

/// Mean of scores, each after its weight; 0 without any.
#[must_use]
pub fn weighted_mean(scores: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let add = |(sum, weights): (f64, f64), (weight, score): (f64, f64)| (sum + weight * score, weights + weight);
    let (sum, weights) = scores.into_iter().fold((0.0, 0.0), add);
    if weights > 0.0 { sum / weights } else { 0.0 }
}

fn clusters(rows: &[&[Option<f64>]], complete: &[usize], count: usize, draws: &mut Draws) -> Vec<Cluster> {
    let mut patterns = Patterns::new();
    for item in complete {
        let pattern: Option<Vec<u64>> = rows.iter().map(|row| row[*item].map(f64::to_bits)).collect();
        if let Some(pattern) = pattern {
            patterns.entry(pattern).or_default().push(*item);
        }
    }
    let point = |(pattern, items): (&Vec<u64>, &Vec<usize>)| Point {
        at: pattern.iter().map(|bits| f64::from_bits(*bits)).collect(),
        weight: items.len() as f64,
    };
    let points: Vec<Point> = patterns.iter().map(point).collect();
    let wanted = if points.len() <= count { points.len() } else { count.div_ceil(2) };
    let centres = medoids(&points, wanted, draws);
    let mut clusters: Vec<Cluster> = centres.iter().map(|_| Cluster { size: 0, complete: Vec::new() }).collect();
    let items = rows.first().map_or(0, |row| row.len());
    for item in 0..items {
        // Of an item without any score nobody knows the cluster. It is one that only the model which is held out has a score of.
        let distance = |centre: &usize| distance(rows, item, &points[*centre].at);
        let distances = centres.iter().zip(&mut clusters).filter_map(|(centre, of)| Some((distance(centre)?, of)));
        let nearest = distances.min_by(|(one, _), (other, _)| one.total_cmp(other));
        let Some((_, cluster)) = nearest else { continue };
        cluster.size += 1;
        if complete.binary_search(&item).is_ok() {
            cluster.complete.push(item);
        }
    }
    clusters
}

/// Mean squared difference of an item's scores from a pattern, over the models that have a score of it; `None` without any.
fn distance(rows: &[&[Option<f64>]], item: usize, pattern: &[f64]) -> Option<f64> {
    let known = rows.iter().zip(pattern).filter_map(|(row, of_pattern)| Some((row[item]? - of_pattern).powi(2)));
    let (sum, count) = known.fold((0.0, 0_u32), |(sum, count), square| (sum + square, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Number of anchors of each cluster: one, and the others in turn to where an anchor stands for most items.
fn shares(clusters: &[Cluster], count: usize) -> Vec<usize> {
    let mut shares = vec![1_usize; clusters.len()];
    for _ in clusters.len()..count {
        let with_room = clusters.iter().zip(&mut shares).filter(|(cluster, share)| **share < cluster.complete.len());
        // The first of equal ones, as `min_by` has it.
        let fullest =
            with_room.min_by(|(one, of_one), (other, of_other)| (other.size * **of_one).cmp(&(one.size * **of_other)));
        let Some((_, share)) = fullest else { break };
        *share += 1;
    }
    shares
}

/// Draws the anchors of each cluster from its complete items.
fn choice(clusters: &[Cluster], shares: &[usize], draws: &mut Draws) -> Vec<(usize, f64)> {
    let mut chosen = Vec::new();
    for (cluster, share) in clusters.iter().zip(shares) {
        let weight = cluster.size as f64 / *share as f64;
        chosen.extend(draws.some_of(&cluster.complete, *share).into_iter().map(|item| (item, weight)));
    }
    chosen
}
