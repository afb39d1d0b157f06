//! Worlds with tools, of programs that `serve` them: a session's world is a fresh one that has been given all calls of its transcript.

use std::sync::Arc;

use regatta_coded::{Ask, Event as Said, Served, WorldCall};
use regatta_proto::{Digest, ItemId};

/// Seed of the worlds of `item`: the same in every session, so that trials and models begin alike.
pub(super) fn seed(item: &ItemId) -> u32 {
    let digest = Digest::of_parts([b"coded/world".as_slice(), item.as_str().as_bytes()]);
    let [first, second, third, fourth, ..] = *digest.bytes();
    u32::from_be_bytes([first, second, third, fourth])
}

/// The calls of tools of a session, in order.
pub(super) fn calls(replies: &[Said]) -> Vec<WorldCall> {
    let calls = replies.iter().flat_map(|said| said.tool_calls.iter().map(move |call| (said.role, call)));
    let calls = calls.map(|(role, call)| WorldCall {
        role,
        name: Arc::clone(&call.name),
        arguments: Arc::clone(&call.arguments),
    });
    calls.collect()
}

/// Puts the results of a session's calls beside them.
///
/// # Errors
/// In words, when there are not as many of both.
pub(super) fn put_results(results: Vec<String>, replies: &mut [Said]) -> Result<(), String> {
    let calls: usize = replies.iter().map(|said| said.tool_calls.len()).sum();
    if results.len() != calls {
        return Err(format!("gave {} results of {calls} calls of tools", results.len()));
    }
    let mut results = results.into_iter();
    for said in replies {
        said.results = results.by_ref().take(said.tool_calls.len()).collect();
    }
    Ok(())
}

/// Adds the tools of `world` to a request to one of its roles.
///
/// # Errors
/// In words, when the request has a tool of the same name.
pub(super) fn give_tools(ask: &mut Ask, mut world: Served) -> Result<(), String> {
    let tools = world.tools.remove(&ask.role).unwrap_or_default();
    if let Some(twice) = tools.iter().find(|tool| ask.tools.iter().any(|own| own.name == tool.name)) {
        return Err(format!("it gives the role {:?} the tool {:?}, which its world has too", ask.role, twice.name));
    }
    ask.tools.extend(tools);
    Ok(())
}
