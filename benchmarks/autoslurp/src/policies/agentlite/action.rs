//! Actions of agents, as the framework reads them from a model's text.

use regatta_pycompat::yaml::Value;
use regatta_pycompat::{is_word, literal, strip};

/// A step: the name of an action or of an agent, and what it is called with.
#[derive(Debug, Clone)]
pub(super) struct Action {
    pub(super) name: String,
    pub(super) params: Value,
}

/// It is no step, and the framework raises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unreadable {
    /// Text that the framework prints before it raises, if it prints any.
    pub(super) printed: Option<String>,
}

/// Reads `Name[literal]` from the first line of what a model wrote.
///
/// Nothing but blanks, dots and colons may stand around it. When something does, the framework looks once more for a name with brackets, but then
/// evaluates twice, which only a text with a literal in it survives.
pub(super) fn parse(written: &str) -> Result<Action, Unreadable> {
    // The model was told to stop at the end of the line; whoever did not is stopped here, before anything is trimmed.
    let line = written.split('\n').next().unwrap_or_default();
    let line = line.trim_matches(' ').trim_matches('.').trim_matches(':');
    let silent = Unreadable { printed: None };
    if let Some((name, inside)) = bracketed(line).filter(|(_, inside)| !inside.is_empty())
        && let Some(inside) = inside.strip_suffix(']').filter(|inside| !inside.is_empty())
    {
        return read(strip(inside)).map(|params| Action { name: name.to_owned(), params }).ok_or(silent);
    }
    let complaint = || Unreadable { printed: Some(format!("unable to parse string: {line}")) };
    let loose = line.trim_matches(' ').trim_matches('.');
    let (name, inside) = bracketed(loose).ok_or_else(complaint)?;
    let inside = inside.rsplit_once(']').map(|(inside, _)| inside).filter(|inside| !inside.is_empty());
    let once = inside.and_then(read).ok_or_else(complaint)?;
    let twice = once.as_str().and_then(read).ok_or(silent)?;
    Ok(Action { name: name.to_owned(), params: twice })
}

/// The word that `line` begins with, and what stands behind the bracket that follows it.
fn bracketed(line: &str) -> Option<(&str, &str)> {
    let end = line.find(|c| !is_word(c)).filter(|end| *end > 0)?;
    let (name, rest) = line.split_at_checked(end)?;
    Some((name, rest.strip_prefix('[')?))
}

fn read(text: &str) -> Option<Value> {
    literal(text)
}

#[cfg(test)]
mod tests {
    use regatta_pycompat::repr;

    use super::*;

    fn read(written: &str) -> Option<(String, String)> {
        parse(written).ok().map(|action| (action.name, repr(&action.params)))
    }

    #[test]
    fn a_name_with_a_literal_is_a_step() {
        let finish = Some(("Finish".to_owned(), "{'response': 'a [b]'}".to_owned()));
        for written in [
            "Finish[{\"response\": \"a [b]\"}]",
            " Finish[{'response': 'a [b]'}] ",
            "Finish[{'response': 'a [b]'}].",
            ":Finish[ {'response': 'a [b]'} ]:",
            "Finish[{'response': 'a [b]'}]\nObservation: what the model makes up",
            "Finish[{'response': 'a [b]'}].\nmore",
        ] {
            assert_eq!(read(written), finish, "{written}");
        }
        assert_eq!(read("Think[[1]]"), Some(("Think".to_owned(), "[1]".to_owned())));
    }

    #[test]
    fn what_is_no_literal_ends_the_run_silently_when_the_brackets_are_right() {
        for written in ["Finish[{'response': true}]", "Finish[response]", "Finish[f()]", "Finish[ ]"] {
            assert_eq!(parse(written).err(), Some(Unreadable { printed: None }), "{written}");
        }
    }

    #[test]
    fn what_has_no_brackets_is_printed() {
        for written in [
            "",
            "I am done",
            "Finish",
            "Finish[",
            "Finish[]",
            "Action:Finish[{'response': 1}]",
            "[{}]",
            "Finish[{'a' 1}] x",
        ] {
            let printed = Some(format!("unable to parse string: {written}"));
            assert_eq!(parse(written).err(), Some(Unreadable { printed }), "{written}");
        }
        assert!(parse("\nFinish[{'response': 1}]").is_err());
    }

    #[test]
    fn what_stands_behind_the_brackets_is_forgiven_only_when_a_literal_is_inside_a_text() {
        assert_eq!(parse("Finish[{'response': 1}] and so on").err(), Some(Unreadable { printed: None }));
        assert_eq!(
            read("Finish[\"{'response': 1}\"] and so on"),
            Some(("Finish".to_owned(), "{'response': 1}".to_owned()))
        );
    }
}
