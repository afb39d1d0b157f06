//! What the coordinator promises, whatever happens to it and to its queues.

mod api;
mod dispatching;
mod ending;
mod planning;
mod recovering;
mod stage;
