//! Prompts of the agents (docs/benchmarks/autoslurp.md §3.2), in our own words.
//!
//! One function for whole instructions, [`told`]; one for the single line by which agents are told apart, [`described`]; and the two lists that
//! instructions are made with, [`intents::list`] and [`services::list`]. Where the frameworks' teams are told different things, it is because
//! the official prompts do.

pub(crate) mod intents;
mod managers;
pub(crate) mod services;

use crate::members;
use crate::policy::Policy;

/// System prompt of `member` under `policy`: the system message of an agent of LangGraph, AutoGen and CamelAI, the role of one of
/// AgentLite.
///
/// Empty for a member without a role of its own (AutoGen's selector, CamelAI's planner and coordinator), which its policy instructs.
pub(crate) fn told(policy: Policy, member: &str) -> String {
    match member {
        members::MANAGER => managers::told(policy).to_owned(),
        members::INTENT => intent(policy),
        members::TIME => time(policy),
        members::LOCATION => location(policy),
        members::URL => url(policy),
        members::REQUEST => request(policy),
        members::RESPONSE => response(policy),
        _ => String::new(),
    }
}

/// Description of `member` in one line, as CamelAI's planner and coordinator get it of their workers.
pub(crate) const fn described(member: &str) -> &'static str {
    // Names are told apart by their first letters, because texts cannot be compared in constants.
    match member.as_bytes() {
        [b'm', ..] => "Manager: knows the order in which the others work, and when the task is done",
        [b'i', ..] => "Intent agent: predicts domain, intent and slots of what the user says",
        [b't', ..] => "Time agent: works out dates and times, and has a tool for today's date",
        [b'l', ..] => "Location agent: works out places",
        [b'u', ..] => "URL agent: chooses the server and writes the URL of the request",
        [b'r', b'e', b'q', ..] => "Request agent: sends the request to the server and reports its answer",
        [b'r', b'e', b's', ..] => "Response agent: turns the server's answer into a reply to the user",
        _ => "",
    }
}

fn intent(policy: Policy) -> String {
    let own = match policy {
        Policy::LangGraph => {
            "\nNever ask the user anything: whatever is said, predict. Where a program will read your answer, you may give it as one JSON object \
             instead, {\"domain\": ..., \"intent\": ..., \"slots\": {...}}, and then nothing beside it."
        }
        Policy::CamelAi | Policy::AgentLite => {
            "\nWhen the task comes with an iid, repeat it in your answer as it is, as iid:<number>."
        }
        Policy::AutoGen => "",
    };
    format!(
        "You read one thing that a user says to a smart home and find out what is wanted. Decide on the domain first. Then choose the intent \
         from those of that domain, and collect the slots: what was said about when, where, who, how much and the like, each with a short name \
         and in the very words of the user. Do not work out dates, times or places.\n\
         Answer as domain:<domain>,intent:<intent>,<slot>:<value>,<slot>:<value> and so on. Example: for \"set the alarm to two pm\" the \
         domain is first, domain:alarm, and with it comes intent:alarm_set,time:two pm.{own}\n\n\
         Domains and their intents:\n{}",
        intents::list(policy)
    )
}

fn time(policy: Policy) -> String {
    let own = match policy {
        Policy::CamelAi => " \"This morning\" is 10:00, and \"this afternoon\" is 15:00.",
        Policy::AutoGen => {
            " When a date is given without a time, a default may be used for the time. When there is neither date nor time, you have nothing to \
             do: say so, and leave the rest to the others."
        }
        Policy::LangGraph | Policy::AgentLite => "",
    };
    format!(
        "You work out the slots that are about time: every date becomes year-month-day as in 2025-05-28, every time of day becomes a clock time \
         as in 10:00. The time is 10:00 now. Whenever a date is spoken of, first ask your tool for today's date and count from there; never \
         guess it.{own}\nAnswer with the slots and what they have become, as a list of slot:value or as JSON."
    )
}

fn location(policy: Policy) -> String {
    let own = match policy {
        Policy::LangGraph | Policy::AgentLite => {
            " Rooms and other parts of the house are no places in this sense: leave them as they are."
        }
        Policy::CamelAi | Policy::AutoGen => "",
    };
    format!(
        "You work out the slots that are about places. The user is in New York: what means the place where the user is, as \"here\" or \"my \
         city\", becomes New York.{own}\nAnswer with the slots and what they have become, as a list of slot:value or as JSON."
    )
}

fn url(policy: Policy) -> String {
    let own = match policy {
        Policy::LangGraph => {
            " Slots that others have given other names must be renamed to the names that the server knows; drop what has no counterpart."
        }
        _ => "",
    };
    format!(
        "You choose the server that can do what the user wants, and write the URL that does it, with intent and slots as parameters: \
         http://host:port/path?intent=<intent>&<slot>=<value>. Take only intents and slots that stand beside the server in the list, and the \
         values that the other agents have worked out.{own} Answer with one URL and nothing else.\n\n{}",
        services::list(policy)
    )
}

fn request(policy: Policy) -> String {
    match policy {
        Policy::AgentLite => format!(
            "You choose the server that can do what the task asks for, send the request to it, and finish with what it answers. For the servers \
             of the house, the URL ends with the path, and the query is a JSON text that holds the intent and the slots; for other services, \
             the URL holds everything, and the query is empty. Take only intents and slots that stand beside the server in the list. When the \
             server wants to know more, finish with its question.\n\n{}",
            services::list(policy)
        ),
        Policy::CamelAi => "You send requests. Always call the request tool with the URL that you are given; parameters that come as JSON \
                            become parameters of that URL. Report what the server answers, word for word."
            .to_owned(),
        Policy::LangGraph | Policy::AutoGen => {
            "You send requests. Always call the request tool with the URL that the url agent has written, and never make up an answer yourself. \
             Then report what the server answers."
                .to_owned()
        }
    }
}

fn response(policy: Policy) -> String {
    let form = match policy {
        Policy::LangGraph => " Answer in the form {'response':'<your reply>'}.",
        _ => "",
    };
    format!(
        "You turn what the server has answered into a short reply to the user. Say what was done or found, with the facts that the server gave, \
         and nothing that it did not give. When the server asks for something, ask the user for it.{form}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLES: [&str; 7] = [
        members::MANAGER,
        members::INTENT,
        members::TIME,
        members::LOCATION,
        members::URL,
        members::REQUEST,
        members::RESPONSE,
    ];

    #[test]
    fn everybody_with_a_role_is_told_something_and_described_in_a_line() {
        for role in ROLES {
            for policy in Policy::ALL {
                assert!(!told(policy, role).is_empty(), "{policy} {role}");
            }
            assert!(!described(role).is_empty() && !described(role).contains('\n'), "{role}");
        }
        for other in [members::SELECTOR, members::PLANNER, members::COORDINATOR] {
            assert!(told(Policy::AutoGen, other).is_empty());
        }
    }

    #[test]
    fn what_only_some_are_told_is_told_to_them() {
        let told_to = |role: &str, words: &str| -> Vec<Policy> {
            Policy::ALL.into_iter().filter(|policy| told(*policy, role).contains(words)).collect()
        };
        use Policy::{AgentLite, AutoGen, CamelAi, LangGraph};
        assert_eq!(told_to(members::INTENT, "iid"), [CamelAi, AgentLite]);
        assert_eq!(told_to(members::INTENT, "JSON"), [LangGraph]);
        assert_eq!(told_to(members::TIME, "15:00"), [CamelAi]);
        assert_eq!(told_to(members::TIME, "default"), [AutoGen]);
        assert_eq!(told_to(members::LOCATION, "Rooms"), [LangGraph, AgentLite]);
        assert_eq!(told_to(members::URL, "renamed"), [LangGraph]);
        assert_eq!(told_to(members::REQUEST, "http://127.0.0.1:3000/alarm"), [AgentLite]);
        assert_eq!(told_to(members::RESPONSE, "'response'"), [LangGraph]);
        assert_eq!(told_to(members::MANAGER, "wants to know more"), [LangGraph, AgentLite]);
        assert_eq!(told_to(members::MANAGER, "currencies"), [AgentLite]);
    }

    #[test]
    fn everybody_who_chooses_a_server_has_the_list_and_no_key() {
        for policy in Policy::ALL {
            let chooser = if policy == Policy::AgentLite { members::REQUEST } else { members::URL };
            let told = told(policy, chooser);
            assert!(told.contains(&services::list(policy)));
            for key in ["access_key=", "apikey=", "api_key="] {
                assert!(told.matches(key).count() == told.matches(&format!("{key}KEY&")).count(), "{policy} {key}");
            }
        }
    }
}
