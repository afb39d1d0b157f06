//! The arithmetic between two matrix products, as in-place operations on a product that was just computed.
//!
//! Candle has these too, but spreads each over the global thread pool row by row, which costs more than it saves at
//! the size of a sentence, and its error function is a scalar call per element. Loops here are written so that the
//! compiler vectorises them: no calls, no branches, sums in lanes.

mod dense;
mod exp;
mod gelu;
mod norm;
mod softmax;

pub(crate) use dense::{AddBias, AddBiasGelu};
pub(crate) use norm::{AddResidualNorm, Norm};
pub(crate) use softmax::{PositionBias, Softmax};

use candle_core::{CpuStorage, Layout, Result};

/// Vector lanes that sums are split into: enough for any instruction set that we meet.
const LANES: usize = 8;

/// The elements of a contiguous f32 tensor, writable.
fn elements_mut<'a>(storage: &'a mut CpuStorage, layout: &Layout) -> Result<&'a mut [f32]> {
    match (storage, layout.contiguous_offsets()) {
        (CpuStorage::F32(values), Some((start, end))) => Ok(&mut values[start..end]),
        _ => candle_core::bail!("expected a contiguous f32 tensor, got {layout:?}"),
    }
}

/// The elements of a contiguous f32 tensor.
fn elements<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    match (storage, layout.contiguous_offsets()) {
        (CpuStorage::F32(values), Some((start, end))) => Ok(&values[start..end]),
        _ => candle_core::bail!("expected a contiguous f32 tensor, got {layout:?}"),
    }
}

/// Sum of `term` over all values: lanes first, then the lanes together. The order is fixed, so the sum is too.
#[inline(always)]
fn sum_of(values: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0f32; LANES];
    let mut chunks = values.chunks_exact(LANES);
    for chunk in &mut chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += term(*value);
        }
    }
    let rest: f32 = chunks.remainder().iter().map(|value| term(*value)).sum();
    lanes.iter().sum::<f32>() + rest
}
