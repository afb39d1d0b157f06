//! The report: what people read. `sections` says what is in it; `markdown` and `html` say how it looks.

mod audits;
mod axis;
mod bars;
mod comparison;
mod content;
pub(crate) mod costs;
pub(crate) mod filtered;
pub(crate) mod funnel;
mod html;
mod interval;
mod leaderboards;
mod markdown;
pub(crate) mod numbers;
pub(crate) mod pairs;
mod plot;
mod provenance;
mod ranking;
mod sections;
mod series;
mod tables;
mod tradeoffs;
mod uncertainty;

use regatta_catalog::Sweep;
use regatta_proto::CostSum;

pub(crate) use self::audits::missing_audits;
use self::content::Section;
use self::numbers::{counted, duration, grouped};
pub use self::series::{Series, SeriesGroup, SeriesNight, SeriesPage, SeriesValue};
use crate::summary::Summary;
use crate::tabulation::GroupResult;

/// Colours and fonts, by day and by night, of everything that is read in a browser: the beginning of its style.
pub const DESIGN_TOKENS: &str = include_str!("tokens.css");

/// A report, before it is Markdown or HTML.
pub(crate) struct Report {
    title: String,
    lead: String,
    sections: Vec<Section>,
}

impl Report {
    pub(crate) fn new(summary: &Summary, groups: &[GroupResult], sweep: &Sweep) -> Self {
        let mut all = vec![ranking::section(summary), leaderboards::section(summary)];
        all.extend(audits::section(summary, groups));
        all.extend(tradeoffs::section(summary));
        all.extend(comparison::section(summary));
        all.extend(pairs::section(summary));
        all.push(sections::coverage(summary, groups));
        all.extend(uncertainty::section(summary));
        all.push(sections::tasks(groups));
        all.extend(tables::section(summary));
        all.push(costs::section(summary));
        all.push(provenance::section(summary, groups, sweep));
        all.push(sections::reading(summary));
        Self {
            title: summary.sweep.to_string(),
            lead: format!(
                "{} · {} of {} scored · {} · {} · wall time {}{}",
                summary.state,
                grouped(summary.covered()),
                counted(summary.sessions.total, "session", "sessions"),
                money(summary),
                summary.ended_at,
                duration(summary.wall_seconds),
                running(summary)
            ),
            sections: all,
        }
    }

    pub(crate) fn markdown(&self) -> String {
        markdown::render(&self.title, &self.lead, &self.sections)
    }

    pub(crate) fn html(&self) -> String {
        html::render(&self.title, &self.lead, &self.sections)
    }
}

/// Money of the sweep, its judges' named where there is any.
fn money(summary: &Summary) -> String {
    let known = match summary.judging.cost {
        cost if cost == CostSum::default() => format!("cost {}", summary.spending.cost),
        judges => format!("cost {}, judges {judges}", summary.spending.cost),
    };
    match summary.at_most {
        Some(most) => format!("{known}, in all {}", summary.cost().bounded(most)),
        None => known,
    }
}

/// Time in which sessions were under way: a sweep that was resumed waited in between.
pub(crate) fn running(summary: &Summary) -> String {
    summary.running_seconds.map(|seconds| format!(", sessions under way for {}", duration(seconds))).unwrap_or_default()
}
