//! Collects a judge's verdicts during scoring: known ones are returned, missing ones are recorded as questions.

use std::collections::{BTreeMap, HashSet};

use regatta_benchmarks::Verdicts;
use regatta_proto::{Digest, PanelRule, Question, Verdict};

use super::prompts::OfficialJudges;

/// Greatest number of times that a judge is asked until its reply is valid (docs/benchmarks/flowbench.md §8).
pub(crate) const REPLIES_MAX: u8 = 10;

/// Answers questions from verdicts, and collects those that have none yet.
pub(crate) struct Judge<'v> {
    verdicts: &'v dyn Verdicts,
    official: Option<&'v OfficialJudges>,
    missing: Vec<Question>,
    seen: HashSet<Digest>,
}

/// Answer to a question: the last reply of a judge, or of each member of a panel. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heard {
    replies: Vec<String>,
    rule: PanelRule,
}

impl Heard {
    fn from_verdict(verdict: Verdict) -> Option<Self> {
        let (rule, members) = match verdict {
            Verdict::Replies { replies } => (PanelRule::Majority, vec![replies]),
            Verdict::Panel { rule, members } => (rule, members),
            Verdict::Similarity { .. } => return None,
        };
        let replies: Vec<String> = members.into_iter().filter_map(|mut replies| replies.pop()).collect();
        (!replies.is_empty()).then_some(Self { replies, rule })
    }

    /// Returns `true` if `read` accepts more than half of the replies. (For yes and no, mean and majority agree.)
    pub(crate) fn agrees(&self, read: impl Fn(&str) -> bool) -> bool {
        self.replies.iter().filter(|reply| read(reply)).count() * 2 > self.replies.len()
    }

    /// Returns the mean of the numbers in a panel's replies, or the median if its rule is the majority. Replies
    /// without a number do not count.
    pub(crate) fn number(&self, read: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        let mut numbers: Vec<f64> = self.replies.iter().filter_map(|reply| read(reply)).collect();
        numbers.sort_by(f64::total_cmp);
        let taken = match self.rule {
            PanelRule::Mean => &numbers[..],
            PanelRule::Majority => {
                numbers.get(numbers.len().saturating_sub(1) / 2..=numbers.len() / 2).unwrap_or_default()
            }
        };
        let count = u32::try_from(taken.len()).ok().filter(|count| *count > 0)?;
        Some(taken.iter().sum::<f64>() / f64::from(count))
    }

    /// Returns the most frequent kind, the lowest in a tie.
    pub(crate) fn kind<T: Ord>(&self, read: impl Fn(&str) -> T) -> Option<T> {
        let mut counts: BTreeMap<T, usize> = BTreeMap::new();
        for reply in &self.replies {
            *counts.entry(read(reply)).or_default() += 1;
        }
        let most = counts.values().copied().max()?;
        counts.into_iter().find(|(_, count)| *count == most).map(|(kind, _)| kind)
    }
}

impl<'v> Judge<'v> {
    /// Answers with these verdicts; `official` are the official prompts, where they are known.
    pub(crate) fn new(verdicts: &'v dyn Verdicts, official: Option<&'v OfficialJudges>) -> Self {
        Self { verdicts, official, missing: Vec::new(), seen: HashSet::new() }
    }

    /// Returns the official prompts, where they are known.
    pub(crate) const fn official(&self) -> Option<&'v OfficialJudges> {
        self.official
    }

    /// Returns the answer to a question. If there is none yet, records the question once and returns `None`.
    pub(crate) fn ask(&mut self, question: Question) -> Option<Heard> {
        if let Some(heard) = self.verdicts.answer(&question).and_then(Heard::from_verdict) {
            return Some(heard);
        }
        if self.seen.insert(question.digest()) {
            self.missing.push(question);
        }
        None
    }

    /// Returns the questions without an answer, in the order in which they were asked.
    pub(crate) fn into_missing(self) -> Vec<Question> {
        self.missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known(&'static str);

    impl Verdicts for Known {
        fn answer(&self, question: &Question) -> Option<Verdict> {
            let Question::Judgement { prompt, .. } = question else { return None };
            (prompt == self.0).then(|| Verdict::Replies { replies: vec!["?".to_owned(), "yes".to_owned()] })
        }
    }

    fn question(prompt: &str) -> Question {
        Question::Judgement {
            kind: "fuzzy".to_owned(),
            about: Vec::new(),
            before: Vec::new(),
            prompt: prompt.to_owned(),
            swapped: None,
            accept: Vec::new(),
            replies_max: REPLIES_MAX,
        }
    }

    #[test]
    fn known_answers_end_with_their_last_reply_and_unknown_ones_are_asked_once() {
        let mut judge = Judge::new(&Known("a"), None);
        let agrees =
            ["a", "b", "b", "c"].map(|prompt| judge.ask(question(prompt)).map(|heard| heard.agrees(|r| r == "yes")));
        assert_eq!(agrees, [Some(true), None, None, None]);
        assert_eq!(judge.into_missing(), ["b", "c"].map(question));
    }

    fn panel(rule: PanelRule, replies: &[&str]) -> Heard {
        let members = replies.iter().map(|reply| vec!["?".to_owned(), (*reply).to_owned()]).collect();
        Heard::from_verdict(Verdict::Panel { rule, members }).unwrap()
    }

    #[test]
    fn a_panel_agrees_when_more_than_half_of_it_does() {
        let agrees = |replies: &[&str]| panel(PanelRule::Majority, replies).agrees(|reply| reply == "yes");
        assert!(agrees(&["yes", "no", "yes"]) && agrees(&["yes"]));
        assert!(!agrees(&["yes", "no"]) && !agrees(&["no", "no", "yes"]));
    }

    #[test]
    fn numbers_of_a_panel_are_averaged_or_the_middle_one_is_taken() {
        let number = |rule, replies: &[&str]| panel(rule, replies).number(|reply| reply.parse().ok());
        assert_eq!(number(PanelRule::Mean, &["9", "1", "2", "x"]), Some(4.0));
        assert_eq!(number(PanelRule::Majority, &["9", "1", "2", "x"]), Some(2.0));
        assert_eq!(number(PanelRule::Majority, &["9", "1", "2", "3"]), Some(2.5));
        assert_eq!(number(PanelRule::Mean, &["x"]), None);
        assert_eq!(number(PanelRule::Majority, &["x"]), None);
    }

    #[test]
    fn the_most_frequent_kind_is_taken() {
        let kind = |replies: &[&str]| panel(PanelRule::Majority, replies).kind(str::to_owned);
        assert_eq!(kind(&["3", "1", "3"]).as_deref(), Some("3"));
        assert_eq!(kind(&["3", "1"]).as_deref(), Some("1"));
    }

    #[test]
    fn nothing_said_is_no_answer() {
        assert_eq!(Heard::from_verdict(Verdict::Replies { replies: Vec::new() }), None);
        assert_eq!(Heard::from_verdict(Verdict::Panel { rule: PanelRule::Mean, members: Vec::new() }), None);
    }
}
