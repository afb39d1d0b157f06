//! Tool calls of a reply, each with an id.

use std::collections::HashSet;
use std::sync::Arc;

use regatta_proto::ToolCall;

/// A call, as the answer has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RawCall {
    /// Empty if the answer has none.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// The calls of a reply. A missing or repeated id is replaced by `call_N`, where N is the position, so that results of tools can be told
/// apart.
pub(crate) fn with_ids(calls: Vec<RawCall>) -> Vec<ToolCall> {
    let given: HashSet<String> = calls.iter().map(|call| call.id.clone()).collect();
    let mut taken: HashSet<String> = HashSet::with_capacity(calls.len());
    let mut next = 0;
    let mut named = Vec::with_capacity(calls.len());
    for (position, RawCall { mut id, name, arguments }) in calls.into_iter().enumerate() {
        next = next.max(position);
        while id.is_empty() || taken.contains(&id) {
            let made_up = format!("call_{next}");
            next += 1;
            if !given.contains(&made_up) {
                id = made_up;
            }
        }
        taken.insert(id.clone());
        named.push(ToolCall { id: id.into(), name: name.into(), arguments: Arc::from(arguments) });
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(given: &[&str]) -> Vec<String> {
        let calls = given.iter().map(|id| RawCall { id: (*id).to_owned(), ..RawCall::default() }).collect();
        with_ids(calls).into_iter().map(|call| call.id.to_string()).collect()
    }

    #[test]
    fn ids_of_the_provider_are_kept() {
        assert_eq!(ids(&["b", "a"]), ["b", "a"]);
    }

    #[test]
    fn missing_and_repeated_ids_are_made_up_beside_the_given_ones() {
        assert_eq!(
            ids(&["", "call_2", "", "call_2", "x", "x"]),
            ["call_0", "call_2", "call_3", "call_4", "x", "call_5"]
        );
    }
}
