//! Equality of two argument texts: compared by characters first, then by a judge (docs/benchmarks/flowbench.md §5.1,
//! §6.1, §8.1).

use regatta_proto::Question;
use regatta_pycompat::{lower, strip};

use super::judge::REPLIES_MAX;
use super::prompts::OfficialJudges;

/// Kind of the judgements.
pub(crate) const KIND: &str = "fuzzy";

/// End of every question.
const ASK: &str = "\n\nDo both inputs mean the same? Answer with one word, yes or no.";

/// Label of the current time in every system prompt.
const TIME_LABEL: &str = "Please note that the current time is:";

/// Returns `true` if the official evaluator accepts the texts as equal without a judge: the prediction contains the
/// gold when punctuation and spaces are ignored. An empty gold is contained in everything.
pub(crate) fn alike(gold: &str, predicted: &str) -> bool {
    folded(predicted).contains(&folded(gold))
}

/// Strips the text and removes spaces and ASCII punctuation, except the backslash, which the official list of
/// characters lacks.
fn folded(text: &str) -> String {
    strip(text).chars().filter(|&c| c == '\\' || !(c == ' ' || c.is_ascii_punctuation())).collect()
}

/// The official reading of a reply: agreement unless it contains "no", even inside another word.
pub(crate) fn official_agrees(reply: &str) -> bool {
    !lower(reply).contains("no")
}

/// The paper's reading of a reply: agreement if it contains "yes" and not "no".
pub(crate) fn paper_agrees(reply: &str) -> bool {
    let reply = lower(reply);
    reply.contains("yes") && !reply.contains("no")
}

/// Information for the judge about a tool, cut from a system prompt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool<'a> {
    /// Name of the tool that takes the arguments.
    pub(crate) name: &'a str,
    /// Block of the tool in the prompt: from the first `API: NAME`, wherever it is, to the next blank line.
    pub(crate) block: Option<&'a str>,
    /// Line with the current time.
    pub(crate) time: Option<&'a str>,
}

impl<'a> Tool<'a> {
    /// Finds the tool in `system_prompt`.
    pub(crate) fn find(system_prompt: &'a str, name: &'a str) -> Self {
        let from = |at: usize| system_prompt.get(at..).unwrap_or_default();
        let block = system_prompt
            .find(&format!("API: {name}"))
            .and_then(|start| from(start).split_once("\n\n").map(|(block, _)| block));
        let time = system_prompt.find(TIME_LABEL).map(|start| from(start).split('\n').next().unwrap_or_default());
        Self { name, block, time }
    }

    /// Asks if the texts mean the same for the parameter, with the `official` prompt where it is known. Parts that
    /// the system prompt lacks are left empty.
    pub(crate) fn question(
        &self,
        official: Option<&OfficialJudges>,
        parameter: &str,
        gold: &str,
        predicted: &str,
    ) -> Question {
        let (gold, predicted) = (strip(gold), strip(predicted));
        let prompt = |one, other| {
            official
                .and_then(|official| official.fuzzy(self.name, self.block, self.time, parameter, [one, other]))
                .unwrap_or_else(|| self.prompt(parameter, one, other))
        };
        Question::Judgement {
            kind: KIND.to_owned(),
            about: [self.name, parameter, gold, predicted].map(str::to_owned).to_vec(),
            before: Vec::new(),
            prompt: prompt(gold, predicted),
            swapped: Some(prompt(predicted, gold)),
            accept: vec!["(?i)yes|no".to_owned()],
            replies_max: REPLIES_MAX,
        }
    }

    fn prompt(&self, parameter: &str, one: &str, other: &str) -> String {
        let (name, block, time) = (self.name, self.block.unwrap_or_default(), self.time.unwrap_or_default());
        format!(
            "Two people called the same tool and each filled in one of its parameters. Judge whether their two inputs mean the \
             same thing for this parameter, so that the tool would do the same with either. Spelling, word order, formats \
             of dates and times, abbreviations and other names of one thing do not matter; another place, person, number, \
             moment or thing does.\n\n\
             Tool: {name}\n\
             Its description:\n{block}\n\n\
             {time}\n\n\
             Parameter: {parameter}\n\
             Input A: {one}\n\
             Input B: {other}{ASK}"
        )
    }
}

/// Parses the two inputs of a question's prompt; `None` for any other text.
pub(crate) fn inputs_in(prompt: &str) -> Option<(&str, &str)> {
    let (inputs, _) = prompt.rsplit_once(ASK)?;
    let (_, inputs) = inputs.split_once("\nInput A: ")?;
    inputs.split_once("\nInput B: ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_and_spaces_do_not_count_and_the_gold_may_be_a_part() {
        for (gold, predicted) in [("a b", " a-b"), ("Pw1!", "pw Pw1."), ("-", "anything"), ("", ""), ("\tx\n", "x")] {
            assert!(alike(gold, predicted), "{gold:?} {predicted:?}");
        }
        for (gold, predicted) in [("ab", "a"), ("a", "A"), ("a\\b", "ab"), ("a b", "a\tb"), ("a，b", "ab"), ("x", "")]
        {
            assert!(!alike(gold, predicted), "{gold:?} {predicted:?}");
        }
    }

    #[test]
    fn a_no_anywhere_refuses_and_an_undecided_judge_agrees_officially() {
        let read = |reply| (official_agrees(reply), paper_agrees(reply));
        assert_eq!(read("Yes."), (true, true));
        assert_eq!(read("NO"), (false, false));
        assert_eq!(read("yes, no doubt"), (false, false));
        assert_eq!(read("unknown"), (false, false));
        assert_eq!(read("maybe"), (true, false));
        assert_eq!(read(""), (true, false));
    }

    const PROMPT: &str =
        "Workflow\nAPI: alpha\nfirst\n\nAPI: beta\nsecond\n\n\nPlease note that the current time is:now\nbye";

    #[test]
    fn a_tool_is_found_by_the_beginning_of_its_name() {
        let block = |name| Tool::find(PROMPT, name).block;
        assert_eq!(block("alph"), Some("API: alpha\nfirst"));
        assert_eq!(block(""), Some("API: alpha\nfirst"));
        assert_eq!(block("beta"), Some("API: beta\nsecond"));
        assert_eq!((block("Beta"), block("alpha ")), (None, None));
        assert_eq!(Tool::find("API: alpha\nno blank line", "alpha").block, None);
    }

    #[test]
    fn the_question_tells_everything_and_is_named_by_the_texts() {
        let Question::Judgement { kind, about, prompt, accept, replies_max, .. } =
            Tool::find(PROMPT, "beta").question(None, "when", " a\u{3000}", "B!")
        else {
            panic!("no judgement")
        };
        assert_eq!((kind.as_str(), about), ("fuzzy", ["beta", "when", "a", "B!"].map(str::to_owned).to_vec()));
        assert_eq!((accept, replies_max), (vec!["(?i)yes|no".to_owned()], 10));
        insta::assert_snapshot!(prompt);
    }

    #[test]
    fn the_other_order_is_the_same_question_with_the_inputs_swapped() {
        let question = Tool::find(PROMPT, "beta").question(None, "when", "a", "B!");
        let Some(Question::Judgement { about, prompt, .. }) = question.in_other_order() else {
            panic!("no comparison")
        };
        assert_eq!(inputs_in(&prompt), Some(("B!", "a")));
        assert_eq!(about, ["beta", "when", "a", "B!"].map(str::to_owned).to_vec());
        let Question::Judgement { prompt: first, .. } = question else { panic!("no judgement") };
        assert_eq!(inputs_in(&first), Some(("a", "B!")));
        assert_eq!(first.replace("A: a\nInput B: B!", "A: B!\nInput B: a"), prompt);
    }

    #[test]
    fn what_the_prompt_lacks_is_left_empty() {
        let tool = Tool::find("nothing", "beta");
        assert!(tool.block.is_none() && tool.time.is_none());
        assert!(
            matches!(tool.question(None, "p", "a", "b"), Question::Judgement { prompt, .. } if !prompt.contains("nothing"))
        );
    }
}
