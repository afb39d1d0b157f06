//! Rounds of a sweep that stops when its question is answered: what is decided, and how its sequences close.

use std::sync::Arc;

use maud::{Markup, html};
use regatta_catalog::{DecidedSoFar, Sweep, decided_so_far, stage_of_rounds};
use regatta_report::{RenderedDecided, Summary, render_decided, render_decided_so_far};

use crate::problem::Problem;
use crate::progress::Progress;
use crate::source::Run;
use crate::{Viewer, page};

/// The section of `run`: as its report has it once there is one, and until then as its rounds so far say. Nothing for a sweep without a question.
pub(super) async fn section(
    viewer: &Viewer,
    run: &Run,
    sweep: &Sweep,
    progress: &Progress,
    summary: Option<&Summary>,
) -> Result<Markup, Problem> {
    if sweep.lock.decide.is_none() {
        return Ok(html! {});
    }
    let rendered = match summary.and_then(|summary| summary.decided.as_ref()) {
        Some(decided) => Some(render_decided(decided)),
        None => so_far(viewer, run, sweep, progress).await?.map(|of| render_decided_so_far(&of, progress.cost())),
    };
    Ok(html! {
        section #rounds data-part {
            h2 { "What is decided" }
            @match &rendered {
                Some(rendered) => { (shown(rendered)) }
                None => { p.notice { "This version of Regatta does not know the rules of its rounds, so it cannot tell what is decided." } }
            }
        }
    })
}

/// Rounds so far. They are replayed from all sessions, so they are read once a round and not for each page.
async fn so_far(
    viewer: &Viewer,
    run: &Run,
    sweep: &Sweep,
    progress: &Progress,
) -> Result<Option<Arc<DecidedSoFar>>, Problem> {
    let stage = stage_of_rounds(sweep, &progress.cells, run.row.generation);
    let read = async {
        let so_far = decided_so_far(&run.store.ledger, sweep, &progress.cells, progress.judges).await?;
        Ok::<_, Problem>(so_far.map(Arc::new))
    };
    viewer.sequences.get(format!("{} {}", run.name, run.row.id), &stage, read).await
}

fn shown(rendered: &RenderedDecided) -> Markup {
    html! {
        p { (rendered.headline) }
        ul { @for line in &rendered.lines { li { (line) } } }
        @if !rendered.pictures.is_empty() {
            p.hint { "Both ends of each sequence over the clusters of items bought; differences within the band do not matter." }
            div.plots {
                @for (caption, picture) in &rendered.pictures {
                    figure { figcaption { (caption) } (page::svg(picture.clone())) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_line_for_each_sequence_and_a_picture_of_how_it_closes() {
        let rendered = RenderedDecided {
            headline: "question: best within 2 pp · 42 of 105 sessions bought".to_owned(),
            lines: vec![
                "round 4; known since the end of round 3:".to_owned(),
                "e/a > e/<b> by 4.1 pp [1.2, 7.0]".to_owned(),
            ],
            pictures: vec![("e/a − e/<b>, pp".to_owned(), "<svg class=\"plot\"></svg>".to_owned())],
        };
        insta::assert_snapshot!(shown(&rendered).into_string().replace("><", ">\n<"), @r#"
        <p>question: best within 2 pp · 42 of 105 sessions bought</p>
        <ul>
        <li>round 4; known since the end of round 3:</li>
        <li>e/a &gt; e/&lt;b&gt; by 4.1 pp [1.2, 7.0]</li>
        </ul>
        <p class="hint">Both ends of each sequence over the clusters of items bought; differences within the band do not matter.</p>
        <div class="plots">
        <figure>
        <figcaption>e/a − e/&lt;b&gt;, pp</figcaption>
        <svg class="plot">
        </svg>
        </figure>
        </div>
        "#);
    }
}
