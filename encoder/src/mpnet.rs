//! The parts of MPNet that are its own: no token types, positions that count from 2, and a bias on attention scores by the relative
//! position of key and query, one table for all layers.

use crate::config::ModelConfig;
use crate::embeddings::Embeddings;
use crate::transformer::LayerNames;
use crate::weights::table;
use candle_core::{Device, Result, Tensor};
use candle_nn::VarBuilder;

pub(crate) const PREFIX: &str = "mpnet";

pub(crate) const LAYER_NAMES: LayerNames = LayerNames {
    query: "attention.attn.q",
    key: "attention.attn.k",
    value: "attention.attn.v",
    attention_output: "attention.attn.o",
    attention_norm: "attention.LayerNorm",
};

/// Id of the padding token, and its position. Fixed in the architecture, whatever config.json says.
const PADDING: u32 = 1;
/// Rows of the position table before the first position of a text.
pub(crate) const POSITIONS_UNUSED: usize = PADDING as usize + 1;
/// Distances from here on, in tokens, share the last bucket of their direction.
const DISTANCE_MAX: f32 = 128.0;

/// The embedding layer.
pub(crate) fn embeddings(weights: &VarBuilder, config: &ModelConfig) -> Result<Embeddings> {
    Embeddings::load(&weights.pp("embeddings"), config, None)
}

/// 2, 3, 4, … for a plain text. A padding token, which a text can only contain by spelling it out, sits at 1 and does
/// not count.
pub(crate) fn position_ids(ids: &[u32]) -> Vec<u32> {
    let mut last = PADDING;
    let mut next = |id: &u32| {
        if *id == PADDING {
            return PADDING;
        }
        last += 1;
        last
    };
    ids.iter().map(&mut next).collect()
}

/// The bias on attention scores by the distance from query to key, one curve a head.
#[derive(Debug)]
pub(crate) struct PositionBias {
    /// Bias by head and bucket, of shape (heads, buckets).
    curves: Tensor,
}

impl PositionBias {
    pub(crate) fn load(weights: &VarBuilder, config: &ModelConfig) -> Result<Self> {
        let (heads, buckets) = (config.num_attention_heads, config.relative_attention_num_buckets);
        let table = table(&weights.pp("encoder.relative_attention_bias"), buckets, heads)?;
        Ok(Self { curves: table.t()?.contiguous()? })
    }

    /// The bias for a text of `tokens` tokens, of shape (heads, queries, keys).
    pub(crate) fn of_length(&self, tokens: usize) -> Result<Tensor> {
        let (heads, buckets) = self.curves.dims2()?;
        let reach = tokens.cast_signed();
        #[expect(clippy::cast_possible_truncation, reason = "there are tens of buckets")]
        let by_distance: Vec<u32> = (1 - reach..reach).map(|distance| bucket(distance, buckets) as u32).collect();
        // The first key is `query` tokens before the query, the last one `tokens - 1 - query` after it.
        let rows: Vec<u32> = by_distance.windows(tokens).rev().flatten().copied().collect();
        let rows = Tensor::from_vec(rows, tokens * tokens, &Device::Cpu)?;
        self.curves.index_select(&rows, 1)?.reshape((heads, tokens, tokens))
    }
}

/// The table row for a key `distance` tokens after the query. Half of the rows are for keys that follow, half for the
/// others; of each half, the first half has one row a distance, the rest grow like the logarithm.
fn bucket(distance: isize, buckets: usize) -> usize {
    let half = buckets / 2;
    let exact = half / 2;
    let side = if distance > 0 { half } else { 0 };
    let distance = distance.unsigned_abs();
    if distance < exact {
        return side + distance;
    }
    // In f32, as the models were trained.
    #[expect(clippy::cast_precision_loss, reason = "distances and buckets are small")]
    let grown = (distance as f32 / exact as f32).ln() / (DISTANCE_MAX / exact as f32).ln() * (half - exact) as f32;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounds down a small positive number")]
    let grown = grown as usize;
    side + exact + grown.min(half - exact - 1)
}

#[cfg(test)]
mod tests {
    use super::{bucket, position_ids};

    #[test]
    fn near_keys_have_a_bucket_each_and_the_rest_grow_logarithmically() {
        // Buckets 0..=7 exactly, then eight to the factor of 16 between 8 and 128: two for each doubling.
        let expected = [(0, 0), (1, 1), (7, 7), (8, 8), (11, 8), (12, 9), (15, 9), (16, 10), (22, 10), (23, 11)];
        let expected = expected.into_iter().chain([(31, 11), (32, 12), (45, 12), (46, 13), (63, 13), (64, 14)]);
        for (distance, row) in expected.chain([(90, 14), (91, 15), (127, 15), (128, 15), (511, 15)]) {
            assert_eq!(bucket(-distance, 32), row, "key {distance} before");
            if distance > 0 {
                assert_eq!(bucket(distance, 32), row + 16, "key {distance} after");
            }
        }
    }

    #[test]
    fn positions_count_from_two_and_skip_padding() {
        assert_eq!(position_ids(&[0, 7, 9, 2]), [2, 3, 4, 5]);
        assert_eq!(position_ids(&[0, 1, 9, 2]), [2, 1, 3, 4]);
    }
}
