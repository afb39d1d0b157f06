//! The way of an agent through its flowcharts, as far as it says where it is.

use std::borrow::Cow;

use regatta_proto::Transcript;

use super::asking::{inference, plan};
use super::data::{Entry, Level, Mode, Speaker};
use super::flowchart::{Flowchart, Visit, lay_over};
use super::predictions::messages_of;
use super::protocol::{Conversation, Exchange, Message, TurnStep};
use super::scoring::recorded;
use crate::Picture;

/// The flowcharts that were touched: by the agent's messages of a session, or by the gold history of a turn and what the agent makes of
/// it. None when no node was named, as where the agent was shown no flowchart.
pub(crate) fn pictures(entry: &Entry, mode: Mode, transcript: &Transcript) -> Vec<Picture> {
    match entry.level() {
        Level::Session => {
            let messages = messages(entry, mode, transcript);
            let of_agent = messages.iter().filter(|message| message.is_assistant());
            draw(entry, &of_agent.map(|message| Visit::stated_in(message.text())).collect::<Vec<_>>())
        }
        Level::Turn => {
            let history = entry.history(mode.format);
            let gold = history.iter().filter(|line| line.speaker == Speaker::Assistant);
            let mut visits: Vec<Visit<'_>> = gold.map(|line| Visit::stated_in(&line.content)).collect();
            let predicted = predicted(transcript);
            visits.push(Visit::stated_in(&predicted));
            draw(entry, &visits)
        }
    }
}

fn draw(entry: &Entry, visits: &[Visit<'_>]) -> Vec<Picture> {
    let scenarios = &entry.group.scenarios;
    let charts: Vec<&Flowchart> = scenarios.iter().map(|scenario| &*scenario.chart).collect();
    let named = lay_over(&charts, visits).into_iter().filter_map(|laid| {
        let title = scenarios.get(laid.chart)?.name.to_string();
        Some(Picture { title, svg: laid.svg, text: laid.words })
    });
    named.collect()
}

fn messages(entry: &Entry, mode: Mode, transcript: &Transcript) -> Vec<Message> {
    if let Some(reply) = recorded(transcript) {
        return messages_of(reply);
    }
    let Some(script) = entry.script() else { return Vec::new() };
    let plan = plan(entry, &script, mode.stop);
    let conversation = Conversation::replay(&plan, Exchange::of_transcript(transcript));
    conversation.map(|conversation| conversation.messages().to_vec()).unwrap_or_default()
}

fn predicted(transcript: &Transcript) -> Cow<'_, str> {
    if let Some(reply) = recorded(transcript) {
        return Cow::Borrowed(reply.text.as_deref().unwrap_or_default());
    }
    match inference(transcript).step() {
        TurnStep::Predicted(text) => Cow::Owned(text.to_owned()),
        TurnStep::Ask | TurnStep::Lost => Cow::Borrowed(""),
    }
}
