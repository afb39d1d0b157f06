//! Questions of evaluators to judges, and the verdicts.

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ChatMessage, Digest, PanelRule, ToolCall, did_you_mean};

/// A versioned scoring rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub enum Evaluator {
    /// Reproduces the benchmark's official code bit for bit.
    Official,
    /// The official code with minimal repairs where it crashes or can never match.
    OfficialFixed,
    /// The definition in the benchmark's paper.
    Paper,
    /// Executes the answer and scores the result.
    Exec,
    /// Regatta's own rules on the actual tool calls and the answer, without a judge and without reading logs.
    Structured,
    /// The scorers that a benchmark's own file declares.
    Declared,
    /// The copy of the official code that came with one of the examples of its repository.
    OfficialOf(Script),
}

/// Copies of Auto-SLURP's official evaluator, by the example that each came with; they differ (docs/benchmarks/autoslurp.md §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Script {
    /// `examples/langgraph`.
    Langgraph,
    /// `examples/agentlite`.
    Agentlite,
    /// `examples/camelai`.
    Camelai,
    /// `examples/langgraph_deepseek`.
    LanggraphDeepseek,
    /// `examples/agentlite_deepseek`.
    AgentliteDeepseek,
    /// `examples/camelai_deepseek`.
    CamelaiDeepseek,
    /// `examples/autogen_deepseek`.
    AutogenDeepseek,
}

impl Script {
    /// All copies.
    pub const ALL: [Self; 7] = [
        Self::Langgraph,
        Self::Agentlite,
        Self::Camelai,
        Self::LanggraphDeepseek,
        Self::AgentliteDeepseek,
        Self::CamelaiDeepseek,
        Self::AutogenDeepseek,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Langgraph => "official-langgraph",
            Self::Agentlite => "official-agentlite",
            Self::Camelai => "official-camelai",
            Self::LanggraphDeepseek => "official-langgraph-deepseek",
            Self::AgentliteDeepseek => "official-agentlite-deepseek",
            Self::CamelaiDeepseek => "official-camelai-deepseek",
            Self::AutogenDeepseek => "official-autogen-deepseek",
        }
    }
}

impl Evaluator {
    /// Name in files, SQL and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Official => "official",
            Self::OfficialFixed => "official_fixed",
            Self::Paper => "paper",
            Self::Exec => "exec",
            Self::Structured => "structured",
            Self::Declared => "declared",
            Self::OfficialOf(script) => script.as_str(),
        }
    }
}
impl fmt::Display for Evaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
impl TryFrom<String> for Evaluator {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
impl From<Evaluator> for String {
    fn from(evaluator: Evaluator) -> Self {
        evaluator.as_str().to_owned()
    }
}
impl FromStr for Evaluator {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "official" => Ok(Self::Official),
            "official_fixed" => Ok(Self::OfficialFixed),
            "paper" => Ok(Self::Paper),
            "exec" => Ok(Self::Exec),
            "structured" => Ok(Self::Structured),
            "declared" => Ok(Self::Declared),
            _ => {
                Script::ALL.into_iter().find(|script| script.as_str() == text).map(Self::OfficialOf).ok_or_else(|| {
                    let scripts = Script::ALL.map(Script::as_str).join(", ");
                    let known = format!("official, official_fixed, paper, exec, structured, declared, {scripts}");
                    let meant = did_you_mean(text, known.split(", "));
                    // Most of them are of other benchmarks than the one that is meant.
                    let others = if meant.is_empty() { format!("; known: {known}") } else { String::new() };
                    format!("unknown evaluator {text:?}{others}{meant}")
                })
            }
        }
    }
}

/// One question that an evaluator asks before it can score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Cosine similarity of every text of `left` with every text of `right`, by a sentence-embedding model.
    Similarity {
        /// Row texts, distinct.
        left: Vec<String>,
        /// Column texts, distinct.
        right: Vec<String>,
    },
    /// A judgement of a chat model.
    Judgement {
        /// The benchmark's name of the kind of judgement, such as `completion`.
        kind: String,
        /// The subject. Together with `kind` it identifies the judgement in hand-recorded verdicts, independent of the prompt.
        about: Vec<String>,
        /// Messages before the prompt in the judge's conversation: instructions, or the conversation to judge. Reasoning in it is not shown
        /// to judges, and is no part of the question.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        before: Vec<ChatMessage>,
        /// The message that the judge replies to.
        prompt: String,
        /// The prompt with the two things that it compares in reversed order; `None` if it compares nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        swapped: Option<String>,
        /// Regular expressions, all of which a reply must match to be accepted; otherwise the judge is asked again.
        accept: Vec<String>,
        /// Most times that the judge is asked, at least 1; the last reply counts in any case.
        replies_max: u8,
    },
}

impl Question {
    /// The question with what it compares in reversed order; `None` if it compares nothing.
    #[must_use]
    pub fn in_other_order(&self) -> Option<Self> {
        let mut other = self.clone();
        let Self::Judgement { prompt, swapped: Some(swapped), .. } = &mut other else { return None };
        std::mem::swap(prompt, swapped);
        Some(other)
    }

    /// Content address of the question; equal questions are asked once.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match self {
            Self::Similarity { left, right } => {
                let rows = (left.len() as u64).to_le_bytes();
                Digest::of_parts(
                    [b"similarity/1".as_slice(), &rows]
                        .into_iter()
                        .chain(left.iter().chain(right).map(String::as_bytes)),
                )
            }
            Self::Judgement { kind, about, before, prompt, swapped, accept, replies_max } => {
                let counts = [about.len() as u64, accept.len() as u64, u64::from(*replies_max)].map(u64::to_le_bytes);
                // Prompts and replies do not look like this, so a question without earlier messages keeps the address that it always had.
                let before = before.iter().map(spelled_out);
                let more: Vec<String> = before.chain(swapped.iter().map(|text| format!("swapped\0{text}"))).collect();
                Digest::of_parts(
                    [b"judgement/1".as_slice(), kind.as_bytes(), prompt.as_bytes()]
                        .into_iter()
                        .chain(counts.iter().map(<[u8; 8]>::as_slice))
                        .chain(about.iter().chain(accept).chain(&more).map(String::as_bytes)),
                )
            }
        }
    }
}

/// All parts of `message` that a judge sees.
fn spelled_out(message: &ChatMessage) -> String {
    let ChatMessage { role, content, images, tool_calls, tool_call_id, reasoning: _, cache_until_here: _ } = message;
    let mut text = format!("{role:?}\0{content}");
    for ToolCall { id, name, arguments } in tool_calls {
        text.extend(["\0call\0", id, "\0", name, "\0", arguments]);
    }
    for image in images {
        text.push_str(&format!("\0image\0{}", image.digest));
    }
    if let Some(id) = tool_call_id {
        text.extend(["\0result of\0", id]);
    }
    text
}

/// A question with its content address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct AskedQuestion {
    /// [`Question::digest`] of `question`.
    pub digest: Digest,
    /// The question.
    pub question: Question,
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Cosine similarities `micro[row][column]` in millionths (six decimals), −1,000,000 to 1,000,000.
    Similarity {
        /// One row per left text.
        micro: Vec<Vec<i32>>,
    },
    /// The judge's replies in order; the last one counts, those before it were not accepted.
    Replies {
        /// At least one reply, and at most as many as the question allows.
        replies: Vec<String>,
    },
    /// The replies of each member of a panel.
    Panel {
        /// Rule that combines the members' answers.
        rule: PanelRule,
        /// Replies as in `replies`, one list for each member and repetition: members in the order of the spec, each with all its
        /// repetitions.
        members: Vec<Vec<String>>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChatRole, Image};

    fn after(before: Vec<ChatMessage>) -> Digest {
        let question = Question::Judgement {
            kind: "k".to_owned(),
            about: Vec::new(),
            before,
            prompt: "p".to_owned(),
            swapped: None,
            accept: Vec::new(),
            replies_max: 1,
        };
        question.digest()
    }

    #[test]
    fn whatever_a_judge_sees_of_the_conversation_before_is_part_of_the_question() {
        let message = ChatMessage::new(ChatRole::Assistant, "x");
        let call = |arguments: &str| ToolCall { id: "1".into(), name: "f".into(), arguments: arguments.into() };
        let calling = |arguments| ChatMessage { tool_calls: vec![call(arguments)], ..message.clone() };
        let all = [
            after(Vec::new()),
            after(vec![message.clone()]),
            after(vec![ChatMessage::new(ChatRole::User, "x")]),
            after(vec![calling("{}")]),
            after(vec![calling("[]")]),
            after(vec![ChatMessage { tool_call_id: Some("1".into()), ..message.clone() }]),
            after(vec![ChatMessage { images: Image::of_base64("R0lGODlh").into_iter().collect(), ..message.clone() }]),
            after(vec![message.clone(), message.clone()]),
        ];
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len());
        let thought = Some(crate::Reasoning { text: "hm".into(), opaque: None });
        assert_eq!(after(vec![ChatMessage { reasoning: thought, ..message.clone() }]), after(vec![message]));
    }
}
