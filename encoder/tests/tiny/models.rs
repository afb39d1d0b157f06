//! Writes model directories as sentence-transformers saves them, with random weights that depend on a seed alone.

use candle_core::{Device, Tensor};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Shapes that are no multiples of each other or of a vector's lanes.
pub(crate) const HIDDEN: usize = 21;
pub(crate) const HEADS: usize = 3;
pub(crate) const WIDE: usize = 37;
pub(crate) const LAYERS: usize = 2;
pub(crate) const POSITIONS: usize = 300;
pub(crate) const BUCKETS: usize = 32;
pub(crate) const EPSILON: f64 = 1e-5;

/// Ids are indices. Those of `<s>`, `<pad>` and `</s>` are MPNet's.
pub(crate) const VOCABULARY: [&str; 16] = [
    "<s>", "<pad>", "</s>", "<unk>", "open", "the", "drawer", "##s", "take", "book", "and", "put", "it", "on", "desk",
    ",",
];

/// Matrices and vectors by their name in the file, without the prefix.
pub(crate) type Weights = BTreeMap<String, Matrix>;

/// Rows and columns; a vector has one row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matrix {
    pub(crate) columns: usize,
    pub(crate) values: Vec<f32>,
}

impl Matrix {
    pub(crate) fn row(&self, index: usize) -> &[f32] {
        &self.values[index * self.columns..][..self.columns]
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Bert,
    Mpnet,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Bert => "bert",
            Self::Mpnet => "mpnet",
        }
    }
}

/// Weights of a tiny model, uniform between -0.6 and 0.6; scales of normalisations are around one.
pub(crate) fn weights(kind: Kind, seed: u64) -> Weights {
    let mut state = seed;
    let mut weights = Weights::new();
    let mut add = |name: String, rows: usize, columns: usize, centre: f32| {
        let mut next = || {
            // Linear congruence modulo 2^64, upper bits.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            centre + ((state >> 40) as f32 / (1 << 24) as f32 - 0.5) * 1.2
        };
        weights.insert(name, Matrix { columns, values: (0..rows * columns).map(|_| next()).collect() });
    };
    add("embeddings.word_embeddings.weight".into(), VOCABULARY.len(), HIDDEN, 0.0);
    add("embeddings.position_embeddings.weight".into(), POSITIONS, HIDDEN, 0.0);
    add("embeddings.LayerNorm.weight".into(), 1, HIDDEN, 1.0);
    add("embeddings.LayerNorm.bias".into(), 1, HIDDEN, 0.0);
    match kind {
        Kind::Bert => add("embeddings.token_type_embeddings.weight".into(), 2, HIDDEN, 0.0),
        Kind::Mpnet => add("encoder.relative_attention_bias.weight".into(), BUCKETS, HEADS, 0.0),
    }
    for layer in 0..LAYERS {
        let [query, key, value, output, norm] = layer_names(kind);
        for (part, outputs, inputs) in [
            (query, HIDDEN, HIDDEN),
            (key, HIDDEN, HIDDEN),
            (value, HIDDEN, HIDDEN),
            (output, HIDDEN, HIDDEN),
            ("intermediate.dense", WIDE, HIDDEN),
            ("output.dense", HIDDEN, WIDE),
        ] {
            add(format!("encoder.layer.{layer}.{part}.weight"), outputs, inputs, 0.0);
            add(format!("encoder.layer.{layer}.{part}.bias"), 1, outputs, 0.0);
        }
        for part in [norm, "output.LayerNorm"] {
            add(format!("encoder.layer.{layer}.{part}.weight"), 1, HIDDEN, 1.0);
            add(format!("encoder.layer.{layer}.{part}.bias"), 1, HIDDEN, 0.0);
        }
    }
    weights
}

/// Query, key, value, output and normalisation of the attention part.
pub(crate) fn layer_names(kind: Kind) -> [&'static str; 5] {
    match kind {
        Kind::Bert => [
            "attention.self.query",
            "attention.self.key",
            "attention.self.value",
            "attention.output.dense",
            "attention.output.LayerNorm",
        ],
        Kind::Mpnet => {
            ["attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o", "attention.LayerNorm"]
        }
    }
}

/// Writes a complete directory that cuts texts to 280 tokens.
pub(crate) fn write(directory: &Path, kind: Kind, weights: &Weights, prefix: &str) {
    std::fs::create_dir_all(directory.join("1_Pooling")).unwrap();
    write_json(&directory.join("config.json"), &config(kind));
    write_json(&directory.join("tokenizer.json"), &tokenizer());
    write_json(&directory.join("sentence_bert_config.json"), &json!({"max_seq_length": 280, "do_lower_case": false}));
    write_json(
        &directory.join("modules.json"),
        &json!([
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
        ]),
    );
    write_json(
        &directory.join("1_Pooling/config.json"),
        &json!({
            "word_embedding_dimension": HIDDEN,
            "pooling_mode_cls_token": false,
            "pooling_mode_mean_tokens": true,
            "pooling_mode_max_tokens": false,
        }),
    );
    write_weights(&directory.join("model.safetensors"), weights, prefix);
}

pub(crate) fn write_weights(path: &Path, weights: &Weights, prefix: &str) {
    let tensors: HashMap<String, Tensor> = weights
        .iter()
        .map(|(name, matrix)| {
            let rows = matrix.values.len() / matrix.columns;
            let vector = name.ends_with("bias") || name.ends_with("LayerNorm.weight");
            let shape = if vector { vec![matrix.columns] } else { vec![rows, matrix.columns] };
            let tensor = Tensor::from_vec(matrix.values.clone(), shape, &Device::Cpu).unwrap();
            (format!("{prefix}{name}"), tensor)
        })
        .collect();
    candle_core::safetensors::save(&tensors, path).unwrap();
}

pub(crate) fn config(kind: Kind) -> Value {
    json!({
        "_name_or_path": "nobody/tiny-base",
        "model_type": kind.name(),
        "hidden_act": "gelu",
        "hidden_size": HIDDEN,
        "intermediate_size": WIDE,
        "layer_norm_eps": EPSILON,
        "max_position_embeddings": POSITIONS,
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "relative_attention_num_buckets": BUCKETS,
        "type_vocab_size": 2,
        "vocab_size": VOCABULARY.len(),
    })
}

/// A WordPiece tokenizer with padding and truncation that must not be used.
pub(crate) fn tokenizer() -> Value {
    let ids: BTreeMap<&str, usize> = VOCABULARY.iter().enumerate().map(|(id, token)| (*token, id)).collect();
    let special = |id: usize| {
        json!({"id": id, "content": VOCABULARY[id], "special": true, "single_word": false, "lstrip": false,
               "rstrip": false, "normalized": false})
    };
    json!({
        "version": "1.0",
        "truncation": {"max_length": 8, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 1,
                    "pad_type_id": 0, "pad_token": "<pad>"},
        "added_tokens": [special(0), special(1), special(2), special(3)],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                       {"SpecialToken": {"id": "</s>", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]},
                               "</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]}},
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": ids},
    })
}

pub(crate) fn write_json(path: &Path, value: &Value) {
    std::fs::write(path, serde_json::to_vec_pretty(value).unwrap()).unwrap();
}
