//! The first request of a benchmark's first session, for a person who writes the benchmark.

use regatta_benchmarks::{Step, Suite};
use regatta_proto::{ChatRequest, ItemIndex, Setting, Transcript};

/// Characters of a message that are shown.
const SHOWN_MAX: usize = 4000;

/// First request to the model in the session of `item`; `None` where Regatta does not ask it.
pub(crate) fn first_prompt(suite: &dyn Suite, setting: &Setting, item: ItemIndex) -> Option<String> {
    let Step::Ask(_, request) = suite.next(item, setting, &Transcript::default()) else { return None };
    let id = suite.items().get(usize::try_from(item.0).ok()?)?.id.clone();
    Some(format!("first prompt (item {id}, {setting}):\n{}", written(&request)))
}

fn written(request: &ChatRequest) -> String {
    let mut text = String::new();
    for message in &request.messages {
        let role = format!("{:?}", message.role).to_lowercase();
        let whole = message.shown();
        let shown: String = whole.chars().take(SHOWN_MAX).collect();
        let more = if shown.len() < whole.len() { "…" } else { "" };
        text.push_str(&format!("  --- {role}\n"));
        shown.lines().for_each(|line| text.push_str(&format!("  {line}\n")));
        text.push_str(more);
    }
    if !request.tools.is_empty() {
        let names: Vec<&str> = request.tools.iter().map(|tool| &*tool.name).collect();
        text.push_str(&format!("  --- tools: {}\n", names.join(", ")));
    }
    text.trim_end().to_owned()
}
