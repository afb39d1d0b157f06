//! Scorers, as they are written.

use serde::Deserialize;

use super::Named;
use crate::answer::PlainPattern;
use crate::template::Template;

/// A scorer.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scorer {
    /// 1 where the answer is a gold text, spaces around aside.
    Exact(ExactSpec),
    /// The same without regard to case, punctuation, articles and spaces.
    Normalised(WordsSpec),
    /// Largest F1 of the answer's tokens with a gold text's.
    F1(WordsSpec),
    /// Largest ROUGE of the answer with a gold text.
    Rouge(RougeSpec),
    /// BLEU of the answer with all gold texts.
    Bleu(Against),
    /// Largest chrF of the answer with a gold text.
    Chrf(ChrfSpec),
    /// 1 where a gold text is part of the answer, without regard to case.
    Contains(ContainsSpec),
    /// 1 where the answer is a gold number.
    Number(NumberSpec),
    /// 1 where the answer is the gold letter.
    Choice(ChoiceSpec),
    /// 1 where the answer is JSON that fits a schema.
    Schema(SchemaSpec),
    /// Fields of a JSON object that are as in the gold.
    Fields(FieldsSpec),
    /// 1 where the calls are those of the gold.
    Calls(CallsSpec),
    /// Instructions that the answer keeps.
    Constraints(ConstraintsSpec),
    /// A grade by a judge.
    Judge(JudgeSpec),
    /// Similarity to the nearest gold text, by an encoder; what is below 0 counts as 0.
    Similarity(Against),
}

/// An answer against one or more texts, after what is ignored was taken out of both.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExactSpec {
    /// Name of the answer; the only answer where there is one, the whole reply where there is none.
    #[serde(default)]
    pub(crate) answer: Option<String>,
    /// The gold text.
    #[serde(default)]
    pub(crate) gold: Option<Template>,
    /// Column of a list of gold texts.
    #[serde(default)]
    pub(crate) golds: Option<String>,
    /// `true` if upper and lower case are the same.
    #[serde(default)]
    pub(crate) ignore_case: bool,
    /// `true` if ASCII punctuation does not count.
    #[serde(default)]
    pub(crate) ignore_punctuation: bool,
    /// Patterns whose matches do not count.
    #[serde(default)]
    pub(crate) ignore: Vec<PlainPattern>,
}

/// An answer against one or more texts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Against {
    /// Name of the answer; the only answer where there is one, the whole reply where there is none.
    #[serde(default)]
    pub(crate) answer: Option<String>,
    /// The gold text.
    #[serde(default)]
    pub(crate) gold: Option<Template>,
    /// Column of a list of gold texts.
    #[serde(default)]
    pub(crate) golds: Option<String>,
}

/// An answer against one or more texts, as words.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WordsSpec {
    /// Name of the answer, as in [`Against::answer`].
    #[serde(default)]
    pub(crate) answer: Option<String>,
    /// The gold text.
    #[serde(default)]
    pub(crate) gold: Option<Template>,
    /// Column of a list of gold texts.
    #[serde(default)]
    pub(crate) golds: Option<String>,
    /// Evaluator whose normal form of texts is compared.
    #[serde(default, rename = "as")]
    pub(crate) form: Form,
}

/// Normal form of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    /// That of SQuAD's evaluator.
    #[default]
    Squad,
    /// That of Inspect: words end at hyphens too, and numbers are what they are worth.
    Inspect,
}

/// An answer that one or more texts are part of.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContainsSpec {
    /// Name of the answer, as in [`Against::answer`].
    #[serde(default)]
    pub(crate) answer: Option<String>,
    /// The gold text.
    #[serde(default)]
    pub(crate) gold: Option<Template>,
    /// Column of a list of gold texts.
    #[serde(default)]
    pub(crate) golds: Option<String>,
    /// Place of the answer at which it has to be.
    #[serde(default)]
    pub(crate) at: Place,
    /// `true` if ASCII spaces and punctuation at both ends of answer and gold do not count.
    #[serde(default)]
    pub(crate) ignore_ends: bool,
    /// `true` if upper and lower case differ.
    #[serde(default)]
    pub(crate) match_case: bool,
}

/// A place of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    /// Anywhere.
    #[default]
    Anywhere,
    /// The beginning of the answer.
    Start,
    /// The end of the answer.
    End,
}

/// An answer against one or more texts, by ROUGE.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RougeSpec {
    /// Name of the answer, as in [`Against::answer`].
    #[serde(default)]
    pub(crate) answer: Option<String>,
    /// The gold text.
    #[serde(default)]
    pub(crate) gold: Option<Template>,
    /// Column of a list of gold texts.
    #[serde(default)]
    pub(crate) golds: Option<String>,
    /// Kind of ROUGE.
    #[serde(default)]
    pub(crate) kind: RougeKind,
}

/// A kind of ROUGE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub(crate) enum RougeKind {
    /// Of words.
    #[serde(rename = "rouge1")]
    Rouge1,
    /// Of pairs of words.
    #[serde(rename = "rouge2")]
    Rouge2,
    /// Of the longest common subsequence of words.
    #[default]
    #[serde(rename = "rougeL")]
    RougeL,
}

/// An answer against one or more texts, by chrF.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChrfSpec {
    /// Name of the answer, as in [`Against::answer`].
    #[serde(default)]
    pub(crate) answer: Option<String>,
    /// The gold text.
    #[serde(default)]
    pub(crate) gold: Option<Template>,
    /// Column of a list of gold texts.
    #[serde(default)]
    pub(crate) golds: Option<String>,
    /// Longest n-gram of words that counts beside those of characters: 2 makes it chrF++.
    #[serde(default)]
    pub(crate) word_order: usize,
}

/// An answer against a number.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NumberSpec {
    /// Name of the answer, as in [`Against::answer`].
    #[serde(default)]
    pub(crate) answer: Option<String>,
    /// The gold number.
    pub(crate) gold: Template,
    /// Largest difference that counts as equal.
    #[serde(default)]
    pub(crate) absolute: f64,
    /// Largest difference that counts as equal, as a share of the gold number.
    #[serde(default)]
    pub(crate) relative: f64,
    /// Significant digits to which both numbers are rounded before they are compared, in place of a difference.
    #[serde(default)]
    pub(crate) digits: Option<u8>,
}

/// An answer against a letter.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChoiceSpec {
    /// Name of the answer, as in [`Against::answer`].
    #[serde(default)]
    pub(crate) answer: Option<String>,
    /// The gold letter, or its position, from 0.
    pub(crate) gold: Template,
}

/// An answer against a JSON Schema.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SchemaSpec {
    /// Name of the answer, as in [`Against::answer`].
    #[serde(default)]
    pub(crate) answer: Option<String>,
    /// The schema of all items.
    #[serde(default)]
    pub(crate) schema: Option<serde_json::Value>,
    /// Column of each item's schema.
    #[serde(default)]
    pub(crate) column: Option<String>,
}

/// A JSON object against the gold's.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FieldsSpec {
    /// Name of the answer, as in [`Against::answer`].
    #[serde(default)]
    pub(crate) answer: Option<String>,
    /// Column of the gold object.
    pub(crate) gold: String,
}

/// Calls of functions against the gold's.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallsSpec {
    /// Answer that holds the calls as JSON, where the model does not call them as tools.
    #[serde(default)]
    pub(crate) answer: Option<String>,
    /// Column of the gold calls.
    pub(crate) gold: String,
    /// `true` if they must be made in that order.
    #[serde(default)]
    pub(crate) in_order: bool,
}

/// Instructions that an answer must keep.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConstraintsSpec {
    /// Name of the answer, as in [`Against::answer`].
    #[serde(default)]
    pub(crate) answer: Option<String>,
    /// Column of the list of instructions.
    pub(crate) column: String,
}

/// A grade by a judge.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JudgeSpec {
    /// Name of the answer, as in [`Against::answer`].
    #[serde(default)]
    pub(crate) answer: Option<String>,
    /// Rubric that the judge applies.
    pub(crate) rubric: Template,
    /// Question that the model was asked.
    #[serde(default)]
    pub(crate) question: Option<Template>,
    /// A good answer.
    #[serde(default)]
    pub(crate) reference: Option<Template>,
    /// Paths of images that the judge sees, one a line.
    #[serde(default)]
    pub(crate) images: Option<Template>,
    /// Grades, each with its value in 0..=1.
    pub(crate) grades: Named<f64>,
}
