//! Who said what: one judge, or the members of a panel.

use regatta_benchmarks::NULL_CONTENT;
use regatta_proto::Verdict;

/// What one judge said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// Nothing: it is not asked, or its calls failed. What it was to settle counts as wrong.
    Nothing,
    /// An answer without a text, on which the official code gives up the whole step.
    Null,
    /// A text.
    Text(String),
}

/// What all said; there is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heard {
    said: Vec<Said>,
}

impl Heard {
    /// Of somebody who was not asked.
    pub(crate) fn nothing() -> Self {
        Self { said: vec![Said::Nothing] }
    }

    /// The last reply of each member counts.
    pub(crate) fn new(verdict: Verdict) -> Self {
        let members = match verdict {
            Verdict::Replies { replies } => vec![replies],
            // F1s are numbers: whatever the rule, a panel's is their mean.
            Verdict::Panel { rule: _, members } => members,
            Verdict::Similarity { .. } => Vec::new(),
        };
        let said: Vec<Said> = members.into_iter().map(said).collect();
        if said.is_empty() { Self::nothing() } else { Self { said } }
    }

    /// Each member's.
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
