//! Notices: a program that reads one on its standard input, an address that one is posted to, and the end of a run, of which both are told.

mod ending;
mod post;
mod program;
mod receiver;

pub(crate) use self::ending::{Ending, Outcome};
#[cfg(feature = "cluster")]
pub(crate) use self::post::{client, taken};
#[cfg(feature = "cluster")]
pub(crate) use self::program::Program;
