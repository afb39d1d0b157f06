//! The commands of a person; each is one file.

pub(crate) mod align;
pub(crate) mod audit;
pub(crate) mod cancel;
#[cfg(feature = "certify")]
pub(crate) mod certify;
pub(crate) mod check;
mod check_benchmark;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod data;
pub(crate) mod doctor;
pub(crate) mod drift;
pub(crate) mod export;
mod first_prompt;
pub(crate) mod gate;
pub(crate) mod gc;
pub(crate) mod health;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod list;
#[cfg(feature = "cluster")]
pub(crate) mod migrate;
mod outlook;
pub(crate) mod pause;
pub(crate) mod plan;
mod plan_money;
pub(crate) mod prices;
pub(crate) mod repair;
pub(crate) mod replay;
pub(crate) mod reprice;
pub(crate) mod rescore;
pub(crate) mod resume;
mod rounds_outlook;
mod rounds_pilot;
pub(crate) mod run;
pub(crate) mod schedule;
pub(crate) mod schema;
pub(crate) mod score;
pub(crate) mod show;
pub(crate) mod simulate;
pub(crate) mod status;
pub(crate) mod submit;
pub(crate) mod subset;
pub(crate) mod throttle;
mod time_outlook;
pub(crate) mod token;
pub(crate) mod view;
pub(crate) mod watch;

use regatta_report::{Summary, render_decision, render_tables};

use crate::output;

/// Text at the end of a sweep, with all `tables` before it where they are asked for.
fn decision(summary: &Summary, tables: bool) -> String {
    let width = output::width();
    match tables {
        true => format!("{}\n\n{}", render_tables(summary, width), render_decision(summary, width)),
        false => render_decision(summary, width),
    }
}
