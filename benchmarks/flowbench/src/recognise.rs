//! Recognition of the turn that a request belongs to, for callers that do not name it.

use regatta_proto::{ChatRequest, ChatRole, ItemIndex};

use super::data::{Data, Speaker};
use super::setting::{Format, Level};

/// Finds the first turn with this history; the system prompt is ignored.
pub(crate) fn turn(data: &Data, request: &ChatRequest) -> Option<ItemIndex> {
    let said: Vec<&str> = request
        .messages
        .iter()
        .filter(|message| message.role != ChatRole::System)
        .map(|message| &*message.content)
        .collect();
    let is_said = |(_, entry): &(ItemIndex, &super::data::Entry)| {
        if entry.level() != Level::Turn {
            return false;
        }
        let history = entry.history(Format::Flowchart);
        history.len() == said.len()
            && history.iter().zip(&said).all(|(line, said)| match line.speaker {
                // The result of a tool is sent under a heading.
                Speaker::Function => said.ends_with(&*line.content),
                Speaker::User | Speaker::Assistant => **said == *line.content,
            })
    };
    data.indexed().find(is_said).map(|(item, _)| item)
}
