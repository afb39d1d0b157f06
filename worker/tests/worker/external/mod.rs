//! Sessions that somebody else's agent does, over a benchmark made up for it.

mod office;

mod cluster;
mod commands;
mod containers;
mod conversations;
mod ending;
mod kept;
mod pods;
mod records;
mod services;
mod teams;
mod waiting;
