//! A model that knows the gold, as each member of CamelAI's workforce.

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, Digest, Reply, ToolCall};
use serde_json::json;

use super::prompt::{self, COMPOSE, DECOMPOSE, HIRE, RESULTS, TASK, WORKERS};
use crate::members;
use crate::prompts;
use crate::simulate::{Gold, Heard};

/// Members and the first words of the tasks that the simulated planner makes for them.
const TASKS: [(&str, &str); 6] = [
    (members::INTENT, "Find out domain, intent and slots of: "),
    (members::TIME, "Work out dates and times of: "),
    (members::LOCATION, "Work out the places of: "),
    (members::URL, "Write the URL for: "),
    (members::REQUEST, "Send the request for: "),
    (members::RESPONSE, "Write the reply to: "),
];

/// Reply of a model that knows (or believes) `gold` to `request`, of which it sees nothing but the messages.
pub(crate) fn reply(request: &ChatRequest, gold: &Gold) -> Reply {
    let asked =
        request.messages.iter().rfind(|message| message.role == ChatRole::User).map_or("", |message| &message.content);
    let done = Done::of(prompt::section_of(asked, RESULTS));
    let gold = gold.clone().heard(&Heard {
        intent: done.of_member(members::INTENT),
        time: done.of_member(members::TIME),
        location: done.of_member(members::LOCATION),
    });
    let answered = answers_of_tools(&request.messages);
    let result = match request.member.as_ref().map(|member| member.as_str()) {
        Some(members::PLANNER) if asked.starts_with(DECOMPOSE) => return Reply::said(pieces(&gold, asked)),
        Some(members::PLANNER) if asked.starts_with(COMPOSE) => return Reply::said(gold.answer(&done.bodies())),
        Some(members::COORDINATOR) if asked.starts_with(HIRE) => {
            let conf = json!({"role": "helper", "sys_msg": "You help where others have failed.", "description": "Helper: does what is left"});
            return Reply::said(conf.to_string());
        }
        Some(members::COORDINATOR) => return Reply::said(json!({"assignee_id": assignee(&gold, asked)}).to_string()),
        Some(members::INTENT) => gold.intent_text(),
        Some(members::TIME) if gold.needs_date() && answered.is_empty() => {
            return calling(request, "getdate", "{}".to_owned());
        }
        Some(members::TIME) => gold.time_text(),
        Some(members::LOCATION) => gold.location_text(),
        Some(members::URL) => gold.next_url(&[]).unwrap_or_else(|| "There is nothing to request.".to_owned()),
        Some(members::REQUEST) => {
            // The first URL is that of the url agent; what has to follow depends on what was answered.
            let first = done.of_member(members::URL).and_then(url_in).map(str::to_owned);
            let next =
                if answered.is_empty() { first.or_else(|| gold.next_url(&[])) } else { gold.next_url(&answered) };
            if let Some(url) = next {
                return calling(request, "req", json!({"url": url}).to_string());
            }
            let bodies: Vec<&str> = answered.iter().map(|body| body.trim()).collect();
            bodies.join("\n")
        }
        Some(members::RESPONSE | members::WORKER) => gold.answer(&done.bodies()),
        _ => "The others know what to do.".to_owned(),
    };
    Reply::said(json!({"content": result, "failed": false}).to_string())
}

/// The pieces of the whole: one for each member that has something to do.
fn pieces(gold: &Gold, asked: &str) -> String {
    let task = prompt::section_of(asked, TASK);
    let requests = gold.next_url(&[]).is_some();
    let pieces: Vec<String> = TASKS
        .iter()
        .filter(|(member, _)| {
            let is_needed = match *member {
                members::TIME => gold.needs_time(),
                members::LOCATION => gold.needs_location(),
                members::URL | members::REQUEST => requests,
                _ => true,
            };
            is_needed && !(*member != members::INTENT && gold.slips(&format!("planner: {member}")))
        })
        .map(|(_, words)| format!("<task>{words}{task}</task>"))
        .collect();
    format!("<tasks>\n{}\n</tasks>", pieces.join("\n"))
}

/// The id of the worker whose work a task is, as its first words say; the first worker's for any other task, or by mistake.
fn assignee(gold: &Gold, asked: &str) -> String {
    let task = prompt::section_of(asked, TASK);
    let member = TASKS.iter().find(|(_, words)| task.starts_with(words)).map(|(member, _)| *member);
    let member = member.filter(|member| !gold.slips(&format!("coordinator: {member}"))).unwrap_or(members::MANAGER);
    let described = format!(":<{}>:", prompts::described(member));
    let workers = prompt::section_of(asked, WORKERS);
    let line = workers.lines().find(|line| line.contains(&described)).or_else(|| workers.lines().next());
    let id = line.and_then(|line| line.strip_prefix('<')).and_then(|line| line.split('>').next());
    id.unwrap_or_default().to_owned()
}

/// A call; its id is that of no other call of the session, since no two requests are alike.
fn calling(request: &ChatRequest, name: &str, arguments: String) -> Reply {
    let messages = request.messages.iter().map(|message| message.content.as_bytes());
    let digest = Digest::of_parts(messages.chain([name.as_bytes()])).to_string();
    let digits = digest.rsplit(':').next().and_then(|digits| digits.get(..16)).unwrap_or_default();
    Reply::calling(
        None,
        vec![ToolCall { id: format!("call_{digits}").into(), name: name.into(), arguments: arguments.into() }],
    )
}

/// Answers of tools since the worker was last asked.
fn answers_of_tools(messages: &[ChatMessage]) -> Vec<&str> {
    let since = messages.iter().rposition(|message| message.role == ChatRole::User).map_or(0, |at| at + 1);
    let answers = messages.iter().skip(since).filter(|message| message.role == ChatRole::Tool);
    answers.map(|message| &*message.content).collect()
}

/// The URL in what was said.
fn url_in(text: &str) -> Option<&str> {
    let start = text.find("http")?;
    text.get(start..).map(|url| url.lines().next().unwrap_or_default().trim())
}

/// Finished tasks with their results, which may have several lines.
struct Done<'t> {
    results: Vec<(&'t str, &'t str)>,
}

impl<'t> Done<'t> {
    fn of(section: &'t str) -> Self {
        let mut results = Vec::new();
        let mut rest = section;
        while let Some((_, after)) = rest.split_once("id: ") {
            let end = after
                .match_indices("\n")
                .map(|(at, _)| at)
                .find(|at| after.get(at + 1..).is_some_and(|next| next.trim_start().starts_with("id: ")));
            let (entry, next) = after.split_at_checked(end.unwrap_or(after.len())).unwrap_or((after, ""));
            if let Some((content, result)) =
                entry.split_once(", content: ").and_then(|(_, entry)| entry.split_once(", result: "))
            {
                results.push((content, result));
            }
            rest = next;
        }
        Self { results }
    }

    /// Result of the last finished task of a member.
    fn of_member(&self, member: &str) -> Option<&'t str> {
        let (_, words) = TASKS.iter().find(|(other, _)| *other == member)?;
        self.results.iter().rev().find(|(content, _)| content.starts_with(words)).map(|(_, result)| *result)
    }

    /// Answers of servers, a line each.
    fn bodies(&self) -> Vec<&'t str> {
        self.of_member(members::REQUEST).map(|result| result.lines().collect()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_is_read_again() {
        let done = Done::of(
            "id: 0.0, content: Find out domain, intent and slots of: x, result: domain:a,intent:b\n\
             id: 0.1, content: Send the request for: x, result: {\"a\":1}\n{\"id\": 2}\n  id: 0.1.0, content: y, result: ",
        );
        assert_eq!(done.of_member(members::INTENT), Some("domain:a,intent:b"));
        assert_eq!(done.bodies(), ["{\"a\":1}", "{\"id\": 2}"]);
        assert_eq!(done.results.last(), Some(&("y", "")));
        assert!(Done::of("").results.is_empty());
    }
}
