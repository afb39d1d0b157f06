//! The first card: one ranking, a sentence on every alternative, what failed and with which words, and what a reader must know beside it.

use regatta_proto::CostSum;

use super::content::{Block, Field, Section, Sheet};
use super::funnel::funnels;
use super::numbers::{NOTHING, each_cost, median, percent, session_median};
use super::sections::named;
use crate::decided::{headline, sentences as answers};
use crate::decision::{Contest, basis, contests, coverage, failures, flags, score_columns, sentences};
use crate::summary::{Standing, Summary};

/// The card.
pub(crate) fn section(summary: &Summary) -> Section {
    let contests = contests(summary);
    let mut blocks = Vec::new();
    if let Some(decided) = &summary.decided {
        blocks.push(Block::Text(format!("{}.", capitalised(&headline(decided)))));
        blocks.push(Block::List("What is decided".to_owned(), answers(decided)));
        let contests: Vec<_> = decided.contests.iter().collect();
        blocks.push(Block::Funnels(funnels(&contests, decided.margin)));
    }
    blocks.push(Block::Text(basis(summary, &contests).join(" ")));
    blocks.push(Block::Table(sheet(summary, &contests)));
    let sentences = sentences(summary);
    if !sentences.is_empty() {
        blocks.push(Block::List("In a sentence".to_owned(), sentences));
    }
    let failures = failures(summary);
    if !failures.is_empty() {
        blocks.push(Block::List("What failed".to_owned(), failures));
    }
    if !summary.notes.is_empty() {
        blocks.push(Block::Notice(summary.notes.clone()));
    }
    Section { id: "ranking", title: "Ranking".to_owned(), is_folded: false, blocks }
}

/// Columns that a ranking has only where a model has something in them.
#[derive(Clone, Copy)]
struct Columns {
    rank: bool,
    flags: bool,
}

fn sheet(summary: &Summary, contests: &[Contest<'_>]) -> Sheet {
    let scores = score_columns(contests);
    let has = Columns {
        rank: summary.standings.iter().any(|standing| standing.rank.is_some()),
        flags: summary.standings.iter().any(|standing| !flags(&standing.flags).is_empty()),
    };
    let mut header = vec!["model".to_owned()];
    if has.rank {
        header.extend(["rank", "group"].map(str::to_owned));
    }
    header.extend(scores.iter().map(|(name, _)| name.clone()));
    if scores.is_empty() {
        header.push("better / worse / tied".to_owned());
    }
    header.extend(has.flags.then(|| "flags".to_owned()));
    header.extend(["coverage", "cost", "per session", "session p50", "call p50"].map(str::to_owned));
    let row = |standing: &Standing| {
        let mut row = vec![named(&standing.model, standing.simulated)];
        if has.rank {
            row.push(Field::Number(standing.rank.map_or_else(|| NOTHING.to_owned(), |rank| rank.to_string())));
            row.push(Field::name(if standing.groups.is_empty() { NOTHING } else { &standing.groups }));
        }
        row.extend(scores.iter().map(|(_, contest)| match contest.value(summary, &standing.model) {
            Some((estimate, unit)) if scores.len() == 1 => Field::Estimate(estimate, unit),
            Some((estimate, unit)) => Field::Brief(estimate, unit),
            None => Field::number(NOTHING),
        }));
        if scores.is_empty() {
            row.push(Field::Number(format!("{} / {} / {}", standing.better, standing.worse, standing.tied)));
        }
        row.extend(has.flags.then(|| Field::Tags(flags(&standing.flags))));
        row.push(Field::Number(percent(coverage(summary, &standing.model))));
        row.push(Field::number(standing.cost));
        row.push(Field::Number(each_cost(standing.rendered_per_session(), standing.cached, CostSum::default())));
        row.extend([session_median(standing), median(standing.call_seconds)].map(Field::Number));
        row
    };
    Sheet {
        caption: "Models, best first".to_owned(),
        header,
        rows: summary.standings.iter().map(row).collect(),
        is_board: true,
        ..Sheet::default()
    }
}

/// With a capital letter, as at the beginning of a sentence.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
