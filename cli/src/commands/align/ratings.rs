//! Ratings of people from the annotations of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context;
use regatta_proto::counted;
use regatta_viewer::annotations::{self, Annotation, Annotations, Mark, SessionName};
use serde_json::json;

use crate::exit::{BadConfiguration, bad_configuration};
use crate::output;

/// Ratings in the lines of a file of ratings.
pub(super) struct Ratings {
    /// The file that they come from.
    pub(super) file: PathBuf,
    pub(super) content: String,
}

/// The part of an annotation that is compared with the judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The number that a person gave.
    Ratings,
    /// 1 for right, 0 for wrong.
    Marks,
}

impl Kind {
    fn number(self, annotation: &Annotation) -> Option<f64> {
        match (self, annotation.mark) {
            (Self::Ratings, _) => annotation.rating,
            (Self::Marks, Some(Mark::Right)) => Some(1.0),
            (Self::Marks, Some(Mark::Wrong)) => Some(0.0),
            (Self::Marks, Some(Mark::Unsure) | None) => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Ratings => "ratings",
            Self::Marks => "marks",
        }
    }

    /// Advice where annotations have nothing of this kind.
    const fn advice(self) -> &'static str {
        match self {
            Self::Ratings => {
                "give ratings in `regatta view`, name a file with --ratings, or compare marks with --marks --score success"
            }
            Self::Marks => "mark sessions right or wrong in `regatta view`",
        }
    }
}

/// The ratings of `kind` that people gave to the sessions that are `judged`, from the annotations of the run in `directory`.
///
/// # Errors
/// When the annotations cannot be read to the last line, or have none of the kind about such a session.
pub(super) fn of_annotations(directory: &Path, judged: &BTreeSet<SessionName>, kind: Kind) -> anyhow::Result<Ratings> {
    let file = directory.join(annotations::FILE_NAME);
    let shown = file.display().to_string();
    let annotations =
        annotations::read(&file).with_context(|| format!("failed to read {shown}")).map_err(bad_configuration)?;
    // An estimate from the lines that happen to be readable would be of another sample.
    if let Some(first) = annotations.unreadable.first() {
        let problem =
            format!("failed to read {shown}, line {}: {}; correct the line, or remove it", first.line, first.why);
        return Err(BadConfiguration(problem).into());
    }
    let Taken { content, people, sessions, unjudged } = taken(&annotations, judged, kind);
    let many = kind.name();
    if sessions == 0 {
        return Err(BadConfiguration(format!(
            "{shown} has no {many} of sessions that the judge scored; {}",
            kind.advice()
        ))
        .into());
    }
    output::note(&format!(
        "{many} are those of {shown}: {} by {}",
        counted(sessions, "session", "sessions"),
        people.iter().copied().collect::<Vec<_>>().join(", ")
    ));
    if unjudged > 0 {
        output::note(&format!("{} without this score of the judge left out", counted(unjudged, "session", "sessions")));
    }
    Ok(Ratings { file, content })
}

/// Ratings that were found.
#[derive(Debug, PartialEq, Eq)]
struct Taken<'a> {
    /// A line for each session, under the number of the last annotation that it is made of, so that errors name that line.
    content: String,
    people: BTreeSet<&'a str>,
    sessions: u64,
    /// Sessions with ratings of which the judge gave no score.
    unjudged: u64,
}

fn taken<'a>(annotations: &'a Annotations, judged: &BTreeSet<SessionName>, kind: Kind) -> Taken<'a> {
    let mut lines: BTreeMap<usize, String> = BTreeMap::new();
    let (mut names, mut unjudged) = (BTreeSet::new(), 0);
    for (session, people) in annotations.latest() {
        let numbers: BTreeMap<&str, f64> =
            people.iter().filter_map(|(by, (_, annotation))| Some((by.as_str(), kind.number(annotation)?))).collect();
        let Some(line) = people.values().map(|(line, _)| *line).max().filter(|_| !numbers.is_empty()) else { continue };
        if !judged.contains(session) {
            unjudged += 1;
            continue;
        }
        names.extend(numbers.keys().copied());
        let SessionName { setting, model, trial, item, .. } = session;
        let rated = json!({ "setting": setting, "model": model, "trial": trial, "item": item, "ratings": numbers });
        lines.insert(line, rated.to_string());
    }
    let sessions = lines.len() as u64;
    let last = lines.last_key_value().map_or(0, |(line, _)| *line);
    let content: Vec<String> = (1..=last).map(|line| lines.remove(&line).unwrap_or_default()).collect();
    Taken { content: content.join("\n"), people: names, sessions, unjudged }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(item: &str) -> SessionName {
        SessionName {
            benchmark: "flowbench".parse().unwrap(),
            setting: "session/cross/text".parse().unwrap(),
            model: "sim/m".parse().unwrap(),
            trial: 0,
            item: item.parse().unwrap(),
        }
    }

    fn line(item: &str, by: &str, rest: &str) -> String {
        format!(
            r#"{{"by":"{by}","benchmark":"flowbench","setting":"session/cross/text","model":"sim/m","item":"{item}"{rest}}}"#
        )
    }

    #[test]
    fn each_session_is_one_line_with_the_last_word_of_everybody() {
        let text = [
            line("a", "ann", r#","rating":0.25"#),
            line("b", "ann", r#","mark":"right""#),
            line("a", "bob", r#","rating":1,"mark":"wrong""#),
            line("a", "ann", r#","rating":0.5"#),
            line("c", "bob", r#","rating":0.75"#),
            line("z", "bob", r#","rating":0"#),
        ];
        let all = Annotations::parse(text.join("\n").as_bytes());
        let judged = BTreeSet::from(["a", "b", "c"].map(session));
        let rated = taken(&all, &judged, Kind::Ratings);
        let of = |item: &str, ratings: serde_json::Value| serde_json::json!({ "setting": "session/cross/text", "model": "sim/m", "trial": 0, "item": item, "ratings": ratings });
        // A session's line is where its last word was: the numbers of lines in errors are those of the file.
        let lines = |content: &str| -> Vec<serde_json::Value> {
            content.lines().map(|line| serde_json::from_str(line).unwrap_or_default()).collect()
        };
        let none = serde_json::Value::Null;
        let (of_a, of_c) =
            (of("a", serde_json::json!({ "ann": 0.5, "bob": 1.0 })), of("c", serde_json::json!({ "bob": 0.75 })));
        assert_eq!(lines(&rated.content), [none.clone(), none.clone(), none.clone(), of_a, of_c]);
        assert_eq!((rated.sessions, rated.unjudged, rated.people), (2, 1, BTreeSet::from(["ann", "bob"])));
        let marked = taken(&all, &judged, Kind::Marks);
        let (of_b, of_a) = (of("b", serde_json::json!({ "ann": 1.0 })), of("a", serde_json::json!({ "bob": 0.0 })));
        assert_eq!(lines(&marked.content), [none.clone(), of_b, none, of_a]);
    }

    #[test]
    fn nothing_to_compare_and_a_line_that_cannot_be_read_are_errors_that_say_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let said =
            |kind| of_annotations(folder.path(), &BTreeSet::from([session("a")]), kind).err().unwrap().to_string();
        let problem = said(Kind::Ratings);
        assert!(
            problem.contains("has no ratings of sessions") && problem.contains("--marks --score success"),
            "{problem}"
        );
        std::fs::write(folder.path().join("annotations.jsonl"), format!("{}\n{{\"by\"", line("a", "ann", ""))).unwrap();
        let problem = said(Kind::Marks);
        assert!(problem.contains("annotations.jsonl, line 2: EOF") && problem.contains("or remove it"), "{problem}");
    }
}
