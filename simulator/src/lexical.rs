//! A lexical embedding, in which texts that share words and letter groups are close. It does not capture meaning, but is fast, needs no
//! files, and never changes.

/// Length of every vector.
pub const LEXICAL_DIMENSIONS: usize = 256;

const WORD_WEIGHT: f32 = 1.0;
const PAIR_WEIGHT: f32 = 0.5;
const TRIGRAM_WEIGHT: f32 = 0.4;

/// Embeds `text`: hashed counts of words, pairs of neighbouring words and letter trigrams, case ignored, scaled to length 1.
/// A text without letters or digits is the first unit vector.
#[must_use]
pub fn embed(text: &str) -> [f32; LEXICAL_DIMENSIONS] {
    let mut vector = [0.0; LEXICAL_DIMENSIONS];
    let lower = text.to_lowercase();
    let mut previous: Option<&str> = None;
    let mut letters = Vec::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        add(&mut vector, hash(b'w', [word.as_bytes()]), WORD_WEIGHT);
        if let Some(previous) = previous {
            add(&mut vector, hash(b'p', [previous.as_bytes(), word.as_bytes()]), PAIR_WEIGHT);
        }
        previous = Some(word);
        letters.clear();
        letters.push(' ');
        letters.extend(word.chars());
        letters.push(' ');
        for trigram in letters.windows(3) {
            let mut buffer = [[0; 4]; 3];
            let [a, b, c] = &mut buffer;
            let parts = [trigram[0].encode_utf8(a), trigram[1].encode_utf8(b), trigram[2].encode_utf8(c)];
            add(&mut vector, hash(b't', parts.map(|part| part.as_bytes())), TRIGRAM_WEIGHT);
        }
    }
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > 0.0 {
        vector.iter_mut().for_each(|x| *x /= norm);
    } else {
        vector[0] = 1.0;
    }
    vector
}

/// The first `dimensions` numbers of `vector`, scaled to length 1, as providers shorten vectors on demand.
pub(crate) fn shortened(vector: &[f32], dimensions: usize) -> Vec<f32> {
    let kept: Vec<f32> = vector.iter().take(dimensions).copied().collect();
    if kept.len() == vector.len() {
        return kept;
    }
    let norm = kept.iter().map(|x| x * x).sum::<f32>().sqrt();
    if norm > 0.0 {
        return kept.iter().map(|x| x / norm).collect();
    }
    // Nothing of the text is in these dimensions.
    kept.iter().enumerate().map(|(index, _)| if index == 0 { 1.0 } else { 0.0 }).collect()
}

/// The low bits select the dimension, and another bit the sign, so that collisions cancel instead of adding up.
fn add(vector: &mut [f32; LEXICAL_DIMENSIONS], hash: u64, weight: f32) {
    let dimension = (hash % LEXICAL_DIMENSIONS as u64) as usize;
    vector[dimension] += if hash & (1 << 40) == 0 { weight } else { -weight };
}

/// FNV-1a with a final mix, because its low bits alone are poor. Each part ends with a byte that no text contains.
fn hash<const N: usize>(kind: u8, parts: [&[u8]; N]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let mut hash = step(0xcbf2_9ce4_8422_2325, &kind);
    for part in parts {
        hash = step(part.iter().fold(hash, step), &0xff);
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cosine(a: &str, b: &str) -> f32 {
        embed(a).iter().zip(embed(b)).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn similar_wording_is_closer_than_other_wording() {
        let near = cosine("Take the apple from the table.", "take an apple from the table");
        let far = cosine("Take the apple from the table.", "Query the database for overdue invoices.");
        assert!(near > 0.75, "{near}");
        assert!(far < 0.35, "{far}");
    }

    #[test]
    fn word_order_matters_a_little() {
        let swapped = cosine("put the cup on the plate", "put the plate on the cup");
        assert!((0.7..0.999).contains(&swapped), "{swapped}");
    }

    #[test]
    fn embeddings_never_change_between_versions() {
        let heaviest =
            embed("find the key").map(f32::abs).iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
        insta::assert_snapshot!(format!("{heaviest} {:.4}", embed("find the key")[heaviest]));
    }

    proptest! {
        #[test]
        fn every_embedding_has_length_one_and_ignores_case(text in "\\PC{0,80}") {
            let vector = embed(&text);
            let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            prop_assert!((norm - 1.0).abs() < 1e-4, "{norm}");
            prop_assert_eq!(vector, embed(&text.to_lowercase()));
        }
    }
}
