//! Loading of the data set.

use std::collections::BTreeMap;

use proptest::prelude::*;
use regatta_proto::FileSet;

use super::scenario::Decision;
use super::shared::{miniature, official};
use super::*;

fn of(data: &Data, language: Language) -> impl Iterator<Item = &Scenario> {
    data.scenarios.iter().map(|scenario| &**scenario).filter(move |scenario| scenario.language == language)
}

/// The counts of docs/benchmarks/orchestrationbench.md §1: scenarios, planning calls, decision calls, gold calls, those with one, two, and
/// three or more calls, those of three kinds of rejections.
fn sizes(data: &Data, language: Language) -> [usize; 10] {
    let mut sizes = [0; 10];
    for scenario in of(data, language) {
        sizes[0] += 1;
        sizes[1] += scenario.planning.len();
        for decision in scenario.decisions.iter().filter(|decision| decision.is_asked) {
            sizes[2] += 1;
            let gold = scenario.gold(decision.step).unwrap();
            let said = gold.content.text().unwrap();
            match gold.calls.len() {
                0 if said.contains("AWAITING_USER_INPUT") => sizes[7] += 1,
                0 if said.contains("TOOL_CONSTRAINT_VIOLATION") => sizes[8] += 1,
                0 => sizes[9] += 1,
                calls => {
                    sizes[3] += 1;
                    sizes[3 + calls.min(3)] += 1;
                }
            }
        }
    }
    sizes
}

#[test]
fn the_official_data_have_the_sizes_that_were_counted() {
    let Some(data) = official() else { return };
    assert_eq!(sizes(data, Language::En), [219, 317, 919, 704, 668, 19, 17, 191, 13, 11]);
    assert_eq!(sizes(data, Language::Ko), [222, 323, 944, 722, 686, 19, 17, 199, 14, 9]);
    let steps = |language| {
        of(data, language).map(|scenario| scenario.labels.keys().filter(|key| key.1 == Suffix::Message).count())
    };
    assert_eq!((steps(Language::En).sum::<usize>(), steps(Language::Ko).sum::<usize>()), (2406, 2457));
    assert_eq!((steps(Language::En).min(), steps(Language::Ko).max()), (Some(4), Some(31)));
    let tools = |language| data.agents(language).cards().iter().map(|card| card.tools.len()).sum::<usize>();
    assert_eq!((tools(Language::En), tools(Language::Ko)), (96, 99));
    assert!(Language::ALL.into_iter().all(|language| data.agents(language).cards().len() == 17));
    let queries = |language| {
        let asked = |scenario: &Scenario| {
            let with_query =
                |decision: &&Decision| decision.is_asked && scenario.refined_queries.contains_key(&decision.step);
            scenario.decisions.iter().filter(with_query).count()
        };
        of(data, language).map(asked).sum::<usize>()
    };
    assert_eq!((queries(Language::En), queries(Language::Ko)), (717, 740));
}

#[test]
fn scenarios_come_english_first_and_by_number() {
    let Some(data) = official() else { return };
    let names: Vec<String> = data.scenarios.iter().map(|scenario| scenario.name()).collect();
    assert_eq!((&*names[0], &*names[1], &*names[9], &*names[218]), ("EN/1", "EN/2", "EN/10", "EN/219"));
    assert_eq!((&*names[219], &*names[440]), ("KO/1", "KO/222"));
}

#[test]
fn the_agents_are_those_of_the_spec() {
    let Some(data) = official() else { return };
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    for scenario in of(data, Language::En) {
        for decision in scenario.decisions.iter().filter(|decision| decision.is_asked) {
            *calls.entry(&decision.agent).or_default() += 1;
        }
    }
    let expected = [("place_agent", 146), ("entertainment_agent", 119), ("shopping_agent", 113), ("sports_agent", 13)];
    assert!(expected.into_iter().all(|(agent, count)| calls.get(agent) == Some(&count)), "{calls:?}");
}

#[test]
fn the_oddities_of_the_official_data_are_read_as_the_official_code_reads_them() {
    let Some(data) = official() else { return };
    let decision = data.named("EN/108").decision(3).unwrap();
    assert!(!decision.is_asked && &*decision.agent == "entertainmant_agent");
    let first = |name: &str, step| data.named(name).gold(step).unwrap().calls[0].clone();
    let nameless = first("EN/32", 7);
    assert_eq!((&*nameless.name, &*nameless.arguments), ("tool_name", "{}"));
    for (name, step) in [("EN/123", 9), ("EN/197", 4), ("KO/73", 10)] {
        let call = first(name, step);
        assert!(&*call.name == "tool_name" && call.arguments.contains("refinedQuery"), "{name}/{step}");
    }
    for (name, step) in [("EN/174", 4), ("EN/217", 6), ("KO/221", 5), ("EN/195", 6)] {
        let scenario = data.named(name);
        let label = scenario.label(step, Suffix::Call).unwrap();
        assert!(label.calls.is_empty() && label.content.text().is_some(), "{name}/{step}");
        assert!(scenario.label(step, Suffix::Result).is_none());
    }
    assert!(data.named("EN/78").system_info.is_empty(), "the date is said by the main agent");
    assert!(data.named("EN/85").planning.contains(&8), "a plan that cannot be read is asked for all the same");
}

#[test]
fn the_miniature_set_has_something_of_everything() {
    let data = miniature();
    for language in Language::ALL {
        let [scenarios, planning, decisions, calls, one, two, _, awaiting, violations, general] = sizes(data, language);
        assert_eq!((scenarios, data.agents(language).cards().len()), (6, 4));
        assert!(planning > scenarios && decisions > planning, "{planning} {decisions}");
        assert!(one > 0 && two > 0 && awaiting > 0 && violations > 0 && general > 0 && calls > awaiting);
        let plans: String = of(data, language)
            .flat_map(|scenario| scenario.planning.iter().filter_map(|step| scenario.label(*step, Suffix::Message)))
            .filter_map(|entry| entry.content.text().map(|text| format!("{text}\n")))
            .collect();
        for part in ["depend_on: workflow_1", "workflow_1-1:", "interrupted_workflow_", "type: interrupt", "paused"] {
            assert!(plans.contains(part), "{part}");
        }
        assert!(of(data, language).any(|scenario| scenario.decisions.iter().any(|decision| !decision.is_asked)));
        assert!(of(data, language).any(|scenario| scenario.system_info.is_empty()));
    }
}

const CARD: &str = r#"{"agent_card": {"agent_id": "a_agent", "name": "A", "description": "does a"}, "tools": []}"#;
const STEP: &str = "{step_id: 1, workflow_id: null, agent: user, agent_type: user, data: {content: hello}}";

fn files(files: &[(&str, &str)]) -> FileSet {
    let mut set = FileSet::from_origin("the data");
    for (path, content) in files {
        set.insert(*path, content.as_bytes().to_vec());
    }
    set
}

#[test]
fn the_repository_may_be_in_any_folder() {
    for root in ["", "data/", "repository/data/"] {
        let scenario = format!("steps: [{STEP}]");
        let set = files(&[
            (&format!("{root}KO/scenario_data/7.yaml"), &scenario),
            (&format!("{root}KO/multiagent_cards/a_agent.json"), CARD),
        ]);
        let data = load(&set).unwrap();
        assert_eq!(data.scenarios[0].name(), "KO/7");
        assert_eq!(data.prompts, Prompts::default());
    }
}

#[test]
fn of_many_files_the_scenarios_are_in_order_and_the_first_that_is_broken_is_named() {
    let mut set = files(&[("KO/multiagent_cards/a_agent.json", CARD)]);
    for number in 1..=200 {
        set.insert(format!("KO/scenario_data/{number}.yaml"), format!("steps: [{STEP}]"));
    }
    let names: Vec<String> = load(&set).unwrap().scenarios.iter().map(|scenario| scenario.name()).collect();
    assert_eq!(names, (1..=200).map(|number| format!("KO/{number}")).collect::<Vec<_>>());
    for number in [190, 70, 71] {
        set.insert(format!("KO/scenario_data/{number}.yaml"), "steps: 3");
    }
    let error = load(&set).unwrap_err().to_string();
    assert!(error.contains("KO/scenario_data/70.yaml"), "{error}");
}

proptest! {
    /// Any scenario text is either read or refused.
    #[test]
    fn no_content_is_too_odd(
        texts in proptest::collection::vec(("(workflow_|tool: |tool_call: |)", ".{0,40}", "(user|main|a_agent)"), 1..6)
    ) {
        let steps = (1..).zip(&texts).map(|(step, (start, text, agent))| {
            let kind = if agent == "a_agent" { "agent" } else { agent };
            let content = serde_json::Value::from(format!("{start}{text}"));
            format!("- {{step_id: {step}, agent: {agent}, agent_type: {kind}, data: {{content: {content}}}}}\n")
        });
        let scenario = format!("steps:\n{}", steps.collect::<String>());
        let set = files(&[("EN/scenario_data/1.yaml", &scenario), ("EN/multiagent_cards/a_agent.json", CARD)]);
        if let Ok(data) = load(&set) {
            let [scenario] = &data.scenarios[..] else { unreachable!("one file") };
            prop_assert_eq!(scenario.labels.keys().filter(|key| key.1 == Suffix::Message).count(), texts.len());
            for decision in &scenario.decisions {
                prop_assert!(scenario.gold(decision.step).is_some());
            }
        }
    }

    /// A truncated or altered scenario file is either read or refused.
    #[test]
    fn no_file_is_too_broken(at in any::<proptest::sample::Index>(), with in ".{0,3}") {
        let good = format!("steps: [{STEP}]");
        let at = at.index(good.len());
        let scenario = format!("{}{with}{}", &good[..at], &good[at + 1..]);
        let set = files(&[("EN/scenario_data/1.yaml", &scenario), ("EN/multiagent_cards/a_agent.json", CARD)]);
        if let Ok(data) = load(&set) {
            prop_assert_eq!(data.scenarios.len(), 1);
        }
    }
}

#[test]
fn malformed_files_are_errors_that_say_where() {
    let mut said = String::new();
    let mut say = |what: &str, set: &[(&str, &str)]| {
        let error = load(&files(set)).err().map_or("no error".to_owned(), |error| error.to_string());
        said.push_str(&format!("{what}:\n  {error}\n"));
    };
    let path = "EN/scenario_data/1.yaml";
    let card_path = "EN/multiagent_cards/a_agent.json";
    say("nothing", &[]);
    say("agents only", &[(card_path, CARD)]);
    say("no agents", &[(path, &format!("steps: [{STEP}]"))]);
    let scenarios = [
        ("no YAML", "steps:\n- {".to_owned()),
        ("a day that does not exist", "steps: [2025-02-30]".to_owned()),
        ("a list", "- 1".to_owned()),
        ("no steps", "metadata: {}".to_owned()),
        ("empty", "steps: []".to_owned()),
        ("too short", format!("metadata: {{total_steps: 2}}\nsteps: [{STEP}]")),
        ("too short for sure", format!("metadata: {{total_steps: many}}\nsteps: [{STEP}]")),
        ("a step that is a text", "steps: [hello]".to_owned()),
        ("a gap", format!("steps: [{STEP}, {}]", STEP.replace("1", "3"))),
        ("an id in quotes", format!("steps: [{}]", STEP.replace("1", "'1'"))),
        ("no agent", format!("steps: [{}]", STEP.replace(" agent: user,", ""))),
        ("an agent that YAML takes for a boolean", format!("steps: [{}]", STEP.replace("agent: user", "agent: no"))),
        ("somebody else as user", format!("steps: [{}]", STEP.replace("agent: user", "agent: Ada"))),
        ("no data", format!("steps: [{}]", STEP.replace("data: ", "date: "))),
        ("content that YAML takes for a date", format!("steps: [{}]", STEP.replace("hello", "2025-08-01"))),
        ("content that YAML takes for a time", format!("steps: [{}]", STEP.replace("hello", "12:30"))),
        ("a result that is no JSON", {
            let call = "'{tool: find, tool_call_result: {day: 2025-08-01}}'";
            format!(
                "steps: [{}]",
                STEP.replace("agent: user, agent_type: user", "agent: a, agent_type: agent").replace("hello", call)
            )
        }),
    ];
    for (what, content) in &scenarios {
        say(what, &[(path, content), (card_path, CARD)]);
    }
    let good = format!("steps: [{STEP}]");
    let cards = [
        ("no JSON", "{".to_owned()),
        ("no card", "{}".to_owned()),
        ("no id", CARD.replace("agent_id", "id")),
        ("tools that are no list", CARD.replace("[]", "{}")),
        ("a tool without a name", CARD.replace("[]", r#"[{"parameters": {}}]"#)),
        ("a tool without parameters", CARD.replace("[]", r#"[{"name": "find"}]"#)),
        ("a skill without a description", CARD.replace(r#""name""#, r#""skills": [{"id": "s"}], "name""#)),
    ];
    for (what, card) in &cards {
        say(what, &[(path, &good), (card_path, card)]);
    }
    say("an agent twice", &[(path, &good), (card_path, CARD), ("EN/multiagent_cards/b_agent.json", CARD)]);
    say("a scenario twice", &[(path, &good), (card_path, CARD), ("data/EN/scenario_data/1.yaml", &good)]);
    let config = "config/base_config/multiagent_config.yaml";
    say("no prompts", &[(path, &good), (card_path, CARD), (config, "prompts: {general: {prompt: 3}}")]);
    let mut set = files(&[(card_path, CARD)]);
    set.insert(path, vec![b' '; 4_000_001]);
    said.push_str(&format!("too large:\n  {}\n", load(&set).unwrap_err()));
    set.insert(path, b"steps:\n- \xff".to_vec());
    said.push_str(&format!("not UTF-8:\n  {}\n", load(&set).unwrap_err()));
    insta::assert_snapshot!("malformed", said);
}
