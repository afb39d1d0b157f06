//! Progress of a sweep: a table that is redrawn on a terminal, a line at intervals elsewhere.

mod pace;
mod rounds;
mod table;
#[cfg(test)]
mod tests;

use std::time::Duration;

use console::Term;
use regatta_coordinator::{CellSoFar, SweepStatus};
use regatta_proto::SweepState;
use tokio::time::Instant;

use self::pace::Pace;
use self::table::{Place, table};
use crate::figures::thousands;
use crate::output;

/// Pause between two lines when nobody watches a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The display of one sweep.
pub(crate) struct Progress {
    started: Instant,
    pace: Pace,
    display: Display,
}

enum Display {
    Table {
        /// Scores as they were told last, which the end is shown with.
        so_far: Vec<CellSoFar>,
    },
    Lines {
        next: Instant,
    },
}

impl Progress {
    pub(crate) fn start() -> Self {
        let term = std::env::var("TERM").ok();
        let display = if output::is_watched() && can_be_redrawn(term.as_deref()) {
            Display::Table { so_far: Vec::new() }
        } else {
            Display::Lines { next: Instant::now() }
        };
        Self { started: Instant::now(), pace: Pace::default(), display }
    }

    /// `true` if scores are shown, so that they are worth asking for.
    pub(crate) const fn has_scores(&self) -> bool {
        match self.display {
            Display::Table { .. } => true,
            Display::Lines { .. } => false,
        }
    }

    /// Shows `status`, and `so_far` if [`Self::has_scores`].
    pub(crate) fn show(&mut self, status: &SweepStatus, so_far: Vec<CellSoFar>) {
        let started = self.started;
        self.pace.note(started.elapsed(), status.total(|cell| cell.settled), status.cost.known.known);
        match &mut self.display {
            Display::Table { so_far: told } => {
                *told = so_far;
                output::redraw(&table(status, told, &self.pace, place()));
            }
            Display::Lines { next } if Instant::now() >= *next => {
                *next = Instant::now() + LINE_EVERY;
                output::note(&line(status, started));
            }
            Display::Lines { .. } => {}
        }
    }

    pub(crate) fn finish(self, status: &SweepStatus) {
        match &self.display {
            Display::Table { so_far } => {
                output::redraw(&table(status, so_far, &self.pace, place()));
                output::leave_drawn();
            }
            Display::Lines { .. } => output::note(&line(status, self.started)),
        }
    }

    /// The process was told to leave.
    pub(crate) fn leave(self) {
        output::leave_drawn();
        output::note("leaving: finishing what runs; once more to stop at once. The same command continues.");
    }
}

impl Drop for Progress {
    /// Whatever is written after an error must not erase what was drawn.
    fn drop(&mut self) {
        output::leave_drawn();
    }
}

/// `true` for a terminal of the type `term` that moves its cursor. Windows has consoles that do, and no types.
fn can_be_redrawn(term: Option<&str>) -> bool {
    match term {
        Some(term) => !term.is_empty() && term != "dumb",
        None => cfg!(windows),
    }
}

/// The terminal as it is now: windows change their sizes.
fn place() -> Place {
    let (height, width) = Term::stderr().size();
    let has_colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Place { width: width.into(), height: height.into(), has_colours }
}

fn line(status: &SweepStatus, started: Instant) -> String {
    let (sessions, settled) = (status.total(|cell| cell.items), status.total(|cell| cell.settled));
    let elapsed = started.elapsed().as_secs_f64();
    let not_measured = status.total(|cell| cell.not_measured);
    let usage = status.usage();
    let state = match status.state {
        SweepState::Running => String::new(),
        other => format!("{other}  "),
    };
    let round = rounds::in_short(status).map(|round| format!("  {round}")).into_iter();
    let further: String = round.chain(money(status).iter().map(|part| format!("  {part}"))).collect();
    format!(
        "{state}{settled}/{sessions} sessions  {not_measured} not measured  {} tokens  {}  {elapsed:.0} s{further}",
        usage.shown(usage.total(), thousands),
        status.cost.known,
    )
}

/// Money left of the budget, and the forecast of the final cost or its lower end, as far as there is either.
fn money(status: &SweepStatus) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(budget) = &status.budget {
        parts.push(format!("{} of {} left", budget.left, budget.cap));
    }
    if let Some(forecast) = &status.forecast {
        parts.push(format!("about {} at the end ({} to {})", forecast.expected, forecast.low, forecast.high));
    }
    if let Some(least) = &status.at_least {
        parts.push(format!("at least {least} at the end"));
    }
    parts
}
