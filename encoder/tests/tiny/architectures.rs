//! Both architectures against the reference.

use crate::models::{self, Kind, VOCABULARY};
use crate::reference;
use regatta_encoder::SentenceEncoder;

/// Largest difference between a vector and the reference: f32 against f64.
const ALLOWED: f64 = 5e-6;

fn tiny(kind: Kind, seed: u64) -> (SentenceEncoder, models::Weights) {
    let (directory, weights) = (tempfile::tempdir().unwrap(), models::weights(kind, seed));
    models::write(directory.path(), kind, &weights, "");
    (SentenceEncoder::open(directory.path()).unwrap(), weights)
}

fn assert_equals_reference(kind: Kind, seed: u64, text: &str, tokens: &[&str]) {
    let (encoder, weights) = tiny(kind, seed);
    let found = encoder.encode(text).unwrap();
    let expected = reference::encode(kind, &weights, &reference::ids(tokens));
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert!((f64::from(*found) - expected).abs() < ALLOWED, "{kind:?}, {text:?}: {found} instead of {expected}");
    }
}

#[test]
fn short_texts_equal_the_reference() {
    for kind in [Kind::Bert, Kind::Mpnet] {
        assert_equals_reference(kind, 1, "", &[]);
        assert_equals_reference(kind, 2, "Open", &["open"]);
        let tokens = ["open", "the", "drawer", "##s", ",", "and", "put", "it", "on", "the", "desk"];
        assert_equals_reference(kind, 3, "Open the DRAWERS, and put it on the desk", &tokens);
        assert_equals_reference(kind, 4, "take nothing", &["take", "<unk>"]);
    }
}

#[test]
fn long_texts_equal_the_reference_in_every_bucket_of_relative_positions() {
    let words: Vec<&str> = VOCABULARY[8..15].iter().copied().cycle().take(200).collect();
    for kind in [Kind::Bert, Kind::Mpnet] {
        assert_equals_reference(kind, 5, &words.join(" "), &words);
    }
}

#[test]
fn padding_token_that_a_text_spells_out_has_no_position_of_its_own() {
    for kind in [Kind::Bert, Kind::Mpnet] {
        assert_equals_reference(kind, 6, "take <pad> it", &["take", "<pad>", "it"]);
    }
}

#[test]
fn text_is_cut_to_the_longest_sequence_of_the_model() {
    let words: Vec<&str> = VOCABULARY[8..15].iter().copied().cycle().take(400).collect();
    for kind in [Kind::Bert, Kind::Mpnet] {
        let (encoder, _) = tiny(kind, 7);
        let encode = |count: usize| encoder.encode(&words[..count].join(" ")).unwrap();
        assert_eq!(encode(400), encode(278), "280 tokens with the two special ones");
        assert_ne!(encode(278), encode(277));
    }
}

#[test]
fn weights_may_carry_the_name_of_the_model_as_prefix() {
    for (kind, prefix) in [(Kind::Bert, "bert."), (Kind::Mpnet, "mpnet.")] {
        let (encoder, weights) = tiny(kind, 8);
        let directory = tempfile::tempdir().unwrap();
        models::write(directory.path(), kind, &weights, prefix);
        let prefixed = SentenceEncoder::open(directory.path()).unwrap();
        assert_eq!(prefixed.encode("take the book").unwrap(), encoder.encode("take the book").unwrap());
    }
}
