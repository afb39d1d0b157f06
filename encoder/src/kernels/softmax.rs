//! Attention scores to attention weights, with a bias by relative position where the architecture has one.

use super::{LANES, exp::exp_negative, sum_of, vectorised};

/// What is added to a score because of how far the key is from the query, one curve a head.
#[derive(Debug)]
pub(crate) struct PositionBias {
    /// Longest sequence, in tokens.
    tokens_max: usize,
    /// For each head, the bias at the distances `1 - tokens_max ..= tokens_max - 1` (key minus query).
    curves: Vec<f32>,
}

impl PositionBias {
    /// Tabulates `bias(head, distance)` for sequences of up to `tokens_max` tokens.
    pub(crate) fn tabulate(heads: usize, tokens_max: usize, bias: impl Fn(usize, isize) -> f32) -> Self {
        let reach = tokens_max.saturating_sub(1).cast_signed();
        let curves = (0..heads)
            .flat_map(|head| (-reach..=reach).map(move |distance| (head, distance)))
            .map(|(head, distance)| bias(head, distance))
            .collect();
        Self { tokens_max, curves }
    }

    /// The bias of `head` for the query at `query`, one value for each of `tokens` keys.
    fn row(&self, head: usize, query: usize, tokens: usize) -> &[f32] {
        let start = head * (2 * self.tokens_max - 1) + self.tokens_max - 1 - query;
        &self.curves[start..start + tokens]
    }
}

/// Turns the raw scores of one head, one row of keys for each query, into weights that sum to one in each row. `scale`
/// is the factor on raw scores: one over the root of a head's width.
pub(crate) fn attention_weights(
    scores: &mut [f32],
    tokens: usize,
    scale: f32,
    head: usize,
    position_bias: Option<&PositionBias>,
) {
    vectorised(|| {
        for (query, row) in scores.chunks_exact_mut(tokens).enumerate() {
            for score in row.iter_mut() {
                *score *= scale;
            }
            if let Some(bias) = position_bias {
                for (score, bias) in row.iter_mut().zip(bias.row(head, query, tokens)) {
                    *score += bias;
                }
            }
            normalise(row);
        }
    });
}

/// Exponentials of a row, divided by their sum. The largest score is taken away first, so nothing overflows.
#[inline(always)]
fn normalise(row: &mut [f32]) {
    let largest = largest(row);
    for score in row.iter_mut() {
        *score = exp_negative(*score - largest);
    }
    let total = sum_of(row, |weight| weight);
    for weight in row.iter_mut() {
        *weight /= total;
    }
}

#[inline(always)]
fn largest(row: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = if *value > *lane { *value } else { *lane };
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max)
}
