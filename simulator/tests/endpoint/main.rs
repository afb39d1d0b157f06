//! A simulated endpoint as its clients see it, over loopback.

mod answers;
mod books;
#[cfg(test)]
mod embeddings;
mod faults;
#[cfg(test)]
mod harness;
mod lifecycle;
mod limits;
mod prices;
mod refusals;
#[cfg(test)]
mod three_items;
#[cfg(test)]
mod worfbench;
