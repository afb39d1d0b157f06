//! Worlds that programs serve: in Python and JavaScript alike, and those that do not fit their sessions.

use regatta_proto::ToolCall;
use serde_json::json;

use super::*;

/// A button for the agent that sticks once it was pressed, and a display for the user, behind the same functions in two languages.
const PYTHON: &str = r#"
from regatta_benchmark import *

class Button:
    tools = {"agent": [tool("press", "")], "user": [tool("look", "")]}
    presses = 0

    def call(self, name, arguments):
        if self.presses == 1:
            raise ToolError("it sticks")
        self.presses += 1
        return "pressed"

    def snapshot(self):
        return {"presses": self.presses}

class Pressing(Benchmark):
    def load(self, data):
        return [Item(id="a")]

    def world(self, item, setting, seed):
        return Button()

    def next(self, item, setting, transcript):
        return done() if len(transcript) == 3 else ask([{"role": "user", "content": "Press."}, *conversation(transcript)])

    def score(self, item, setting, transcript, verdicts, world):
        return {"right": world.snapshot["presses"]}, {"world": world._asdict(), "results": [reply.results for reply in transcript]}

Pressing().serve()
"#;
const JAVASCRIPT: &str = r#"
import { ToolError, ask, conversation, done, serve } from "./regatta_benchmark.mjs";

const tool = (name) => ({ name, description: "", parameters: { type: "object", properties: {} } });
serve({
  load: () => [{ id: "a" }],
  world: async () => {
    let presses = 0;
    return {
      tools: { agent: [tool("press")], user: [tool("look")] },
      call: async () => {
        if (presses === 1) throw new ToolError("it sticks");
        presses += 1;
        return "pressed";
      },
      snapshot: () => ({ presses }),
    };
  },
  next: (item, setting, transcript) => transcript.length === 3 ? done() : ask([{ role: "user", content: "Press." }, ...conversation(transcript)]),
  score: (item, setting, transcript, verdicts, world) => ({
    values: { right: world.snapshot.presses },
    detail: { world, results: transcript.map(({ results }) => results ?? []) },
  }),
});
"#;

fn in_language(program: &str, file: &str, text: &str, helper: &str) -> FileSet {
    let mut files = FileSet::from_origin("folder");
    let helper_file = helper.rsplit('/').next().unwrap();
    let yaml = format!("v: 1\nprogram: [{program}, {file}]\nfiles: [{helper_file}]\nvalues: {{ right: {{}} }}\n");
    files.insert(FILE, yaml);
    files.insert(file, text.to_owned());
    files.insert(helper_file, std::fs::read(examples().join("benchmarks").join(helper)).unwrap());
    files
}

fn calls(of: &[(&str, &str)]) -> Reply {
    let call = |(at, (name, arguments)): (usize, &(&str, &str))| ToolCall {
        id: format!("call_{at}").into(),
        name: (*name).into(),
        arguments: (*arguments).into(),
    };
    Reply::calling(None, of.iter().enumerate().map(call).collect())
}

fn is_a_world_of_its_session(files: &FileSet) {
    let suite = DECLARED.load(files).unwrap();
    let setting = suite.declared_settings().remove(0);
    let mut asked: Vec<ChatRequest> = Vec::new();
    let session = drive_with(&*suite, ItemIndex(0), &setting, |_, request| {
        asked.push(request.clone());
        match asked.len() {
            1 => calls(&[("press", "{}")]),
            2 => calls(&[("press", "{}"), ("look", "{}"), ("press", "[")]),
            _ => Reply::said("Pressed."),
        }
    });
    let tools: Vec<&str> = asked[0].tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(tools, ["press"], "the display is the user's");
    let told: Vec<&str> =
        asked[2].messages.iter().filter(|one| one.tool_call_id.is_some()).map(|one| &*one.content).collect();
    let results =
        ["pressed", "error: it sticks", "error: there is no tool look", "error: the arguments are no JSON object"];
    assert_eq!(told, results);
    let Scoring::Scored(scores) = scoring(&*suite, ItemIndex(0), &setting, &session) else { panic!() };
    let score = &scores[&Evaluator::Declared];
    assert_eq!(score.values["right"], 1.0);
    let expected = json!({
        "world": {"seed": 2_422_844_085_u32, "snapshot": {"presses": 1}},
        "results": [results[..1], results[1..], []],
    });
    assert_eq!(score.detail, expected);
}

#[test]
fn a_program_in_python_serves_the_tools_of_a_sessions_world() {
    if has("python3") {
        is_a_world_of_its_session(&in_language("python3", "b.py", PYTHON, "router/regatta_benchmark.py"));
    }
}

#[test]
fn a_program_in_javascript_serves_the_tools_of_a_sessions_world() {
    if has("node") {
        is_a_world_of_its_session(&in_language("node", "b.mjs", JAVASCRIPT, "anagrams/regatta_benchmark.mjs"));
    }
}

/// Calls a function of a world that is none of its tools, and one with half a character in its arguments.
fn is_called_as_its_tools_say(files: &FileSet) {
    let suite = DECLARED.load(files).unwrap();
    let setting = suite.declared_settings().remove(0);
    let mut asked: Vec<ChatRequest> = Vec::new();
    let _ = drive_with(&*suite, ItemIndex(0), &setting, |_, request| {
        asked.push(request.clone());
        match asked.len() {
            1 => calls(&[("snapshot", "{}"), ("press", r#"{"text":"a\ud83d\u00e9"}"#)]),
            _ => Reply::said("Pressed."),
        }
    });
    let told: Vec<&str> =
        asked[1].messages.iter().filter(|one| one.tool_call_id.is_some()).map(|one| &*one.content).collect();
    assert_eq!(told, ["error: there is no tool snapshot", "a?é"]);
}

#[test]
fn a_world_is_called_by_the_names_of_its_tools_alone_and_whatever_a_model_wrote_is_answered() {
    if has("python3") {
        let listed =
            PYTHON.replace(r#"{"agent": [tool("press", "")], "user": [tool("look", "")]}"#, r#"[tool("press", "")]"#);
        let echoing = listed.replace("return \"pressed\"", "return arguments[\"text\"]");
        is_called_as_its_tools_say(&in_language("python3", "b.py", &echoing, "router/regatta_benchmark.py"));
    }
    if has("node") {
        let listed = JAVASCRIPT.replace("{ agent: [tool(\"press\")], user: [tool(\"look\")] }", "[tool(\"press\")]");
        let echoing = listed.replace("async () => {\n        if", "async (name, { text }) => {\n        if");
        let echoing = echoing.replace("return \"pressed\"", "return text");
        is_called_as_its_tools_say(&in_language("node", "b.mjs", &echoing, "anagrams/regatta_benchmark.mjs"));
    }
}

#[test]
fn a_snapshot_is_given_to_whoever_scores_as_the_world_wrote_it() {
    if !has("python3") {
        return;
    }
    let large = PYTHON
        .replace("{\"presses\": self.presses}", "{\"presses\": self.presses, \"large\": 2**64 + 1}")
        .replace("world.snapshot[\"presses\"]", "world.snapshot[\"large\"] == 2**64 + 1");
    let suite = DECLARED.load(&in_language("python3", "b.py", &large, "router/regatta_benchmark.py")).unwrap();
    let setting = suite.declared_settings().remove(0);
    let session = drive_with(&*suite, ItemIndex(0), &setting, |_, _| Reply::said("Pressed."));
    assert_eq!(value(&*suite, ItemIndex(0), &setting, &session, "right"), 1.0);
}

#[test]
fn a_world_that_draws_by_chance_instead_of_its_seed_is_caught() {
    if !has("python3") {
        return;
    }
    let drawn = PYTHON.replace("return \"pressed\"", "return str(random.random())");
    let files = in_language("python3", "b.py", &format!("import random\n{drawn}"), "router/regatta_benchmark.py");
    let suite = DECLARED.load(&files).unwrap();
    let setting = suite.declared_settings().remove(0);
    let Step::Ask(role, request) = suite.next(ItemIndex(0), &setting, &Transcript::default()) else { panic!() };
    let transcript = Transcript { events: vec![answered(role, request, calls(&[("press", "{}")]))] };
    let Step::Failed(failed) = suite.next(ItemIndex(0), &setting, &transcript) else { panic!() };
    assert!(failed.why.starts_with("serve of item a in default: the program is not pure"), "{}", failed.why);
}

#[test]
fn a_world_that_does_not_fit_its_session_costs_the_session() {
    let tools = |serve: &str| {
        let load = r#"{"items": [{"id": "a"}], "functions": ["serve"]}"#;
        let next = r#"{"ask": {"messages": [{"role": "user", "content": "x"}], "tools": [{"name": "look", "parameters": {}}]}}"#;
        let suite = DECLARED.load(&of(YAML, &[("load", load), ("next", next), ("serve", serve)])).unwrap();
        let setting = suite.declared_settings().remove(0);
        match suite.next(ItemIndex(0), &setting, &Transcript::default()) {
            Step::Ask(_, request) => Ok(request.tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>()),
            Step::Failed(failed) => Err(failed.why),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(tools(r#"{"results": []}"#).unwrap(), ["look"]);
    let of_two = r#"{"results": [], "tools": {"agent": [{"name": "press", "parameters": {}}], "user": [{"name": "shout", "parameters": {}}]}}"#;
    assert_eq!(tools(of_two).unwrap(), ["look", "press"]);
    let said = tools(r#"{"results": ["x"]}"#).unwrap_err();
    assert!(said.ends_with("gave 1 results of 0 calls of tools"), "{said}");
    let said = tools(r#"{"results": [], "tools": {"agent": [{"name": "look", "parameters": {}}]}}"#).unwrap_err();
    assert!(said.ends_with(r#"it gives the role "agent" the tool "look", which its world has too"#), "{said}");
}
