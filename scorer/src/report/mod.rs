//! The report: what people read. `sections` says what is in it; `markdown` and `html` say how it looks.

mod bars;
mod comparison;
mod content;
mod costs;
pub(crate) mod filtered;
mod html;
mod markdown;
pub(crate) mod numbers;
pub(crate) mod pairs;
mod plot;
mod provenance;
mod sections;
mod tables;
mod uncertainty;

use regatta_catalog::Sweep;

use self::content::Section;
use self::numbers::{duration, grouped};
use crate::finish::GroupResult;
use crate::summary::Summary;

/// A report, before it is Markdown or HTML.
pub(crate) struct Report {
    title: String,
    lead: String,
    sections: Vec<Section>,
}

impl Report {
    pub(crate) fn new(summary: &Summary, groups: &[GroupResult], sweep: &Sweep) -> Self {
        let mut all = vec![sections::result(summary, groups), sections::coverage(summary, groups)];
        all.extend(pairs::section(summary));
        all.extend(uncertainty::section(summary));
        all.extend(tables::section(&summary.tables, summary.coverage_min));
        all.extend(comparison::section(summary));
        all.push(sections::tasks(groups));
        all.push(costs::section(summary));
        all.push(provenance::section(summary, groups, sweep));
        all.push(sections::reading(summary));
        Self {
            title: summary.sweep.to_string(),
            lead: format!(
                "{} · {} of {} sessions scored · {} · wall time {}",
                summary.state,
                grouped(summary.sessions.scored()),
                grouped(summary.sessions.total),
                summary.ended_at,
                duration(summary.wall_seconds)
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
