//! Two texts beside each other, with the parts that only one of them has marked.

use std::time::Duration;

use maud::{Markup, html};
use similar::{Algorithm, ChangeTag, TextDiff};

/// Length in bytes above which texts are compared by line instead of by word.
const WORDS_MAX: usize = 16_384;
/// Length in bytes above which texts are not compared.
const BYTES_MAX: usize = 262_144;
/// Time after which the rest of both texts counts as different.
const TIME_MAX: Duration = Duration::from_millis(300);

/// Least similarity, 0 to 1, at which differences are marked. Below it, nearly all of the text would be marked.
const ALIKE_MIN: f32 = 0.3;

/// `answer` and `gold`, each with the parts that the other lacks marked; `None` if they are too long to be compared, or have nearly nothing
/// in common.
pub(crate) fn marked(answer: &str, gold: &str) -> Option<(Markup, Markup)> {
    let bytes = answer.len() + gold.len();
    if bytes > BYTES_MAX {
        return None;
    }
    let mut config = TextDiff::configure();
    config.algorithm(Algorithm::Patience).timeout(TIME_MAX);
    let diff = if bytes > WORDS_MAX { config.diff_lines(gold, answer) } else { config.diff_words(gold, answer) };
    if diff.ratio() < ALIKE_MIN {
        return None;
    }
    let side = |kept: ChangeTag| {
        html! {
            pre dir="auto" {
                @for change in diff.iter_all_changes() {
                    @if change.tag() == ChangeTag::Equal { (change.value()) }
                    @else if change.tag() == kept && kept == ChangeTag::Insert { ins { (change.value()) } }
                    @else if change.tag() == kept { del { (change.value()) } }
                }
            }
        }
    };
    Some((side(ChangeTag::Insert), side(ChangeTag::Delete)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_side_marks_what_the_other_lacks() {
        let (answer, gold) = marked("go to <b> fast", "go to <b> now fast").unwrap();
        assert_eq!(answer.into_string(), "<pre dir=\"auto\">go to &lt;b&gt; fast</pre>");
        let gold = gold.into_string();
        assert!(gold.starts_with("<pre dir=\"auto\">go to &lt;b&gt;") && gold.contains("<del>now</del>"), "{gold}");
        assert!(marked(&"x".repeat(BYTES_MAX), "y").is_none());
    }

    proptest! {
        #[test]
        fn each_side_is_its_text(answer in "[a-c \n]{0,40}", gold in "[a-c \n]{0,40}") {
            let Some((of_answer, of_gold)) = marked(&answer, &gold) else { return Ok(()) };
            let plain = |markup: Markup| markup.into_string().replace("<pre dir=\"auto\">", "").replace("</pre>", "")
                .replace("<ins>", "").replace("</ins>", "").replace("<del>", "").replace("</del>", "");
            prop_assert_eq!(plain(of_answer), answer);
            prop_assert_eq!(plain(of_gold), gold);
        }
    }
}
