//! Two calls side by side: what can be said of them without a judge, and what the judge adds.

use crate::fuzzy::Tool;
use crate::judge::Judge;

/// How many pairs with one gold call a judge is asked about. Nobody makes a hundred calls of one tool in twenty turns, except a
/// model that repeats itself until it is cut off; that must not cost a fortune. (The released code has no such bound.)
const JUDGED_MAX: usize = 100;

/// How many calls there are, and how many of the gold's are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) gold: usize,
    pub(super) predicted: usize,
    pub(super) right: usize,
}

/// What can be said of two calls without a judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Comparison<'a> {
    Different,
    Equal,
    /// They are equal if these texts mean the same.
    IfAlike(Vec<Texts<'a>>),
}

/// Two texts for one parameter that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Texts<'a> {
    pub(super) parameter: &'a str,
    pub(super) gold: &'a str,
    pub(super) predicted: &'a str,
}

impl<'a> Comparison<'a> {
    /// Everything is the same but for these texts.
    pub(super) fn but_for(texts: Vec<Texts<'a>>) -> Self {
        if texts.is_empty() { Self::Equal } else { Self::IfAlike(texts) }
    }
}

/// Whether any of the calls compared with one gold call equals it. No judge is needed where one does anyway; else everything
/// that is not known yet is asked, and what is said here means nothing.
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

/// One refusal settles it; nothing follows from an answer that is missing, except that the others are needed as well.
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
