//! Directories that can be used, and the messages about those that cannot.

use crate::models::{self, Kind, tokenizer, write_json};
use regatta_encoder::{SentenceEncoder, cosine_micro};
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

fn tiny(kind: Kind) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    models::write(directory.path(), kind, &models::weights(kind, 1), "");
    directory
}

/// The error message for a directory, without its path and the parts that differ between systems.
fn refusal(directory: &Path) -> String {
    let error = SentenceEncoder::open(directory).unwrap_err().to_string();
    error.replace(directory.to_str().unwrap(), "DIR")
}

fn change(file: &Path, edit: impl FnOnce(&mut Value)) {
    let mut json = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    edit(&mut json);
    write_json(file, &json);
}

#[test]
fn missing_file_is_named_with_what_to_do() {
    insta::assert_snapshot!(refusal(Path::new("/nowhere")), @r#"failed to read DIR/config.json: No such file or directory (os error 2); point to a sentence-transformers directory (config.json, tokenizer.json, model.safetensors)"#);
    let without = |name: &str| {
        let directory = tiny(Kind::Bert);
        std::fs::remove_file(directory.path().join(name)).unwrap();
        refusal(directory.path())
    };
    insta::assert_snapshot!(without("config.json"), @r#"failed to read DIR/config.json: No such file or directory (os error 2); point to a sentence-transformers directory (config.json, tokenizer.json, model.safetensors)"#);
    insta::assert_snapshot!(without("tokenizer.json"), @r#"failed to read DIR/tokenizer.json: No such file or directory (os error 2); save the model's fast tokenizer there"#);
    insta::assert_snapshot!(without("model.safetensors"), @r#"failed to read DIR/model.safetensors: No such file or directory (os error 2); save the model with safe serialisation; other weight files are not read"#);
}

#[test]
fn other_architecture_is_refused_with_the_supported_ones() {
    let directory = tiny(Kind::Bert);
    write_json(&directory.path().join("config.json"), &json!({"model_type": "distilbert", "dim": 768}));
    insta::assert_snapshot!(refusal(directory.path()), @r#"failed to use DIR/config.json: `model_type` is "distilbert", supported: "bert", "mpnet""#);
}

#[test]
fn setting_that_is_not_computed_is_refused() {
    let refused = |file: &str, key: &str, value: Value| {
        let directory = tiny(Kind::Bert);
        change(&directory.path().join(file), |json| json[key] = value);
        refusal(directory.path())
    };
    insta::assert_snapshot!(refused("config.json", "hidden_act", json!("relu")), @r#"failed to use DIR/config.json: `hidden_act` is "relu", supported: "gelu""#);
    insta::assert_snapshot!(refused("config.json", "position_embedding_type", json!("relative_key")), @r#"failed to use DIR/config.json: `position_embedding_type` is "relative_key", supported: "absolute""#);
    insta::assert_snapshot!(refused("config.json", "num_attention_heads", json!(5)), @r#"failed to use DIR/config.json: `num_attention_heads` is 5, supported: a divisor of `hidden_size`"#);
    insta::assert_snapshot!(refused("config.json", "intermediate_size", json!(0)), @r#"failed to use DIR/config.json: `intermediate_size` is 0, supported: 1 or more"#);
    insta::assert_snapshot!(refused("config.json", "hidden_size", json!("many")), @r#"failed to parse DIR/config.json: invalid type: string "many", expected usize at line 5 column 23; the file must be the one saved by sentence-transformers"#);
    insta::assert_snapshot!(refused("1_Pooling/config.json", "pooling_mode_cls_token", json!(true)), @r#"failed to use DIR/1_Pooling/config.json: `pooling_mode` is ["cls_token", "mean_tokens"], supported: mean_tokens alone"#);
    insta::assert_snapshot!(refused("sentence_bert_config.json", "max_seq_length", json!(2)), @r#"failed to use DIR/sentence_bert_config.json: `max_seq_length` is 2, supported: 3 or more"#);
}

#[test]
fn module_that_is_not_computed_is_refused() {
    let directory = tiny(Kind::Bert);
    change(&directory.path().join("modules.json"), |json| {
        json[2]["type"] = json!("sentence_transformers.models.Dense");
    });
    insta::assert_snapshot!(refusal(directory.path()), @r#"failed to use DIR/modules.json: `type` is "sentence_transformers.models.Dense", supported: Transformer, Pooling, Normalize"#);
}

#[test]
fn files_of_different_models_are_refused() {
    let directory = tiny(Kind::Bert);
    change(&directory.path().join("tokenizer.json"), |json| json["model"]["vocab"]["extra"] = json!(99));
    insta::assert_snapshot!(refusal(directory.path()), @r#"failed to load the tokenizer DIR/tokenizer.json: it has token id 99, but `vocab_size` is 16; it must be the `tokenizer.json` saved with the model"#);

    let directory = tiny(Kind::Bert);
    models::write_weights(&directory.path().join("model.safetensors"), &models::weights(Kind::Mpnet, 1), "");
    insta::assert_snapshot!(refusal(directory.path()), @r#"failed to load the weights DIR/model.safetensors: tensor `encoder.layer.0.attention.self.query.weight` not found; weights and config.json must belong to the same model"#);
}

#[test]
fn directory_without_the_files_around_the_transformer_means_mean_pooling_of_256_tokens() {
    let directory = tiny(Kind::Bert);
    for name in ["modules.json", "1_Pooling/config.json", "sentence_bert_config.json"] {
        std::fs::remove_file(directory.path().join(name)).unwrap();
    }
    let encoder = SentenceEncoder::open(directory.path()).unwrap();
    let encode = |words: usize| encoder.encode(&"book ".repeat(words)).unwrap();
    assert_eq!(encode(500), encode(254));
    assert_ne!(encode(254), encode(253));
}

#[test]
fn sequence_is_never_longer_than_the_table_of_positions() {
    for (kind, words) in [(Kind::Bert, 298), (Kind::Mpnet, 296)] {
        let directory = tiny(kind);
        let file = directory.path().join("sentence_bert_config.json");
        change(&file, |json| json["max_seq_length"] = json!(100_000));
        let encoder = SentenceEncoder::open(directory.path()).unwrap();
        let encode = |words: usize| encoder.encode(&"book ".repeat(words)).unwrap();
        assert_eq!(encode(500), encode(words));
        assert_ne!(encode(words), encode(words - 1));
    }
}

#[test]
fn transformer_and_pooling_may_lie_in_folders_of_their_own() {
    let directory = tiny(Kind::Mpnet);
    let expected = SentenceEncoder::open(directory.path()).unwrap().encode("take the book").unwrap();
    std::fs::create_dir(directory.path().join("0_Transformer")).unwrap();
    for name in ["config.json", "tokenizer.json", "model.safetensors", "sentence_bert_config.json"] {
        std::fs::rename(directory.path().join(name), directory.path().join("0_Transformer").join(name)).unwrap();
    }
    change(&directory.path().join("modules.json"), |json| json[0]["path"] = json!("0_Transformer"));
    let encoder = SentenceEncoder::open(directory.path()).unwrap();
    assert_eq!(encoder.encode("take the book").unwrap(), expected);
}

#[test]
fn texts_are_lower_cased_first_where_the_model_asks_for_it() {
    let cased = tokenizer_that_keeps_case();
    let encode = |lower_case: bool| {
        let directory = tiny(Kind::Bert);
        write_json(&directory.path().join("tokenizer.json"), &cased);
        let file = directory.path().join("sentence_bert_config.json");
        change(&file, |json| json["do_lower_case"] = json!(lower_case));
        let encoder = SentenceEncoder::open(directory.path()).unwrap();
        (encoder.encode("TAKE it").unwrap(), encoder.encode("take it").unwrap())
    };
    let (upper, lower) = encode(true);
    assert_eq!(upper, lower);
    let (upper, lower) = encode(false);
    assert_ne!(upper, lower);
}

fn tokenizer_that_keeps_case() -> Value {
    let mut tokenizer = tokenizer();
    tokenizer["normalizer"]["lowercase"] = json!(false);
    tokenizer
}

#[test]
fn digest_depends_on_every_file_that_vectors_depend_on_and_on_nothing_else() {
    let digest = |directory: &TempDir| SentenceEncoder::open(directory.path()).unwrap().digest().to_owned();
    let original = digest(&tiny(Kind::Bert));
    assert_eq!(digest(&tiny(Kind::Bert)), original, "another place, the same model");

    let readme = tiny(Kind::Bert);
    std::fs::write(readme.path().join("README.md"), "words").unwrap();
    assert_eq!(digest(&readme), original);

    for name in ["config.json", "tokenizer.json", "modules.json", "1_Pooling/config.json", "sentence_bert_config.json"]
    {
        let directory = tiny(Kind::Bert);
        let file = directory.path().join(name);
        let mut bytes = std::fs::read(&file).unwrap();
        bytes.push(b'\n');
        std::fs::write(&file, bytes).unwrap();
        assert_ne!(digest(&directory), original, "{name}");
    }
    let directory = tiny(Kind::Bert);
    models::write_weights(&directory.path().join("model.safetensors"), &models::weights(Kind::Bert, 2), "");
    assert_ne!(digest(&directory), original);
}

#[test]
fn text_without_any_token_has_a_vector_without_direction() {
    let directory = tiny(Kind::Mpnet);
    change(&directory.path().join("tokenizer.json"), |json| json["post_processor"] = Value::Null);
    let vector = SentenceEncoder::open(directory.path()).unwrap().encode("").unwrap();
    assert_eq!(vector, vec![0.0; models::HIDDEN]);
    assert_eq!(cosine_micro(&vector, &vector), 0);
}

#[test]
fn name_is_that_of_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let named = directory.path().join("tiny-mpnet");
    models::write(&named, Kind::Mpnet, &models::weights(Kind::Mpnet, 1), "");
    assert_eq!(SentenceEncoder::open(&named).unwrap().name(), "tiny-mpnet");
}
