//! `stat.py`: words are searched in what was printed, and items counted (docs/benchmarks/autoslurp.md §5.2).

use std::collections::BTreeMap;

use regatta_pycompat::lower;

use super::log::split_line;
use super::message::NAME;

/// Beginning of the line between two items.
const SEPARATOR: &str = "-----**";
/// Divisor of the number of right items, however many items there are.
pub(crate) const DIVISOR: u32 = 100;

/// Words that are searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// `wrong` and `right`.
    Plain,
    /// `<wrong>` and `<right>`.
    Bracketed,
}

/// Statement of a printed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Said {
    /// Something is wrong.
    Wrong,
    /// It is right.
    Right,
    /// Nothing, as it should.
    Nothing,
    /// Nothing that is understood: `error` is printed.
    Unparsable,
}

impl Said {
    /// Name under which the golden files count it.
    pub(super) const fn counts(self) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::Right => "right",
            Self::Nothing | Self::Unparsable => "none",
        }
    }
}

/// Statement of a line that holds a message: the whole line is searched, in lower case, for the words for wrong first.
pub(super) fn said(words: Words, line: &str) -> Said {
    let line = lower(line);
    let (wrong, right) = match words {
        Words::Plain => ("wrong", "right"),
        Words::Bracketed => ("<wrong>", "<right>"),
    };
    let has = |word: &str| line.contains(word);
    if has(wrong) || has("incorrect") || has("not completed") {
        Said::Wrong
    } else if has(right) || has("correct") {
        Said::Right
    } else if has("content=''") {
        Said::Nothing
    } else {
        Said::Unparsable
    }
}

/// Statement of a line of `eval.log`; `None` if it holds no message.
pub(super) fn said_by_line(words: Words, line: &str) -> Option<Said> {
    line.starts_with(NAME).then(|| said(words, line))
}

/// Verdict of all messages of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// At least one says wrong.
    Wrong,
    /// None does, and at least one says right.
    Right,
    /// Neither.
    Error,
}

impl Verdict {
    /// From everything that was said.
    pub(super) fn of(said: impl IntoIterator<Item = Said>) -> Self {
        let verdicts = said.into_iter().map(|said| match said {
            Said::Wrong => Self::Wrong,
            Said::Right => Self::Right,
            Said::Nothing | Said::Unparsable => Self::Error,
        });
        verdicts.min().unwrap_or(Self::Error)
    }

    /// As in the golden files.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::Right => "right",
            Self::Error => "error",
        }
    }

    /// Name under which it is counted: an item without a verdict is in no count, except that the last of a file is right.
    pub(super) const fn counted_as(self, is_last: bool) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::Right => "right",
            Self::Error if is_last => "right",
            Self::Error => "none",
        }
    }
}

/// Numbers that `stat.py` prints at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// Items that are right.
    pub(super) right: u32,
    /// Items that are wrong.
    pub(super) wrong: u32,
    /// Number of times that `error` was printed.
    pub(super) error_lines: u32,
    /// Items by their own verdict.
    pub(super) verdicts: BTreeMap<Verdict, u32>,
}

impl Counts {
    /// Counts the items of a file: the verdict of each, and how many of its messages were not understood.
    pub(super) fn of_items(first_separator_is_an_error: bool, items: &[(Verdict, u32)]) -> Self {
        let mut counts = Self::default();
        if first_separator_is_an_error && !items.is_empty() {
            counts.error_lines += 1;
        }
        for (at, (verdict, unparsable)) in items.iter().enumerate() {
            counts.error_lines += unparsable;
            *counts.verdicts.entry(*verdict).or_default() += 1;
            counts.close(*verdict, at + 1 == items.len());
        }
        if items.is_empty() {
            counts.close(Verdict::Error, true);
        }
        counts
    }

    /// Reads a whole `eval.log`. Copies that say nothing at the first separator are not meant.
    pub(super) fn of_log(words: Words, log: &str) -> Self {
        let mut counts = Self::default();
        let mut item: Vec<Said> = Vec::new();
        let mut rest = log;
        while !rest.is_empty() {
            let (line, _, after) = split_line(rest);
            rest = after;
            if line.starts_with(SEPARATOR) {
                counts.close(Verdict::of(item.drain(..)), false);
            }
            if let Some(said) = said_by_line(words, line) {
                counts.error_lines += u32::from(said == Said::Unparsable);
                item.push(said);
            }
        }
        counts.close(Verdict::of(item), true);
        counts
    }

    fn close(&mut self, verdict: Verdict, is_last: bool) {
        match verdict.counted_as(is_last) {
            "wrong" => self.wrong += 1,
            "right" => self.right += 1,
            _ => self.error_lines += 1,
        }
    }

    /// The accuracy: over a hundred items, however many there are.
    pub(super) fn accuracy(&self) -> f64 {
        f64::from(self.right) / f64::from(DIVISOR)
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::printed;
    use super::*;

    fn says(words: Words, content: &str) -> Said {
        said(words, &printed(Some(content), None))
    }

    #[test]
    fn words_within_words_count() {
        for text in
            ["not right", "alright", "so bright", "copyright", "the task is not complete, right?", "not correct"]
        {
            assert_eq!(says(Words::Plain, text), Said::Right, "{text}");
        }
        for text in ["right or wrong", "nothing is wrong", "INCORRECT", "Not Completed"] {
            assert_eq!(says(Words::Plain, text), Said::Wrong, "{text}");
        }
    }

    #[test]
    fn a_newline_before_ot_completed_is_read_as_not_completed() {
        assert_eq!(says(Words::Plain, "\\not completed"), Said::Wrong);
        assert_eq!(says(Words::Plain, "\not completed"), Said::Wrong);
    }

    #[test]
    fn brackets_are_needed_but_for_correct() {
        let said = |text| says(Words::Bracketed, text);
        assert_eq!(["Right", "Wrong", "[Right]"].map(said), [Said::Unparsable; 3]);
        assert_eq!(["<RIGHT>", "correct"].map(said), [Said::Right; 2]);
        assert_eq!(["<Wrong>", "incorrect <right>", "not completed"].map(said), [Said::Wrong; 3]);
    }

    #[test]
    fn an_empty_message_is_passed_over_and_a_refusal_is_searched() {
        assert_eq!(says(Words::Plain, ""), Said::Nothing);
        assert_eq!(said(Words::Plain, &printed(None, Some("I can't say what is right"))), Said::Right);
        assert_eq!(said(Words::Plain, &printed(None, None)), Said::Unparsable);
    }

    #[test]
    fn only_lines_that_begin_with_the_class_hold_messages() {
        for line in [" ChatCompletionMessage(content='wrong')", "chatcompletionmessage(content='wrong')", "wrong"] {
            assert_eq!(said_by_line(Words::Plain, line), None, "{line}");
        }
        assert_eq!(said_by_line(Words::Plain, "ChatCompletionMessageX wrong"), Some(Said::Wrong));
    }

    #[test]
    fn the_last_item_without_a_verdict_is_right() {
        let items = [(Verdict::Error, 1), (Verdict::Wrong, 0), (Verdict::Error, 2)];
        let counts = Counts::of_items(true, &items);
        assert_eq!((counts.right, counts.wrong, counts.error_lines), (1, 1, 5));
        assert_eq!(Counts::of_items(false, &items).error_lines, 4);
    }

    #[test]
    fn an_empty_log_has_one_right_item() {
        let counts = Counts::of_log(Words::Plain, "");
        assert_eq!((counts.right, counts.wrong, counts.error_lines), (1, 0, 0));
        assert!((counts.accuracy() - 0.01).abs() < f64::EPSILON);
        assert_eq!(Counts::of_items(true, &[]).right, 1);
    }

    #[test]
    fn a_log_is_read_as_the_items_that_it_was_printed_for() {
        let messages = [Some("right"), Some("hm"), Some(""), Some("wrong")];
        let log: String = messages.iter().map(|m| format!("-----*****------\r\n7\r{}\n", printed(*m, None))).collect();
        let items = [(Verdict::Right, 0), (Verdict::Error, 1), (Verdict::Error, 0), (Verdict::Wrong, 0)];
        let counts = Counts::of_log(Words::Plain, &log);
        assert_eq!(Counts { verdicts: BTreeMap::new(), ..Counts::of_items(true, &items) }, counts);
        assert_eq!((counts.right, counts.wrong, counts.error_lines), (1, 1, 4));
    }
}
