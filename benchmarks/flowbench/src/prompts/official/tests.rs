//! Modules in the form of the official one, with other texts.

use serde_json::json;

use super::*;
use crate::protocol::Side;

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

def contruct_eval_prompt(key, gt_val, pred_val, eval_prompt, action):
    ret_info = find(eval_prompt, action)
    time_info = time(eval_prompt)
    return_prompt = "Tool " + action + ":\n"
    return_prompt += ret_info + "\n"
    return_prompt += time_info + "\n"
    return_prompt += "Is " +key+" the same? yes/no\n"
    return_prompt += "1: " + gt_val +" \n"
    return_prompt += "2: " + pred_val +" \n"
    return return_prompt

def construct_judge_prompt(target, workflow_info, dialog_str):
    success_prompt = "Is it done?\n"
    success_prompt += target + "\n--\n"
    success_prompt += workflow_info + "\n--\n"
    success_prompt += dialog_str + "\n--\n"
    success_prompt += """
    Result: yes/no
    """
    return success_prompt
"#;

fn read(module: &str) -> Result<OfficialPrompts, String> {
    let place = SourceLocation::file("here", "FlowBench/utils/eval_utils.py");
    OfficialPrompts::read(&place, module.as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn the_simulators_are_told_what_the_module_says() {
    let prompts = read(&MODULE.replace('\n', "\r\n")).unwrap().simulators;
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
        ("return_prompt += ret_info", "return_prompt += block"),
        ("    return_prompt += \"2: \" + pred_val +\" \\n\"\n", ""),
        ("success_prompt += target", "success_prompt += target.strip()"),
        ("    success_prompt += dialog_str", "    if dialog_str:\n        success_prompt += dialog_str"),
    ];
    let errors = refusals.map(|(from, to)| read(&MODULE.replace(from, to)).unwrap_err());
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn the_judges_are_told_what_the_module_says() {
    let judges = read(MODULE).unwrap().judges;
    let asked = judges.fuzzy("brew", Some("API: brew\nBrews."), Some("now: noon"), "kind", ["tea", "chai"]).unwrap();
    assert_eq!(asked, "Tool brew:\nAPI: brew\nBrews.\n\n\nnow: noon\nIs kind the same? yes/no\n1: tea \n2: chai \n");
    assert_eq!(judges.inputs_in(&asked), Some(("tea", "chai")));
    let without = judges.fuzzy("brew", None, None, "kind", ["", "2: x"]).unwrap();
    assert_eq!(without, "Tool brew:\n\n\nIs kind the same? yes/no\n1:  \n2: 2: x \n");
    assert_eq!(judges.inputs_in(&without), Some(("", "2: x")));
    let asked = judges.completion("Buy tea.", "First greet.", "user:\nTea!").unwrap();
    assert_eq!(asked, "Is it done?\nBuy tea.\n--\nFirst greet.\n--\nuser:\nTea!\n--\n\n    Result: yes/no\n    ");
    assert_eq!(judges.session_in(&asked), Some(("Buy tea.", "user:\nTea!")));
    assert_eq!((judges.inputs_in(&asked), judges.session_in("Is it done?")), (None, None));
}

#[test]
fn a_module_without_a_judge_leaves_it_to_our_own_words() {
    let judges = read(&MODULE.replace("contruct_eval_prompt", "other")).unwrap().judges;
    assert_eq!(judges.fuzzy("brew", None, None, "kind", ["tea", "chai"]), None);
    assert!(judges.completion("a", "b", "c").is_some());
    let judges = read(&MODULE.replace("construct_judge_prompt", "other")).unwrap().judges;
    assert_eq!(judges.completion("a", "b", "c"), None);
    assert!(judges.fuzzy("brew", None, None, "kind", ["tea", "chai"]).is_some());
}
