//! The conversation: what the model is told, the examples that it gets, the turns that it answers.

use std::fmt;
use std::num::NonZeroU32;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};

use super::Name;
use crate::template::Template;

/// The conversation of a session.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prompt {
    /// The system message.
    #[serde(default)]
    pub(crate) system: Option<Template>,
    /// Examples before the first turn.
    #[serde(default)]
    pub(crate) few_shot: Option<FewShot>,
    /// Turns of the conversation; the model answers each user's message that no written answer follows.
    pub(crate) turns: Vec<Turn>,
    /// Column of the functions that the model may call, each as OpenAI describes them.
    #[serde(default)]
    pub(crate) tools: Option<String>,
    /// Sampling parameters.
    #[serde(default)]
    pub(crate) sampling: SamplingSpec,
    /// Texts that end the answer.
    #[serde(default)]
    pub(crate) stop: Vec<String>,
}

/// A message.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Turn {
    /// Message of the user.
    User(Template),
    /// Message of the model, written by the benchmark.
    Assistant(Template),
    /// Several, from a column: a list of objects with `role` (system, user or assistant) and `content`.
    Messages(String),
    /// Images of the user's message that follows: paths in the folder, one a line.
    Images(Template),
}

/// Examples from a split.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FewShot {
    /// The split.
    pub(crate) split: String,
    /// Number of examples.
    pub(crate) count: Count,
    /// Rule by which records are chosen.
    #[serde(default)]
    pub(crate) choose: Choose,
    /// Seed of the choice.
    #[serde(default)]
    pub(crate) seed: u64,
    /// Messages of each example, with the columns of its record.
    pub(crate) turns: Vec<Turn>,
}

/// Rule by which records of a split become examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Choose {
    /// The same ones for all items, drawn by the seed.
    #[default]
    Same,
    /// Others for each item, drawn by the seed and the item's id.
    EachItem,
    /// The first ones.
    First,
}

/// A number of examples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Count {
    /// This many.
    Fixed(u32),
    /// As many as the setting says, on this axis.
    Axis(String),
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrAxis;

        impl Visitor<'_> for NumberOrAxis {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of examples, or the name of an axis of `settings`")
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Count, E> {
                u32::try_from(count).map(Count::Fixed).map_err(|_| E::custom(format!("{count} examples are too many")))
            }

            fn visit_str<E: de::Error>(self, axis: &str) -> Result<Count, E> {
                Ok(Count::Axis(axis.to_owned()))
            }
        }

        deserializer.deserialize_any(NumberOrAxis)
    }
}

/// Sampling parameters; one that is left out is the provider's default.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SamplingSpec {
    /// 0 to 2.
    pub(crate) temperature: Option<f64>,
    /// Above 0, at most 1.
    pub(crate) top_p: Option<f64>,
    /// Most tokens of an answer.
    pub(crate) max_tokens: Option<NonZeroU32>,
}

/// Refuses a name that no axis can have.
pub(crate) fn check_axis(name: &Name) -> Result<(), String> {
    if name == "cast" {
        let problem = "`cast` is no name for an axis, because `cast=NAME` in a setting says which models play single \
                       members; give the axis another name";
        return Err(problem.to_owned());
    }
    Ok(())
}
