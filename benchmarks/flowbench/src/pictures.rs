//! Drawings of an agent's path through its flowcharts, as far as it states its nodes.

use std::borrow::Cow;

use regatta_benchmarks::Picture;
use regatta_proto::Transcript;

use super::data::{Content, Entry, GoldTurn};
use super::flowchart::{Flowchart, LaidOver, Visit, lay_over, mark};
use super::predictions::messages_of;
use super::protocol::{Message, TurnInference, TurnStep};
use super::scoring::recorded;
use super::session::{conversation, inference, plan};
use super::setting::Mode;

/// Draws the visited flowcharts: for a session by the agent's messages, for a turn by the gold turns before it and
/// the agent's answer. Empty when no node was named, for example because the agent got no flowchart.
pub(crate) fn pictures(entry: &Entry, mode: Mode, transcript: &Transcript) -> Vec<Picture> {
    let charts: Vec<&Flowchart> = entry.group.scenarios.iter().map(|scenario| &*scenario.chart).collect();
    match &entry.content {
        Content::Session(_) | Content::SessionRecord(_) => {
            let messages = messages(entry, mode, transcript);
            let of_agent = messages.iter().filter(|message| message.is_assistant());
            let visits: Vec<Visit<'_>> = of_agent.map(|message| Visit::stated_in(message.text())).collect();
            named(entry, lay_over(&charts, &visits))
        }
        Content::SessionTurn(session, position) => {
            let before = session.agent_turns().filter(|(at, _)| at < position);
            let mut visits: Vec<Visit<'_>> = before.map(|(_, gold)| of_gold(gold)).collect();
            let predicted = predicted(transcript);
            visits.push(Visit::stated_in(&predicted));
            named(entry, lay_over(&charts, &visits))
        }
        // A record has only the thought of its own turn, which shows the last node but not the path to it.
        Content::TurnRecord(record) => {
            let was = Visit { last: None, intent: None, current: record.gold.text("last_node") };
            named(entry, mark(&charts, &[was, Visit::stated_in(&predicted(transcript))]))
        }
    }
}

fn of_gold(gold: &GoldTurn) -> Visit<'_> {
    Visit { last: gold.text("last_node"), intent: gold.text("intent"), current: gold.text("current_node") }
}

fn named(entry: &Entry, drawn: Vec<LaidOver>) -> Vec<Picture> {
    let of_scenario = |laid: LaidOver| {
        let title = entry.group.scenarios.get(laid.chart)?.name.to_string();
        Some(Picture { title, svg: laid.svg, text: laid.words })
    };
    drawn.into_iter().filter_map(of_scenario).collect()
}

fn messages(entry: &Entry, mode: Mode, transcript: &Transcript) -> Vec<Message> {
    if let Some(reply) = recorded(transcript) {
        return messages_of(reply).unwrap_or_default();
    }
    let Some(script) = entry.script() else { return Vec::new() };
    let plan = plan(entry, &script, mode.stop);
    conversation(&plan, transcript).map(|conversation| conversation.messages().to_vec()).unwrap_or_default()
}

fn predicted(transcript: &Transcript) -> Cow<'_, str> {
    if let Some(reply) = recorded(transcript) {
        return Cow::Borrowed(reply.text.as_deref().unwrap_or_default());
    }
    match inference(transcript).as_ref().map(TurnInference::step) {
        Ok(TurnStep::Predicted(text)) => Cow::Owned(text.to_owned()),
        Ok(TurnStep::Ask | TurnStep::Lost) | Err(_) => Cow::Borrowed(""),
    }
}
