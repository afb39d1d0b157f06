//! Takes a person's annotation of a session, into a file of the run, or beside the results of a deployment's sweep.

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use regatta_benchmarks::RatedScore;
use serde::Deserialize;

use super::annotations::{NEXT, Steps, Toward};
use super::items::wanted::Wanted;
use super::located::{Located, locate};
use crate::address;
use crate::annotations::stored::{STORED_MAX, after};
use crate::annotations::{self, Annotation, Annotations, Annotator, Mark, Note, SessionName};
use crate::forms::FormLimit;
use crate::problem::Problem;
use crate::source::{AnnotatedRun, AnnotationPlace};
use crate::steering::Asker;
use crate::{Viewer, selection};

/// Longest body of the form, in bytes: a note of 4,000 characters of four bytes each, percent-encoded, and the fields beside it.
const FORM_BYTES_MAX: usize = 64 << 10;
/// The form of an annotation.
pub(crate) const FORM: FormLimit = FormLimit { bytes_max: FORM_BYTES_MAX, advice: "shorten the note" };

/// The fields of the form.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Given {
    mark: String,
    rating: String,
    note: String,
    then: String,
}

pub(crate) async fn annotate(
    State(viewer): State<Viewer>,
    asker: Asker,
    Path((name, cell, item)): Path<(String, u32, u32)>,
    Query(wanted): Query<Wanted>,
    given: Result<Form<Given>, FormRejection>,
) -> Result<Response, Problem> {
    let Form(given) = given.map_err(|error| Problem::wrong(format!("invalid annotation: {}", error.body_text())))?;
    let mut located = locate(&viewer, &name, cell, item).await?;
    viewer.sign(&mut located.run, &asker).await;
    let Some(annotated) = &located.run.annotated else {
        return Err(Problem::missing("sessions of this run are not annotated here; they are where its directory is"));
    };
    let Some(by) = annotated.by.clone() else {
        return Err(Problem::refused(match &annotated.place {
            AnnotationPlace::File(_) => "the annotation has no author; start the viewer with --as NAME",
            AnnotationPlace::Sweep(..) => "sessions are annotated with a token, or a certificate, that may submit",
        }));
    };
    let Located { run, cell, item, .. } = &located;
    if run.store.ledger.session(&run.row.id, cell.index, *item).await?.is_none() {
        return Err(Problem::wrong("this session has no result yet; it can be annotated once it has one"));
    }
    let session = name_of(&located)?;
    let rated = located.rated_score();
    let annotation = Annotation { at: Some(viewer.clock.now()), ..given.annotation(by, session, rated)? };
    let path = address::session(&run.name, cell.index, *item);
    save(&viewer, &asker, (annotated, path), annotation).await?;
    let of = |(item, cell)| format!("{}{}", address::session(&run.name, cell, item), wanted.context());
    let here = format!("{}#annotation", of((*item, cell.index)));
    let to = match given.then.as_str() {
        NEXT => {
            let all = annotated.read().await?.all;
            let steps = Steps::of(&viewer, &located, &wanted, &all, annotated.by.as_ref()).await?;
            match steps {
                Some(steps) => steps.toward(run, Toward::Next).await?.map_or(here, of),
                None => here,
            }
        }
        _ => here,
    };
    Ok(Redirect::to(&to).into_response())
}

fn name_of(located: &Located) -> Result<SessionName, Problem> {
    let place = (located.item, located.cell.index);
    selection::name(&located.sweep, place).ok_or_else(|| Problem::missing("the data set has no such item"))
}

/// News in an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    /// The person's last one says the same.
    Nothing,
    /// It is empty, and takes nothing back.
    Empty,
    /// It is to be added.
    Something,
}

fn news(annotation: &Annotation, known: &Annotations) -> News {
    let latest = known.latest();
    let before = latest.get(&annotation.session).and_then(|people| people.get(&annotation.by));
    let says = |of: &Annotation| (of.mark, of.rating, of.note.clone());
    match before {
        Some((_, before)) if says(before) == says(annotation) => News::Nothing,
        None if annotation.is_empty() => News::Empty,
        Some(_) | None => News::Something,
    }
}

/// Adds the annotation to the others of the session at the path, unless the person's last one says the same.
async fn save(
    viewer: &Viewer,
    asker: &Asker,
    (annotated, path): (&AnnotatedRun, String),
    annotation: Annotation,
) -> Result<(), Problem> {
    let found = match &annotated.place {
        AnnotationPlace::File(path) => {
            let path = path.clone();
            let done = tokio::task::spawn_blocking(move || {
                let found = news(&annotation, &annotations::read(&path)?);
                if found == News::Something {
                    annotations::append(&path, &annotation)?;
                }
                Ok::<_, std::io::Error>(found)
            });
            done.await?.map_err(|error| Problem::unsaved(&annotated.place, &error))?
        }
        AnnotationPlace::Sweep(stored) => {
            let known = stored.read().await?;
            let found = news(&annotation, &known);
            if found == News::Something {
                if known.lines.len() >= STORED_MAX {
                    let full = format!("the sweep has {STORED_MAX} annotations, and takes no more");
                    return Err(Problem::too_large(full));
                }
                let authors = viewer.authors.clone();
                let authors = authors.ok_or_else(|| Problem::refused("nobody knows here who annotates"))?;
                let number = authors.begin(asker, &path).await?;
                let annotation = after(&known, annotation);
                let (place, stored) = (annotated.place.clone(), stored.clone());
                // A task of its own: a client that goes away leaves no note without its end.
                let storing = tokio::spawn(async move {
                    let added = stored.add(&annotation).await;
                    let failure = added.as_ref().err().map(|error| regatta_proto::causes(error));
                    authors.end(number, &path, failure.as_deref()).await;
                    added.map_err(|error| Problem::unsaved(&place, &error))
                });
                storing.await??;
            }
            found
        }
    };
    match found {
        News::Nothing | News::Something => Ok(()),
        News::Empty => Err(Problem::wrong("the annotation is empty: choose a mark, give a rating or write a note")),
    }
}

impl Given {
    /// The annotation that the fields say, without its time.
    fn annotation(
        &self,
        by: Annotator,
        session: SessionName,
        rated: Option<RatedScore>,
    ) -> Result<Annotation, Problem> {
        let mark = match self.mark.as_str() {
            "" => None,
            given => Some(Mark::ALL.into_iter().find(|mark| mark.as_str() == given).ok_or_else(|| {
                Problem::wrong(format!("unknown mark {given:?} (known: {})", Mark::ALL.map(Mark::as_str).join(", ")))
            })?),
        };
        let note = match self.note.trim() {
            "" => None,
            _ => Some(Note::try_from(self.note.clone()).map_err(|error| Problem::wrong(error.to_string()))?),
        };
        Ok(Annotation { at: None, by, session, mark, rating: rating(&self.rating, rated)?, note })
    }
}

/// The rating that was given, in the scale of `rated`.
fn rating(given: &str, rated: Option<RatedScore>) -> Result<Option<f64>, Problem> {
    let given = given.trim();
    if given.is_empty() {
        return Ok(None);
    }
    let Some(RatedScore { name, range: (low, high), .. }) = rated else {
        return Err(Problem::wrong("no judge gives these sessions a score that people rate too; leave the rating out"));
    };
    match given.parse::<f64>() {
        Ok(rating) if (low..=high).contains(&rating) => Ok(Some(rating)),
        Ok(_) | Err(_) => {
            Err(Problem::wrong(format!("a rating of {name} is a number from {low} to {high}, and {given:?} is none")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRESS: RatedScore = RatedScore { name: "progress", meaning: "share of goals", range: (0.0, 1.0) };

    fn said(given: Given, rated: Option<RatedScore>) -> Result<Annotation, String> {
        let session = SessionName {
            benchmark: "b".parse().unwrap(),
            setting: "s".parse().unwrap(),
            model: "e/m".parse().unwrap(),
            trial: 0,
            item: "i".parse().unwrap(),
        };
        given.annotation("ann".parse().unwrap(), session, rated).map_err(|problem| problem.sentence().to_owned())
    }

    #[test]
    fn a_rating_is_in_the_scale_of_the_judge() {
        let rated = |text: &str, of| said(Given { rating: text.to_owned(), ..Given::default() }, of);
        assert_eq!(rated(" 0.5 ", Some(PROGRESS)).unwrap().rating, Some(0.5));
        assert_eq!(rated("", None).unwrap().rating, None);
        for wrong in ["1.01", "-0.1", "NaN", "inf", "much", "1e400", "0,5"] {
            let error = rated(wrong, Some(PROGRESS)).unwrap_err();
            assert_eq!(error, format!("a rating of progress is a number from 0 to 1, and {wrong:?} is none"));
        }
        assert!(rated("1", None).unwrap_err().contains("leave the rating out"));
    }

    #[test]
    fn a_note_is_taken_as_it_is_but_for_what_acts_on_screens() {
        let noted = |text: &str| said(Given { note: text.to_owned(), ..Given::default() }, None);
        let note = |text: &str| noted(text).unwrap().note.unwrap().as_str().to_owned();
        assert_eq!(
            note("<b>=HYPERLINK(\"http://evil.example\")</b>\r\nsecond\tline"),
            "<b>=HYPERLINK(\"http://evil.example\")</b>\nsecond\tline"
        );
        assert_eq!(noted(" \r\n ").unwrap().note, None);
        assert_eq!(note(&"é".repeat(4_000)).chars().count(), 4_000);
        assert!(noted(&"é".repeat(4_001)).unwrap_err().contains("4001 characters, at most 4000"));
        for control in ["\u{1b}[2J", "a\u{0}b", "\u{9b}31m", "a\rb"] {
            assert!(noted(control).unwrap_err().contains("control character"), "{control:?}");
        }
    }

    #[test]
    fn a_mark_is_one_of_three() {
        let marked = |text: &str| said(Given { mark: text.to_owned(), ..Given::default() }, None);
        assert_eq!(marked("unsure").unwrap().mark, Some(Mark::Unsure));
        assert_eq!(marked("great").unwrap_err(), "unknown mark \"great\" (known: right, wrong, unsure)");
    }
}
