//! A simulated endpoint from its clients' view, over loopback.

mod answers;
#[cfg(test)]
mod anthropic_batches;
mod books;
#[cfg(test)]
mod constraints;
#[cfg(test)]
mod embeddings;
mod faults;
#[cfg(test)]
mod harness;
mod lifecycle;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod openai_batches;
#[cfg(test)]
mod prices;
mod refusals;
#[cfg(test)]
mod responses;
#[cfg(test)]
mod roles;
#[cfg(test)]
mod stream_faults;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod three_items;
mod tool_calls;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod unplayed;
#[cfg(test)]
mod worfbench;
