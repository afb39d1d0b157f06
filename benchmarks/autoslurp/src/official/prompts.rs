//! System prompts of the judges. The wording is Regatta's; the rules are each script's (docs/benchmarks/autoslurp.md §8 and §5.3).

use jiff::civil::Date;
use regatta_proto::Script;

const SLOTS: &str = "You check the work of a smart home's assistant. You get the golden slots of what a person said, as name and value pairs, \
     and the answer of the server that the assistant called, which repeats the slots that it received. Decide whether the slots that \
     the server received are right or wrong, by these rules:";
const EMPTY_OR_SAME: &str = "No slots on either side are right, and so are the same slots.";
const CHANGES: &str = "change_to and change_amount mean different things: one in place of the other is wrong.";
const HALF_OF_DAY: &str = "The same time of day is right, with or without am or pm.";
const ALL_IS_NO_DESCRIPTOR: &str =
    "A descriptor with the value all may be left out. The value default, and any other, may not.";
const ALL_IS_NO_DESCRIPTOR_UNLESS_NAMED: &str = "A descriptor with the value all may be left out, but only where the server received no \
     event_name. Any other value may not.";
const PERSONS: &str = "person means the same as from_person and to_person.";
const SONG_NAME: &str = "A query with the value song name may be left out.";
const COMPLETED_PLACE: &str = "A place to which its state or country was added is right.";

const STRICTER: [&str; 3] = [
    "The right value under the name of another slot is wrong; time_zone is not place_name.",
    "A setting must be there.",
    "What the person never said is wrong.",
];

const TASK_EXTERNAL: &str = "You check the work of a smart home's assistant, which had to find something out for a person. You get the task, \
     its annotation, and the log of what the assistant did. Decide whether the task was finished, by these rules:";
const TASK_LOCAL: &str = "You check the work of a smart home's assistant, which had to have a server do something for a person. You get the \
     task, its annotation, and the log of what the assistant did. Decide whether the task was finished, by these rules:";

/// Form of the verdict that a judge is asked for.
const PLAIN: &str = "Say whether it is right or wrong.";
const BRACKETED: &str = "Say <Right> or <Wrong>, in these very letters.";

/// Strictness of a script's judges.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Judges for GPT-4.
    Lenient,
    /// Judges for DeepSeek, except AgentLite's.
    Strict,
    /// Strict judges who also take New York for the place where none was named, and know errors of format.
    StrictAtHome,
}

const fn manner(script: Option<Script>) -> Manner {
    match script {
        None | Some(Script::Langgraph | Script::Agentlite | Script::Camelai | Script::AgentliteDeepseek) => {
            Manner::Lenient
        }
        Some(Script::LanggraphDeepseek) => Manner::Strict,
        Some(Script::CamelaiDeepseek | Script::AutogenDeepseek) => Manner::StrictAtHome,
    }
}

const fn verdict(script: Option<Script>) -> &'static str {
    match script {
        None | Some(Script::Langgraph | Script::Agentlite | Script::Camelai) => PLAIN,
        Some(
            Script::LanggraphDeepseek | Script::AgentliteDeepseek | Script::CamelaiDeepseek | Script::AutogenDeepseek,
        ) => BRACKETED,
    }
}

/// Instructions for the judge of slots, on the day `today`.
pub(super) fn slots(script: Option<Script>, today: Date) -> String {
    let mut rules = vec![EMPTY_OR_SAME.to_owned()];
    let mut add = |rule: &str| rules.push(rule.to_owned());
    if script == Some(Script::Camelai) {
        [HALF_OF_DAY, ALL_IS_NO_DESCRIPTOR, PERSONS, SONG_NAME, COMPLETED_PLACE].into_iter().for_each(&mut add);
        return instructions(SLOTS, &rules, verdict(script));
    }
    add(&format!("For datetime_query, a date that is today, {today}, may be left out."));
    [CHANGES, HALF_OF_DAY, PERSONS, SONG_NAME, COMPLETED_PLACE].into_iter().for_each(&mut add);
    add(match script {
        None => "Differences in event_name and list_name do not matter.",
        Some(Script::Agentlite | Script::AgentliteDeepseek | Script::Camelai) => {
            "Differences in event_name do not matter."
        }
        Some(Script::Langgraph) => "Differences in music_genre and event_name do not matter.",
        Some(Script::LanggraphDeepseek | Script::CamelaiDeepseek | Script::AutogenDeepseek) => {
            "Differences in music_genre and event_name do not matter, nor does a list_name in other words with the same meaning."
        }
    });
    add(match script {
        None | Some(Script::Langgraph | Script::Agentlite | Script::Camelai) => ALL_IS_NO_DESCRIPTOR,
        Some(_) => ALL_IS_NO_DESCRIPTOR_UNLESS_NAMED,
    });
    if manner(script) != Manner::Lenient {
        STRICTER.into_iter().for_each(&mut add);
    }
    if manner(script) == Manner::StrictAtHome {
        add("A place with the value New York may be left out or added.");
        add("An answer that says that a format is not right is wrong.");
    }
    instructions(SLOTS, &rules, verdict(script))
}

/// Instructions for the judge of the whole task.
pub(super) fn task(script: Option<Script>, is_external: bool) -> String {
    let mut rules: Vec<String> = Vec::new();
    let mut add = |rule: &str| rules.push(rule.to_owned());
    if is_external {
        add("There must be an answer of a server; only for chit-chat, general_quirky, a reply that chats is enough.");
        add("For the weather, the reply must say what it is like.");
        add("For a question, the reply must hold the answer itself: an address where it can be read is not enough.");
        add("For currencies, the reply must give the rate. They may be called by their names or by their codes.");
        add("The annotation must agree with what the server answered.");
        if manner(script) != Manner::Lenient {
            add("For news, the reply must tell what they are in some detail.");
        }
    } else {
        add("There must be an answer of a server with {\"code\":\"SUCCESS\"}.");
        add("An answer that says that the intent is not supported is wrong.");
        add("When the server asks for what it still needs to know, that is right.");
    }
    if manner(script) != Manner::Lenient {
        add("A reply with information that nobody and nothing gave is wrong.");
    }
    if manner(script) == Manner::StrictAtHome {
        add("An answer that says that a format is not right is wrong.");
    }
    instructions(if is_external { TASK_EXTERNAL } else { TASK_LOCAL }, &rules, verdict(script))
}

fn instructions(task: &str, rules: &[String], verdict: &str) -> String {
    let rules: String = rules.iter().map(|rule| format!("- {rule}\n")).collect();
    format!("{task}\n{rules}{verdict}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Date = jiff::civil::date(2025, 5, 28);

    #[test]
    fn judges_of_every_script_are_told_how_to_say_it() {
        for script in Script::ALL.map(Some).into_iter().chain([None]) {
            let is_bracketed = regatta_proto::Evaluator::OfficialOf(script.unwrap_or(Script::Langgraph))
                .as_str()
                .ends_with("deepseek");
            for text in [slots(script, DAY), task(script, true), task(script, false)] {
                assert!(text.ends_with(if is_bracketed { BRACKETED } else { PLAIN }), "{script:?}: {text}");
            }
        }
    }

    #[test]
    fn camelai_knows_fewer_rules_and_no_date() {
        let camelai = slots(Some(Script::Camelai), DAY);
        assert!(slots(None, DAY).contains("2025-05-28") && !camelai.contains("2025"));
        assert!(!camelai.contains("event_name") && camelai.contains("from_person"));
    }

    #[test]
    fn the_judges_for_deepseek_are_stricter_but_those_of_agentlite() {
        let told = |script, what| slots(Some(script), DAY).contains(what);
        assert!(told(Script::LanggraphDeepseek, "time_zone") && !told(Script::AgentliteDeepseek, "time_zone"));
        assert!(told(Script::AgentliteDeepseek, "only where the server received no"));
        assert!(told(Script::AutogenDeepseek, "New York") && !told(Script::LanggraphDeepseek, "New York"));
    }

    #[test]
    fn what_the_judges_are_told() {
        let texts = [None, Some(Script::AutogenDeepseek)]
            .map(|script| [slots(script, DAY), task(script, true), task(script, false)].join("\n\n"));
        insta::assert_snapshot!(texts.join("\n\n----\n\n"));
    }
}
