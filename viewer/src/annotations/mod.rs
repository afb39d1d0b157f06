//! Annotations by people: a mark, a rating and a note on a session, in a file of the run, or, of a deployment's sweep, in objects beside its results.
//!
//! The file is JSONL, in the run's directory beside `results.jsonl`. Lines are only added, by the pages and by whoever edits it; of a
//! person's lines about a session the last one counts. Sessions are named as in `results.jsonl`, not by their positions, so that lines can
//! come from elsewhere. A line that cannot be read is reported with its number and stays where it is.

mod file;
mod line;
pub(crate) mod stored;
pub(crate) mod text;

use std::collections::BTreeMap;

pub use self::file::{FILE_NAME, append, read};
pub use self::line::{Annotation, Mark, SessionName};
pub use self::stored::FOLDER;
pub use self::text::{Annotator, Note, TextError};

/// A line that is no annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Number of the line, from 1.
    pub line: usize,
    /// The error.
    pub why: String,
}

/// The annotations of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Annotations {
    /// Annotations in the order of the file, with the numbers of their lines, from 1.
    pub lines: Vec<(usize, Annotation)>,
    /// Lines that cannot be read.
    pub unreadable: Vec<Unreadable>,
}

/// The annotation of a session that counts, by person, each with the number of its line.
pub type ByPerson<'a> = BTreeMap<&'a Annotator, (usize, &'a Annotation)>;

impl Annotations {
    /// Reads the content of a file.
    #[must_use]
    pub fn parse(content: &[u8]) -> Self {
        let mut all = Self::default();
        let lines = content.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        for (number, line) in (1..).zip(lines).filter(|(_, line)| !line.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(annotation) => all.lines.push((number, annotation)),
                Err(error) => all.unreadable.push(Unreadable { line: number, why: told(&error) }),
            }
        }
        all
    }

    /// The annotations that count, by session: the last line of each person, unless it takes the earlier ones back.
    #[must_use]
    pub fn latest(&self) -> BTreeMap<&SessionName, ByPerson<'_>> {
        let mut latest: BTreeMap<&SessionName, ByPerson<'_>> = BTreeMap::new();
        for (number, annotation) in &self.lines {
            latest.entry(&annotation.session).or_default().insert(&annotation.by, (*number, annotation));
        }
        for people in latest.values_mut() {
            people.retain(|_, (_, annotation)| !annotation.is_empty());
        }
        latest.retain(|_, people| !people.is_empty());
        latest
    }
}

/// The error without the number of the line, which is always the first of what is parsed.
fn told(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.strip_suffix(&format!(" at line 1 column {}", error.column())) {
        Some(message) => format!("{message} at column {}", error.column()),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN_1: &str = r#"{"by":"ann","benchmark":"b","setting":"s","model":"e/m","item":"i","mark":"wrong"}"#;
    const ANN_2: &str =
        r#"{"by":"ann","benchmark":"b","setting":"s","model":"e/m","item":"i","mark":"right","rating":0.5}"#;
    const BOB: &str = r#"{"by":"bob","benchmark":"b","setting":"s","model":"e/m","trial":1,"item":"i","note":"a\nb"}"#;

    #[test]
    fn the_last_line_of_a_person_and_a_session_counts() {
        let all = Annotations::parse([ANN_1, BOB, "", ANN_2].join("\r\n").as_bytes());
        assert_eq!((all.lines.len(), all.unreadable.len()), (3, 0));
        let latest = all.latest();
        let told: Vec<(u16, &str, usize, Option<Mark>)> = latest
            .iter()
            .flat_map(|(session, people)| {
                people.iter().map(|(by, (line, of))| (session.trial, by.as_str(), *line, of.mark))
            })
            .collect();
        assert_eq!(told, [(0, "ann", 4, Some(Mark::Right)), (1, "bob", 2, None)]);
    }

    #[test]
    fn an_empty_annotation_takes_the_earlier_ones_back() {
        let back = r#"{"by":"ann","benchmark":"b","setting":"s","model":"e/m","item":"i"}"#;
        assert!(Annotations::parse([ANN_2, back].join("\n").as_bytes()).latest().is_empty());
    }

    #[test]
    fn a_line_that_cannot_be_read_is_told_with_its_number_and_hides_no_other() {
        let long = format!(
            r#"{{"by":"ann","benchmark":"b","setting":"s","model":"e/m","item":"i","note":"{}"}}"#,
            "x".repeat(4001)
        );
        let escape = BOB.replace("a\\nb", "\\u001b[2J");
        let strange = BOB.replace("note", "nota");
        let text = [ANN_1, r#"{"by":"ann","be"#, &long, &escape, &strange, &BOB.replace("bob", " "), BOB].join("\n");
        let all = Annotations::parse(text.as_bytes());
        assert_eq!(all.lines.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 7]);
        let told: Vec<String> = all.unreadable.iter().map(|of| format!("{}: {}", of.line, of.why)).collect();
        let parts = [
            "2: EOF while parsing a string at column ",
            "3: a note has 4001 characters, at most 4000 are allowed",
            "4: a note has the control character '\\u{1b}'",
            "5: unknown field `nota`, expected one of",
            "6: a person's name is empty",
        ];
        assert_eq!(told.len(), parts.len(), "{told:?}");
        for (told, part) in told.iter().zip(parts) {
            assert!(told.starts_with(part), "{told}");
        }
    }

    #[test]
    fn a_line_that_is_written_is_read_as_it_was() {
        for line in [ANN_1, ANN_2, BOB] {
            let annotation: Annotation = serde_json::from_str(line).unwrap();
            let written = serde_json::to_string(&annotation).unwrap();
            assert!(!written.contains('\n'), "{written}");
            assert_eq!(serde_json::from_str::<Annotation>(&written).unwrap(), annotation);
        }
    }
}
