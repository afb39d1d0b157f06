//! Annotations on the page of a session: the form, what people said before, and the ways to sessions that are not annotated yet.

use std::sync::Arc;

use maud::{Markup, html};

use super::group;
use super::items::wanted::Wanted;
use super::located::Located;
use crate::annotations::text::NOTE_CHARS_MAX;
use crate::annotations::{Annotation, Annotations, Annotator, Mark, Note};
use crate::conversation::Words;
use crate::page::scrolled;
use crate::problem::Problem;
use crate::searching::{STEP_TIME_MAX, search};
use crate::selection::{self, Annotated, Place, is_done};
use crate::source::{AnnotatedRun, AnnotationPlace, ReadAnnotations, Run};
use crate::{Viewer, address, numbers};

/// Value of the button that leads on.
pub(super) const NEXT: &str = "next";

/// Earlier annotations of a session that are shown, the newest first.
const SHOWN: usize = 50;
/// Lines that cannot be read of which a page tells.
const UNREADABLE_SHOWN: usize = 5;

/// Direction of a step through a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Toward {
    Previous,
    Next,
}

/// Steps from a session to those of the selection that are not annotated yet.
pub(super) struct Steps {
    places: Arc<[Place]>,
    /// Position in `places` of those that a step may lead to, ascending.
    open: Vec<usize>,
    /// Position of the session, or of the first one after it.
    here: usize,
    is_selected: bool,
    words: Option<Words>,
}

impl Steps {
    /// The steps from the session at `located`, within what is `wanted`, for `me`; `None` in a list of too many sessions to be looked through.
    pub(super) async fn of(
        viewer: &Viewer,
        located: &Located,
        wanted: &Wanted,
        annotations: &Annotations,
        me: Option<&Annotator>,
    ) -> Result<Option<Self>, Problem> {
        let Located { run, sweep, cell, item } = located;
        let group = group::chosen(sweep, cell.benchmark.as_str(), cell.setting.as_str())?;
        let value = group::value_of(&group.values(sweep), wanted.value());
        let query = wanted.query(&group, value)?;
        let Some(places) = selection::sessions(viewer, run, sweep, &query, wanted.sample()?).await? else {
            return Ok(None);
        };
        let marks = selection::annotated(sweep, &group, annotations);
        let filter = wanted.annotated()?;
        let is_open = |place: &Place| {
            let people = marks.get(place);
            !is_done(people, me) && filter.is_none_or(|filter| filter.lets_through(people, me))
        };
        let here = (*item, cell.index);
        let at = places.iter().position(|place| *place == here);
        let open = places.iter().enumerate().filter(|(_, place)| **place != here && is_open(place));
        let open = open.map(|(at, _)| at).collect();
        Ok(Some(Self { here: at.unwrap_or(0), is_selected: at.is_some(), words: wanted.said()?, places, open }))
    }

    /// The nearest session in this direction; `None` if there is none, or a search for words finds none within its bounds.
    pub(super) async fn toward(&self, run: &Run, toward: Toward) -> Result<Option<Place>, Problem> {
        let ahead: Vec<Place> = match toward {
            Toward::Next => self.open.iter().filter(|at| **at >= self.here).map(|at| self.places[*at]).collect(),
            Toward::Previous => {
                self.open.iter().rev().filter(|at| **at < self.here).map(|at| self.places[*at]).collect()
            }
        };
        match &self.words {
            None => Ok(ahead.first().copied()),
            Some(words) => Ok(search(run, words, &ahead, 1, STEP_TIME_MAX).await?.found.first().copied()),
        }
    }
}

/// The section of the page of a session; nothing where annotations are not shown.
pub(super) async fn section(viewer: &Viewer, located: &Located, wanted: &Wanted) -> Result<Markup, Problem> {
    let Some(annotated) = &located.run.annotated else { return Ok(html! {}) };
    let read = annotated.read().await?;
    let steps = Steps::of(viewer, located, wanted, &read.all, annotated.by.as_ref()).await?;
    let (previous, next) = match &steps {
        Some(steps) => {
            let previous = steps.toward(&located.run, Toward::Previous).await?;
            (previous, steps.toward(&located.run, Toward::Next).await?)
        }
        None => (None, None),
    };
    let session = selection::name(&located.sweep, (located.item, located.cell.index));
    let said: Vec<&Annotation> =
        read.all.lines.iter().map(|(_, of)| of).filter(|of| Some(&of.session) == session.as_ref()).collect();
    let mine = annotated.by.as_ref().and_then(|me| said.iter().rev().find(|of| of.by == *me)).copied();
    Ok(html! {
        section #annotation {
            h2 { "Annotation" }
            div #annotation-parts data-part {
                (problems(annotated, &read))
                nav.pager aria-label="Sessions that are not annotated" {
                    @if let Some(previous) = previous { a rel="prev" href=(step(located, wanted, previous)) { "← previous unannotated" } }
                    a href={ (address::run(&located.run.name)) "/items" (wanted.list_of(&located.cell)) } { "the list" }
                    @if let Some(next) = next { a rel="next" href=(step(located, wanted, next)) { "next unannotated →" } }
                }
                (standing(steps.as_ref(), annotated.by.as_ref()))
                @match &annotated.by {
                    Some(by) => { (form(located, wanted, by, mine)) }
                    None => {
                        @match &annotated.place {
                            AnnotationPlace::File(_) => { p.hint { "Start the viewer with " code { "--as NAME" } " to annotate." } }
                            AnnotationPlace::Sweep(..) => { p.hint { "Sessions are annotated with a token, or a certificate, that may submit." } }
                        }
                    }
                }
                (history(&said))
            }
            p #annotation-state role="status" {}
        }
    })
}

fn step(located: &Located, wanted: &Wanted, (item, cell): Place) -> String {
    format!("{}{}", address::session(&located.run.name, cell, item), wanted.context())
}

/// The number of sessions that are left to annotate.
fn standing(steps: Option<&Steps>, me: Option<&Annotator>) -> Markup {
    let Some(steps) = steps else {
        let reason = selection::more_than_are_looked_through();
        return html! { p.hint { "No way leads from here to the next one: " (reason) ". Choose fewer in the list." } };
    };
    let by = me.map(|me| format!(" by {}", me.as_str())).unwrap_or_default();
    html! {
        p.hint {
            (numbers::counted(steps.open.len() as u64, "other session", "other sessions")) " of "
            (numbers::count(steps.places.len() as u64)) " in the list not annotated" (by)
            @if steps.words.is_some() { ", before what was said is looked into; each way is searched for " (STEP_TIME_MAX.as_secs()) " s, and the list as far as you like" }
            @if !steps.is_selected { "; this session is not in the list" }
        }
    }
}

fn form(located: &Located, wanted: &Wanted, by: &Annotator, mine: Option<&Annotation>) -> Markup {
    let address = address::session(&located.run.name, located.cell.index, located.item);
    let chosen = mine.and_then(|mine| mine.mark);
    let marks = Mark::ALL.map(Some).into_iter().chain([None]);
    html! {
        form.annotate method="post" action={ (address) "/annotate" (wanted.context()) } data-in-place="annotation-state" autocomplete="off" {
            fieldset {
                legend { "The session is, says " (by.as_str()) }
                @for mark in marks {
                    label {
                        input type="radio" name="mark" value=(mark.map_or("", Mark::as_str)) checked[mark == chosen];
                        " " (mark.map_or("not marked", Mark::as_str))
                    }
                }
            }
            @if let Some(rated) = located.rated_score() {
                label {
                    span { "Rating of " (rated.name) ", from " (rated.range.0) " to " (rated.range.1) ": " (rated.meaning) }
                    input type="text" inputmode="decimal" size="6" name="rating" value=[mine.and_then(|mine| mine.rating)];
                }
            }
            label {
                span { "Note" }
                textarea name="note" rows="3" maxlength=(NOTE_CHARS_MAX) dir="auto" { (mine.and_then(|mine| mine.note.as_ref()).map_or("", Note::as_str)) }
            }
            p.buttons {
                button type="submit" { "Save" }
                " "
                button type="submit" name="then" value=(NEXT) { "Save and go to the next" }
            }
        }
    }
}

fn history(said: &[&Annotation]) -> Markup {
    html! {
        @if !said.is_empty() {
            h3 { "Said so far" }
            (scrolled("Annotations", html! {
                table.said {
                    thead { tr { th scope="col" { "By" } th scope="col" { "At" } th scope="col" { "Mark" } th.number scope="col" { "Rating" } th scope="col" { "Note" } } }
                    tbody {
                        @for annotation in said.iter().rev().take(SHOWN) {
                            tr {
                                th scope="row" { (annotation.by.as_str()) }
                                td { (annotation.at.map_or_else(|| numbers::NOTHING.to_owned(), numbers::moment)) }
                                td {
                                    @if annotation.is_empty() { "taken back" }
                                    @else if let Some(mark) = annotation.mark { (sign(mark)) " " (mark.as_str()) }
                                    @else { (numbers::NOTHING) }
                                }
                                td.number { (numbers::maybe(annotation.rating)) }
                                td.note dir="auto" { (annotation.note.as_ref().map_or("", Note::as_str)) }
                            }
                        }
                    }
                }
            }))
            @if said.len() > SHOWN { p.hint { (said.len() - SHOWN) " older ones are in the file" } }
        }
    }
}

/// The sign of a mark, for the eye alone where its word stands beside it.
fn sign(mark: Mark) -> Markup {
    html! { span aria-hidden="true" { (mark.sign()) } }
}

/// Tells of a file, or of lines in it, that cannot be read.
pub(super) fn problems(annotated: &AnnotatedRun, read: &ReadAnnotations) -> Markup {
    let unreadable = &read.all.unreadable;
    html! {
        @if let Some(problem) = &read.problem { p.notice { "Annotations are not shown: " (problem) } }
        @if !unreadable.is_empty() {
            div.notice {
                p {
                    (numbers::counted(unreadable.len() as u64, "line", "lines")) " of " (annotated.place)
                    " cannot be read, and stay as they are:"
                }
                ul {
                    @for of in unreadable.iter().take(UNREADABLE_SHOWN) { li { "line " (of.line) ": " (of.why) } }
                    @if unreadable.len() > UNREADABLE_SHOWN { li { "…" } }
                }
            }
        }
    }
}

/// The filters by annotations, as options of a form.
pub(super) fn options() -> Vec<(String, String)> {
    let words = |filter: Annotated| match filter {
        Annotated::With(mark) => mark.as_str().to_owned(),
        Annotated::ByAnyone => "by anyone".to_owned(),
        Annotated::Not => "not".to_owned(),
        Annotated::NotByMe => "not by me".to_owned(),
    };
    let all = Annotated::ALL.into_iter().map(|filter| (filter.as_str().to_owned(), words(filter)));
    std::iter::once((String::new(), "or not".to_owned())).chain(all).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// One element a line, so that a difference is one.
    fn lines(markup: Markup) -> String {
        markup.into_string().replace("><", ">\n<")
    }

    #[test]
    fn what_was_said_is_shown_newest_first_and_as_text() {
        let session = r#""benchmark":"b","setting":"s","model":"e/m","item":"i""#;
        let text = [
            format!(r#"{{"by":"ann",{session},"mark":"wrong","at":"2026-11-27T15:44:10.5Z"}}"#),
            format!(r#"{{"by":"bob <b>",{session},"rating":0.25,"note":"=1+1\n<script>alert(1)</script>"}}"#),
            format!(r#"{{"by":"ann",{session}}}"#),
        ];
        let all = Annotations::parse(text.join("\n").as_bytes());
        let said: Vec<&Annotation> = all.lines.iter().map(|(_, annotation)| annotation).collect();
        insta::assert_snapshot!(lines(history(&said)));
    }

    #[test]
    fn in_a_list_of_too_many_sessions_none_is_counted_and_the_reason_is_told() {
        let told = lines(standing(None, None));
        assert!(
            told.contains("more than 250\u{202f}000 sessions would be looked through. Choose fewer in the list"),
            "{told}"
        );
    }

    #[test]
    fn lines_that_cannot_be_read_are_named_and_not_too_many() {
        let path = PathBuf::from("runs/mine/annotations.jsonl");
        let annotated = AnnotatedRun { place: AnnotationPlace::File(path), by: None };
        let all = Annotations::parse("{}\n".repeat(7).as_bytes());
        let read = ReadAnnotations { all, problem: Some("failed to read it: a reason".to_owned()) };
        insta::assert_snapshot!(lines(problems(&annotated, &read)));
    }
}
