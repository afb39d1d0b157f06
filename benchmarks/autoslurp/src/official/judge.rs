//! Questions to judges, and their answers (docs/benchmarks/autoslurp.md §8).

use std::collections::BTreeMap;

use regatta_benchmarks::NULL_CONTENT;
use regatta_proto::{ChatMessage, ChatRole, Question, Script, Verdict};

use super::log::tail;
use super::message::printed;
use super::prompts;
use super::rules::{Rules, TAIL_CHARS};
use super::stat::said;
use super::subject::Subject;

/// The kind of questions about the slots that a server received.
pub(super) const SLOT: &str = "slot";
/// The kind of questions whether the task is done.
pub(super) const FINAL: &str = "final";

/// Result of asking a judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The judge answered, or declined to.
    Said {
        /// Text of the answer, if it has one.
        content: Option<String>,
        /// Reason for declining, if it declined.
        refusal: Option<String>,
    },
    /// It could not be asked: its provider refused the request, as one that is too long, or was not there. Where the official code catches
    /// that, the judge is asked again with less of the log.
    Raised,
}

impl Answer {
    /// From a verdict. No replies at all mean that it could not be asked. Of a panel, one whose words say what most members' say stands
    /// for all, wrong before right before nothing where as many say so.
    pub(crate) fn of_verdict(script: Option<Script>, verdict: Verdict) -> Option<Self> {
        let reply = match verdict {
            Verdict::Replies { mut replies } => replies.pop(),
            Verdict::Panel { members, .. } => {
                spokesman(script, members.into_iter().filter_map(|mut replies| replies.pop()).collect())
            }
            Verdict::Similarity { .. } => return None,
        };
        let Some(reply) = reply else { return Some(Self::Raised) };
        Some(Self::Said { content: (reply != NULL_CONTENT).then_some(reply), refusal: None })
    }
}

fn spokesman(script: Option<Script>, replies: Vec<String>) -> Option<String> {
    let mut parties: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for reply in replies {
        let says = said(Rules::of(script).words, &printed(Some(&reply), None));
        parties.entry(says).or_default().push(reply);
    }
    // The last of equally large ones would win.
    let largest = parties.into_values().rev().max_by_key(Vec::len)?;
    largest.into_iter().next()
}

/// Question whether the slots of a server's answer are those of the gold.
pub(super) fn about_slots(rules: &Rules, subject: &Subject<'_>, resolved: &str, response: &str) -> Question {
    let prompt = format!("The golden slot is :{{{resolved}}}. The result is {response}");
    question(rules, subject, SLOT, 1, prompts::slots(rules.script, subject.today), prompt)
}

/// Question whether the task was done, as far as the log shows.
pub(super) fn about_task(rules: &Rules, subject: &Subject<'_>, resolved: &str, content: &str, attempt: u8) -> Question {
    let is_external = subject.utterance.is_external();
    let is_retry = attempt > 1;
    let shown = match (is_retry, is_external) {
        (false, _) => content,
        (true, true) => tail(content, rules.external_tail_chars),
        (true, false) => tail(content, TAIL_CHARS),
    };
    let today = if is_retry && is_external && rules.retry_tells_date {
        format!(" Today is {}.", subject.today)
    } else {
        String::new()
    };
    let task = &subject.utterance.text;
    let prompt = format!("the task is {task}. The annotation is {resolved}{today}\n{shown}\nyour answer is :");
    question(rules, subject, FINAL, attempt, prompts::task(rules.script, is_external), prompt)
}

fn question(rules: &Rules, subject: &Subject<'_>, kind: &str, attempt: u8, system: String, prompt: String) -> Question {
    Question::Judgement {
        kind: kind.to_owned(),
        about: vec![subject.item.to_owned(), rules.evaluator().to_string(), attempt.to_string()],
        before: vec![ChatMessage::new(ChatRole::System, system)],
        prompt,
        swapped: None,
        accept: Vec::new(),
        replies_max: 1,
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::PanelRule;

    use super::*;

    fn said(content: &str) -> Option<Answer> {
        Some(Answer::Said { content: Some(content.to_owned()), refusal: None })
    }

    #[test]
    fn the_last_reply_is_the_answer_and_none_at_all_is_a_judge_that_could_not_be_asked() {
        let replies =
            |replies: &[&str]| Verdict::Replies { replies: replies.iter().map(ToString::to_string).collect() };
        assert_eq!(Answer::of_verdict(None, replies(&["hm", "right"])), said("right"));
        assert_eq!(Answer::of_verdict(None, replies(&[])), Some(Answer::Raised));
        assert_eq!(
            Answer::of_verdict(None, replies(&[NULL_CONTENT])),
            Some(Answer::Said { content: None, refusal: None })
        );
        assert_eq!(Answer::of_verdict(None, Verdict::Similarity { micro: Vec::new() }), None);
    }

    #[test]
    fn a_panel_speaks_with_the_words_of_its_largest_party() {
        let panel = |replies: &[&str]| {
            let members = replies.iter().map(|reply| vec![(*reply).to_owned()]).collect();
            Answer::of_verdict(None, Verdict::Panel { rule: PanelRule::Majority, members })
        };
        assert_eq!(panel(&["wrong", "right", "quite right"]), said("right"));
        assert_eq!(panel(&["right", "wrong"]), said("wrong"));
        assert_eq!(panel(&["hm", "right"]), said("right"));
        assert_eq!(panel(&[]), Some(Answer::Raised));
    }
}
