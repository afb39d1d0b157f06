//! The commands of a person; each is one file.

pub(crate) mod align;
pub(crate) mod cancel;
#[cfg(feature = "certify")]
pub(crate) mod certify;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod drift;
pub(crate) mod export;
pub(crate) mod gate;
pub(crate) mod gc;
pub(crate) mod health;
#[cfg(feature = "cluster")]
pub(crate) mod migrate;
mod outlook;
pub(crate) mod plan;
pub(crate) mod prices;
pub(crate) mod replay;
pub(crate) mod reprice;
pub(crate) mod rescore;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod schedule;
pub(crate) mod score;
pub(crate) mod show;
pub(crate) mod simulate;
pub(crate) mod status;
pub(crate) mod submit;
pub(crate) mod watch;
