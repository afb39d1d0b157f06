//! What follows the product of a dense layer: the bias, and the activation in the same pass over memory.

use super::{gelu::gelu, vectorised};

/// Adds a bias to each row.
pub(crate) fn add_bias(rows: &mut [f32], bias: &[f32]) {
    vectorised(|| {
        for row in rows.chunks_exact_mut(bias.len()) {
            for (value, bias) in row.iter_mut().zip(bias) {
                *value += bias;
            }
        }
    });
}

/// Adds a bias to each row and applies GELU.
pub(crate) fn add_bias_gelu(rows: &mut [f32], bias: &[f32]) {
    vectorised(|| {
        for row in rows.chunks_exact_mut(bias.len()) {
            for (value, bias) in row.iter_mut().zip(bias) {
                *value = gelu(*value + bias);
            }
        }
    });
}
