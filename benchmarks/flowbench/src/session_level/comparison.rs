//! Comparison of two calls: the result without a judge, and the judge's part.

use crate::fuzzy::Tool;
use crate::judge::Judge;

/// Greatest number of pairs with one gold call that a judge is asked about. Only a model that repeats itself until it
/// is stopped makes a hundred calls of one tool in twenty turns, and judging these would cost a fortune. (The
/// released code has no such limit.)
const JUDGED_MAX: usize = 100;

/// Numbers of calls: in the gold, predicted, and right ones of the gold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) gold: usize,
    pub(super) predicted: usize,
    pub(super) right: usize,
}

/// Result of comparing two calls without a judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Comparison<'a> {
    Different,
    Equal,
    /// The calls are equal if these texts mean the same.
    IfAlike(Vec<Texts<'a>>),
}

/// Two different texts for one parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Texts<'a> {
    pub(super) parameter: &'a str,
    pub(super) gold: &'a str,
    pub(super) predicted: &'a str,
}

impl<'a> Comparison<'a> {
    /// Everything else is equal; returns [`Self::Equal`] when there are no such texts.
    pub(super) fn but_for(texts: Vec<Texts<'a>>) -> Self {
        if texts.is_empty() { Self::Equal } else { Self::IfAlike(texts) }
    }
}

/// Returns `true` if any of the calls compared with one gold call equals it. If one does without a judge, none is
/// asked; else all questions without an answer are recorded, and the returned value is meaningless until they are
/// answered.
pub(super) fn any_equal(
    compared: &[Comparison<'_>],
    tool: &Tool<'_>,
    judge: &mut Judge<'_>,
    agrees: fn(&str) -> bool,
) -> bool {
    if compared.contains(&Comparison::Equal) {
        return true;
    }
    let doubtful = compared.iter().filter_map(|comparison| match comparison {
        Comparison::IfAlike(texts) => Some(texts),
        Comparison::Different | Comparison::Equal => None,
    });
    doubtful.take(JUDGED_MAX).any(|texts| all_alike(texts, tool, judge, agrees))
}

/// One refusal is decisive. A missing answer is not, except that all further questions are needed too.
fn all_alike(texts: &[Texts<'_>], tool: &Tool<'_>, judge: &mut Judge<'_>, agrees: fn(&str) -> bool) -> bool {
    let mut known = true;
    for texts in texts {
        match judge.ask(tool.question(judge.official(), texts.parameter, texts.gold, texts.predicted)) {
            Some(heard) if heard.agrees(agrees) => {}
            Some(_) => return false,
            None => known = false,
        }
    }
    known
}
