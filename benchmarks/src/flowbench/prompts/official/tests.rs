//! Modules in the form of the official one, with other words.

use serde_json::json;

use super::*;
use crate::flowbench::protocol::Side;

/// A module of the official form.
pub(crate) const MODULE: &str = r#"import re
USER_PROMPT_INSTRUCTION_IN = """
Be a user, \
and a brief one.
1. ${instruction}
2. It is ${datetime}; say ${done} at the end.
""".strip()

USER_PROMPT_CONTEXT = """
${instruction}
So far:
${context}
You now:
"""

USER_INSTRUCTION_HINT = "You are: ${hint}\n"
PROMPT_FUNCTION_INSTRUCTION = """Write JSON.
"""
PROMPT_FUNCTION_INPUT = """Called: ${name}
Takes: ${param_def}
Gives: ${resp_def}
At ${datetime}
${dial}
With: ${args}
"""


class FunctionAgent(Agent):
    def prepare_prompt(self, name, args, msg_list):
        prompt_system = PROMPT_FUNCTION_INSTRUCTION
        prompt_system += "7. Known calls:\n"
        prompt_system += self.func_prompt + "\n"
        api = self.code2api[name]
        return prompt_system, prompt_user

    def postpro(self, text):
        return text
"#;

fn read(module: &str) -> Result<OfficialSimulators, String> {
    let place = Place::file("here", "FlowBench/utils/eval_utils.py");
    OfficialSimulators::read(&place, module.as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn the_simulators_are_told_what_the_module_says() {
    let prompts = read(&MODULE.replace('\n', "\r\n")).unwrap();
    let history = [HistoryLine { side: Side::User, text: "Hi" }, HistoryLine { side: Side::Assistant, text: "Yes?" }];
    assert_eq!(
        prompts.user_system("Ask for $tea.", "noon"),
        "Be a user, and a brief one.\n1. Ask for $tea.\n2. It is noon; say [DONE] at the end."
    );
    assert_eq!(prompts.user_text("Ann", &history), "\nYou are: Ann\n\nSo far:\nUser: Hi\nAssistant: Yes?\nYou now:\n");
    assert_eq!(prompts.environment_system("Action: x"), "Write JSON.\n7. Known calls:\nAction: x\n");
    let function = Function {
        name: "brew".into(),
        parameters: [("kind".to_owned(), json!("which"))].into_iter().collect(),
        result: json!({"cup": 1}),
    };
    let text = |arguments| prompts.environment_text(&function, "noon", &history, arguments);
    let expected =
        "Called: brew\nTakes: {\"kind\": \"which\"}\nGives: {\"cup\": 1}\nAt noon\nUser: Hi\nAssistant: Yes?\nWith: ";
    assert_eq!(text(Some("{}")), format!("{expected}{{}}\n"));
    assert_eq!(text(None), format!("{expected}None\n"));
}

#[test]
fn a_module_of_another_form_is_refused_with_what_is_wrong() {
    let refusals = [
        ("USER_INSTRUCTION_HINT = ", "HINT = "),
        ("${hint}", "${hnt}"),
        ("PROMPT_FUNCTION_INSTRUCTION = \"\"\"", "PROMPT_FUNCTION_INSTRUCTION = text + \"\"\""),
        ("def prepare_prompt(", "def prepare("),
        ("self.func_prompt", "self.calls"),
    ];
    let errors = refusals.map(|(from, to)| read(&MODULE.replace(from, to)).unwrap_err());
    insta::assert_snapshot!(errors.join("\n"));
}
