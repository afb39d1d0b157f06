//! Answers of one judge, or of the members of a panel.

use regatta_benchmarks::NULL_CONTENT;
use regatta_proto::Verdict;

/// Answer of one judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// No answer, because the judge is not asked or its calls failed. The unsettled values count as wrong.
    Nothing,
    /// An answer without a text, for which the official code gives the whole step 0.
    Null,
    /// A text.
    Text(String),
}

/// Answers of all judges; there is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heard {
    said: Vec<Said>,
}

impl Heard {
    /// Stands for a judge that is not asked.
    pub(crate) fn nothing() -> Self {
        Self { said: vec![Said::Nothing] }
    }

    /// Takes the last reply of each member.
    pub(crate) fn new(verdict: Verdict) -> Self {
        let members = match verdict {
            Verdict::Replies { replies } => vec![replies],
            // F1s are numbers, so a panel's F1 is their mean whatever its rule.
            Verdict::Panel { rule: _, members } => members,
            Verdict::Similarity { .. } => Vec::new(),
        };
        let said: Vec<Said> = members.into_iter().map(said).collect();
        if said.is_empty() { Self::nothing() } else { Self { said } }
    }

    /// Returns the answer of each member.
    pub(crate) fn said(&self) -> &[Said] {
        &self.said
    }
}

fn said(mut replies: Vec<String>) -> Said {
    match replies.pop() {
        None => Said::Nothing,
        Some(text) if text == NULL_CONTENT => Said::Null,
        Some(text) => Said::Text(text),
    }
}
