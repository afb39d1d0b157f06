//! The encoder layers that BERT and MPNet share: attention, then a feed-forward part, each followed by a residual
//! connection and a normalisation. They differ in the names of the weights and in the bias by relative position.

use crate::config::ModelConfig;
use crate::weights::{Dense, norm};
use candle_core::{Module, Result, Tensor};
use candle_nn::ops::softmax_last_dim;
use candle_nn::{LayerNorm, VarBuilder};

/// The architecture's names of the weights in a layer.
pub(crate) struct LayerNames {
    pub(crate) query: &'static str,
    pub(crate) key: &'static str,
    pub(crate) value: &'static str,
    pub(crate) attention_output: &'static str,
    pub(crate) attention_norm: &'static str,
}

/// All layers of a transformer.
#[derive(Debug)]
pub(crate) struct Transformer {
    layers: Vec<Layer>,
    heads: usize,
}

#[derive(Debug)]
struct Layer {
    /// The projections of queries, keys and values, computed as one product.
    attention_input: Dense,
    attention_output: Dense,
    attention_norm: LayerNorm,
    expand: Dense,
    contract: Dense,
    output_norm: LayerNorm,
}

impl Transformer {
    /// Loads `layer.0`, `layer.1`, … below `weights`.
    pub(crate) fn load(weights: &VarBuilder, config: &ModelConfig, names: &LayerNames) -> Result<Self> {
        let layers = (0..config.num_hidden_layers)
            .map(|index| Layer::load(&weights.pp("layer").pp(index), config, names))
            .collect::<Result<_>>()?;
        Ok(Self { layers, heads: config.num_attention_heads })
    }

    /// Passes vectors of shape (tokens, columns) through all layers. `position_bias`, of shape (heads, tokens, tokens), is added to each
    /// layer's attention scores.
    pub(crate) fn forward(&self, mut rows: Tensor, position_bias: Option<&Tensor>) -> Result<Tensor> {
        for layer in &self.layers {
            rows = layer.forward(&rows, self.heads, position_bias)?;
        }
        Ok(rows)
    }
}

impl Layer {
    fn load(weights: &VarBuilder, config: &ModelConfig, names: &LayerNames) -> Result<Self> {
        let (columns, wide, epsilon) = (config.hidden_size, config.intermediate_size, config.layer_norm_eps);
        let attention_input = [names.query, names.key, names.value].map(|name| weights.pp(name));
        Ok(Self {
            attention_input: Dense::stacked(&attention_input, columns, columns)?,
            attention_output: Dense::load(&weights.pp(names.attention_output), columns, columns)?,
            attention_norm: norm(&weights.pp(names.attention_norm), columns, epsilon)?,
            expand: Dense::load(&weights.pp("intermediate.dense"), columns, wide)?,
            contract: Dense::load(&weights.pp("output.dense"), wide, columns)?,
            output_norm: norm(&weights.pp("output.LayerNorm"), columns, epsilon)?,
        })
    }

    fn forward(&self, rows: &Tensor, heads: usize, position_bias: Option<&Tensor>) -> Result<Tensor> {
        let context = self.attend(rows, heads, position_bias)?;
        let attended = self.attention_norm.forward(&(self.attention_output.forward(&context)? + rows)?)?;
        let wide = self.expand.forward(&attended)?.gelu_erf()?;
        self.output_norm.forward(&(self.contract.forward(&wide)? + &attended)?)
    }

    /// Attention, head by head: for each token the mean of all tokens' values, weighted by how well their keys match its query.
    fn attend(&self, rows: &Tensor, heads: usize, position_bias: Option<&Tensor>) -> Result<Tensor> {
        let (tokens, columns) = rows.dims2()?;
        let width = columns / heads;
        // (query | key | value, head, token, column of the head): views, nothing is copied.
        let parts = self.attention_input.forward(rows)?.reshape((tokens, 3, heads, width))?.permute((1, 2, 0, 3))?;
        let (query, key, value) = (parts.get(0)?, parts.get(1)?, parts.get(2)?);

        #[expect(clippy::cast_precision_loss, reason = "a head has hundreds of columns at most")]
        let scale = (width as f64).sqrt().recip();
        // The queries are scaled instead of the scores, of which a long text has more.
        let mut scores = (query * scale)?.matmul(&key.t()?)?;
        if let Some(bias) = position_bias {
            scores = (scores + bias)?;
        }
        softmax_last_dim(&scores)?.matmul(&value)?.transpose(0, 1)?.reshape((tokens, columns))
    }
}
