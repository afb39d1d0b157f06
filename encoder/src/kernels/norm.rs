//! Layer normalisation of rows, alone and after a dense layer with its residual connection.

use super::{sum_of, vectorised};

/// The learned part of a layer normalisation: one scale and one shift a column.
#[derive(Debug)]
pub(crate) struct Norm {
    pub(crate) scale: Vec<f32>,
    pub(crate) shift: Vec<f32>,
    pub(crate) epsilon: f32,
}

impl Norm {
    /// Brings each row to mean 0 and variance 1, then scales and shifts it.
    pub(crate) fn apply(&self, rows: &mut [f32]) {
        vectorised(|| {
            for row in rows.chunks_exact_mut(self.scale.len()) {
                self.apply_to_row(row);
            }
        });
    }

    /// The variance is computed from the deviations (two passes), because the mean of squares minus the square of the
    /// mean loses digits.
    #[inline(always)]
    fn apply_to_row(&self, row: &mut [f32]) {
        #[expect(clippy::cast_precision_loss, reason = "a row has thousands of columns at most")]
        let columns = row.len() as f32;
        let mean = sum_of(row, |value| value) / columns;
        let variance = sum_of(row, |value| (value - mean) * (value - mean)) / columns;
        let inverse = 1.0 / (variance + self.epsilon).sqrt();
        for ((value, scale), shift) in row.iter_mut().zip(&self.scale).zip(&self.shift) {
            *value = (*value - mean) * inverse * scale + shift;
        }
    }
}

/// Adds a bias and the matching row of `residual` to each row, then normalises it.
pub(crate) fn add_residual_norm(rows: &mut [f32], bias: &[f32], residual: &[f32], norm: &Norm) {
    vectorised(|| {
        for (row, input) in rows.chunks_exact_mut(bias.len()).zip(residual.chunks_exact(bias.len())) {
            for ((value, bias), input) in row.iter_mut().zip(bias).zip(input) {
                *value = *value + bias + input;
            }
            norm.apply_to_row(row);
        }
    });
}
