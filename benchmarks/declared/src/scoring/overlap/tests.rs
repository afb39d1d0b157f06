//! Numbers of `sacrebleu` 2.6.0 (`sentence_bleu`, `sentence_chrf`) and `rouge-score` 0.1.2, of which several golds have the largest.

use proptest::prelude::*;

use super::*;
use crate::definition::RougeKind;

/// An answer, its golds, and BLEU, chrF, chrF++, ROUGE-1, ROUGE-2 and ROUGE-L.
type Case = (&'static str, &'static [&'static str], [f64; 6]);

const CASES: [Case; 12] = [
    (
        "The cat sat on the mat.",
        &["The cat is sitting on the mat."],
        [
            0.423836562827878,
            0.496485170311433,
            0.542551855194941,
            0.769230769230769,
            0.545454545454545,
            0.769230769230769,
        ],
    ),
    (
        "the the the the",
        &["the cat", "a dog in the the garden"],
        [0.319471552123136, 0.243739432403216, 0.254647010415748, 0.4, 0.25, 0.4],
    ),
    (
        "It costs $1,234.50, don't you think?",
        &["It cost 1,234.50 $ -- do you not think so?", "It costs $1,234.50; don't you think?"],
        [0.596949179201964, 0.873135905690596, 0.853512643553661, 1.0, 1.0, 1.0],
    ),
    (
        "A well-known fact (from 2019-2020): 3.5% of it.",
        &["A well-known fact from 2019-2020: 3.5% of all."],
        [0.413744120205188, 0.74867852387034, 0.723312635373778, 0.909090909090909, 0.9, 0.909090909090909],
    ),
    (
        "Größe zählt — nicht immer, naïve Leute!",
        &["Die Größe zählt nicht immer, naive Leute."],
        [0.2335689888641, 0.694396015133691, 0.651069686521711, 0.777777777777778, 0.625, 0.777777777777778],
    ),
    ("yes", &["yes"], [1.0, 1.0, 1.0, 1.0, 0.0, 1.0]),
    ("yes", &["no"], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("", &["something"], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    (
        "short",
        &["a much longer gold text than the answer is"],
        [0.0, 0.035460992907801, 0.029550827423168, 0.0, 0.0, 0.0],
    ),
    (
        "Tom &amp; Jerry &lt;3 said \"hi\"\nthere",
        &["Tom & Jerry <3 said 'hi' there"],
        [0.537284965911771, 0.40089321900155, 0.368877110002039, 0.857142857142857, 0.5, 0.857142857142857],
    ),
    (
        "one two three four five six seven eight nine ten",
        &["ten nine one two three five four six eight seven nine ten one"],
        [
            0.173032162736731,
            0.527227626610662,
            0.529136527427422,
            0.869565217391304,
            0.285714285714286,
            0.695652173913043,
        ],
    ),
    ("x", &["(x)"], [0.135335283236613, 0.384615384615385, 0.192307692307692, 1.0, 0.0, 1.0]),
];

fn all(answer: &str, golds: &[String]) -> [f64; 6] {
    let of = |kind| rouge(kind, answer, golds);
    [
        bleu(answer, golds),
        chrf(0, answer, golds),
        chrf(2, answer, golds),
        of(RougeKind::Rouge1),
        of(RougeKind::Rouge2),
        of(RougeKind::RougeL),
    ]
}

#[test]
fn scores_are_those_of_sacrebleu_and_rouge_score() {
    for (answer, golds, expected) in CASES {
        let golds: Vec<String> = golds.iter().map(|gold| (*gold).to_owned()).collect();
        let found = all(answer, &golds);
        let differs = found.iter().zip(expected).any(|(found, expected)| (found - expected).abs() > 1e-12);
        assert!(!differs, "{answer:?}: {found:?} instead of {expected:?}");
    }
}

#[test]
fn a_long_gold_is_refused_for_the_longest_common_subsequence_alone() {
    let gold = "word ".repeat(20_001);
    let check_gold = |kind, gold: &str| check_golds(kind, &[gold.to_owned()]);
    let said = check_gold(RougeKind::RougeL, &gold).unwrap_err();
    assert_eq!(said, "the gold has 20001 words, at most 20000 are compared; choose rouge1 or rouge2");
    assert_eq!(check_gold(RougeKind::RougeL, &"word ".repeat(20_000)), Ok(()));
    assert_eq!(check_gold(RougeKind::Rouge2, &gold), Ok(()));
}

#[test]
fn words_of_all_golds_of_an_item_count_together() {
    let golds = ["word ".repeat(10_001), "word ".repeat(10_000)];
    let said = check_golds(RougeKind::RougeL, &golds).unwrap_err();
    assert_eq!(said, "the golds have 20001 words, at most 20000 are compared; choose rouge1 or rouge2");
    assert_eq!(check_golds(RougeKind::Rouge1, &golds), Ok(()));
}

/// The longest common subsequence, by the table of all prefixes.
fn common_slowly(one: &[&str], other: &[&str]) -> usize {
    let mut row = vec![0; other.len() + 1];
    for token in one {
        let mut before = 0;
        for (at, against) in other.iter().enumerate() {
            let known = row[at + 1];
            row[at + 1] = if token == against { before + 1 } else { known.max(row[at]) };
            before = known;
        }
    }
    row[other.len()]
}

proptest! {
    #[test]
    fn the_longest_common_subsequence_is_that_of_the_slow_table(one in "[abcd ]{0,300}", other in "[abcd ]{0,300}") {
        let (tokens, others): (Vec<&str>, Vec<&str>) = (words(&one).collect(), words(&other).collect());
        let same = common_slowly(&tokens, &others);
        let expected = if same == 0 {
            0.0
        } else {
            let (precision, recall) = (same as f64 / tokens.len() as f64, same as f64 / others.len() as f64);
            2.0 * precision * recall / (precision + recall)
        };
        prop_assert_eq!(rouge(RougeKind::RougeL, &one, std::slice::from_ref(&other)), expected);
    }

    #[test]
    fn of_several_golds_the_best_one_counts(answer in "[ab. ]{0,30}", golds in proptest::collection::vec("[ab. ]{0,30}", 1..4)) {
        let one = golds.iter().map(|gold| all(&answer, std::slice::from_ref(gold)));
        let best = one.reduce(|one, other| std::array::from_fn(|at| one[at].max(other[at]))).unwrap();
        let together = all(&answer, &golds);
        // BLEU is of all golds together.
        prop_assert_eq!(together[1..].to_vec(), best[1..].to_vec());
    }

    #[test]
    fn every_score_is_a_share(one in "\\PC{0,60}", other in "\\PC{0,60}") {
        for score in all(&one, std::slice::from_ref(&other)) {
            prop_assert!((0.0..=1.0).contains(&score), "{score}");
        }
    }
}
