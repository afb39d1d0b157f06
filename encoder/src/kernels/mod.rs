//! The arithmetic of the forward pass, on plain slices, on the calling thread.
//!
//! Every operation has one fixed order, whatever the processor: products add up along the inputs with fused
//! multiply-adds, everything else is plain IEEE arithmetic in a fixed number of lanes. So a vector has the same bits on
//! every machine, and verdicts of different workers agree. General matrix libraries do not give that, and they spread
//! work over a thread pool, which costs more than it saves at the size of a sentence.

mod dense;
mod exp;
mod gelu;
mod norm;
mod panels;
mod softmax;

pub(crate) use dense::{add_bias, add_bias_gelu};
pub(crate) use norm::{Norm, add_residual_norm};
pub(crate) use panels::{Panels, Rows, RowsMut};
pub(crate) use softmax::{PositionBias, attention_weights};

/// Lanes that sums are split into. Part of the result's definition: another number gives other last bits.
const LANES: usize = 8;

/// Runs `work` compiled for the widest vector instructions that this processor has.
fn vectorised(work: impl FnOnce()) {
    pulp::Arch::new().dispatch(work);
}

/// Sum of `term` over all values: lanes first, then the lanes together.
#[inline(always)]
fn sum_of(values: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0f32; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += term(*value);
        }
    }
    let rest: f32 = rest.iter().map(|value| term(*value)).sum();
    lanes.iter().sum::<f32>() + rest
}
