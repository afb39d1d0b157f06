//! The pages, one file each.

pub(crate) mod all_endpoints;
pub(crate) mod annotate;
mod annotations;
mod bars;
pub(crate) mod compare;
pub(crate) mod endpoints;
pub(crate) mod files;
pub(crate) mod group;
pub(crate) mod items;
pub(crate) mod leaderboard;
mod live_board;
mod located;
pub(crate) mod money;
mod rounds;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schedules;
pub(crate) mod session;
mod slow;
pub(crate) mod steering;
mod verdicts;
