//! The Python package: what it reads of a run is what the run's files say, and its parts work without anything installed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::Output;

use regatta_tests::regatta::{binary, finish, skipped, workspace};
use tokio::process::Command;

/// Runs `script` with the package of this checkout; `None`, with a sentence, where there is no Python.
async fn python(script: &str, arguments: &[&Path]) -> Option<Output> {
    if Command::new("python3").arg("--version").output().await.is_err() {
        skipped("python", "there is no python3; `apt-get install python3` brings it");
        return None;
    }
    let mut command = Command::new("python3");
    command
        .arg("-c")
        .arg(script)
        .args(arguments)
        .current_dir(workspace())
        .env("PYTHONPATH", workspace().join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("REGATTA_BINARY", binary().unwrap());
    Some(finish(command).await.unwrap())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const READS_WHAT_THE_FILES_SAY: &str = r#"
import json, sys
import regatta
out = sys.argv[1]
run = regatta.run("examples/declared.yaml", out)
lines = [json.loads(line) for line in open(f"{out}/results.jsonl")]
assert len(run.sessions) == len(lines) > 0
for row, line in zip(run.sessions, lines):
    assert [row[name] for name in ("cell", "item", "outcome", "flags")] == [line[name] for name in ("cell", "item", "outcome", "flags")]
    for evaluator, values in line["scores"].items():
        for name, value in values.items():
            assert row[f"{evaluator}.{name}"] == value
summary = json.load(open(f"{out}/summary.json"))
assert run.summary == summary
for row, of in zip(run.leaderboard(), summary["rows"]):
    for metric in of["metrics"]:
        if metric["headline"]:
            assert row[f"{metric['evaluator']}.{metric['metric']}"] == metric["value"]
assert len(run.attempts) == summary["spending"]["attempts"]
assert sum(run.attempts.column("calls")) == summary["spending"]["calls"] == len(run.calls)
assert sum(run.calls.column("usage.output")) == summary["spending"]["usage"]["output"]
assert sum(run.calls.column("cost_nanodollars")) == summary["spending"]["cost"]["known"]
assert len(run.metrics) == len(json.load(open(f"{out}/metrics.json"))["metrics"])
transcripts = list(run.transcripts())
assert {(one["cell"], one["item"]) for one in transcripts} == {(one["cell"], one["item"]) for one in lines}
assert run.verdicts == [] and run.verdicts.columns == ["answerer", "question", "verdict"]
assert run.sessions.where(model="sim/oracle").column("declared.correct")[0] == 1.0
page = run._repr_html_()
assert "<table>" in page and "sim/noisy-0.3" in page
for rows in (run.sessions, run.attempts, run.metrics, run.calls):
    try: assert rows.to_pandas().shape == (len(rows), len(rows.columns))
    except ImportError: pass
    try: assert rows.to_polars().shape == (len(rows), len(rows.columns))
    except ImportError: pass

# A picture has the leaderboard's numbers, by whatever draws it.
import types
from regatta import plot
drawn = {}
class Axes:
    figure = types.SimpleNamespace(tight_layout=lambda: None)
    def barh(self, labels, values, xerr, capsize):
        drawn.update(labels=labels, values=values, low=xerr[0], high=xerr[1])
    def invert_yaxis(self): pass
    def set_xlabel(self, name):
        drawn["name"] = name
matplotlib, pyplot = types.ModuleType("matplotlib"), types.ModuleType("matplotlib.pyplot")
matplotlib.pyplot = pyplot
sys.modules.update({"matplotlib": matplotlib, "matplotlib.pyplot": pyplot})
axes = Axes()
assert plot.leaderboard(run, axes=axes) is axes
name = drawn["name"]
shown = [row for row in run.leaderboard() if row[name] is not None]
assert len(shown) >= 2 and drawn["values"] == [row[name] for row in shown]
for row, label, value, low, high in zip(shown, drawn["labels"], drawn["values"], drawn["low"], drawn["high"]):
    assert label.startswith(row["model"]) and low >= 0 and high >= 0
    ends = [value if row[f"{name} {end}"] is None else row[f"{name} {end}"] for end in ("low", "high")]
    assert abs(value - low - ends[0]) < 1e-9 and abs(value + high - ends[1]) < 1e-9
try:
    plot.leaderboard(run, metric="none", axes=axes)
except ValueError as error:
    assert name in str(error)
else:
    raise AssertionError("there is no such metric")
print("read", len(lines))
"#;

#[tokio::test(flavor = "multi_thread")]
async fn frames_have_the_numbers_of_the_files() {
    let place = tempfile::tempdir().unwrap();
    let Some(output) = python(READS_WHAT_THE_FILES_SAY, &[&place.path().join("run")]).await else { return };
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "read 480\n");
}

const SAYS_WHAT_WENT_WRONG: &str = r#"
import sys
import regatta
out = sys.argv[1]
try:
    regatta.run({"name": "bad", "benchmarks": {"nobench": {}}, "endpoints": {"sim": {"kind": "simulated"}}, "models": ["sim/oracle"]}, out + "/bad")
except regatta.RunFailed as failed:
    assert failed.code == 78 and "nobench" in failed.said, failed
else:
    raise SystemExit("not refused")
try:
    regatta.load(out)
except FileNotFoundError as missing:
    assert "summary.json" in str(missing)
else:
    raise SystemExit("not refused")
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_spec_is_an_exception_with_what_was_said() {
    let place = tempfile::tempdir().unwrap();
    let Some(output) = python(SAYS_WHAT_WENT_WRONG, &[place.path()]).await else { return };
    assert!(output.status.success(), "{}", text(&output.stderr));
}

const WORLDS: &str = r#"
import http.server, json, os, sys, threading
from regatta.benchmark import Item, McpServer, Reply, Worlds, container

class World:
    made, closed = 0, 0
    tools = [{"name": "add", "description": "", "parameters": {}}]
    def __init__(self, item):
        World.made += 1
        self.sum, self.calls = item.seed, 0
    def call(self, name, arguments):
        self.calls += 1
        self.sum += arguments["n"]
        return str(self.sum)
    def close(self):
        World.closed += 1

def said(*numbers):
    calls = [{"id": f"c{n}", "name": "add", "arguments": json.dumps({"n": n}) if n else "["} for n in numbers]
    return Reply("agent", None, calls)

# A session goes on where it stands, and one that begins again has a fresh world.
item, worlds = Item("a", seed=100), Worlds(World, keep=2)
told = lambda seen: [message["content"] for message in seen.messages if message["role"] == "tool"]
assert told(worlds.after(item, [])) == [] and World.made == 1
assert told(worlds.after(item, [said(1)])) == ["101"] and World.made == 1
assert told(worlds.after(item, [said(1), Reply("user", "more", []), said(2, 0)])) == ["101", "103", "error: the arguments are no JSON object"]
assert World.made == 1
assert told(worlds.after(item, [said(5)])) == ["105"] and World.made == 2
roles = [message["role"] for message in worlds.after(item, [said(5), Reply("user", "more", [])]).messages]
assert roles == ["assistant", "tool", "user"] and World.made == 2
# Another item's world is another one, and no more are kept than may be.
assert told(worlds.after(Item("b", seed=0), [said(5)])) == ["5"]
assert (World.made, World.closed) == (3, 1)
# Whoever scores may change its world: it is nobody else's.
with worlds.apart(item, [said(5)]) as world:
    assert world.call("add", {"n": 1}) == "106"
assert told(worlds.after(item, [said(5)])) == ["105"]

assert told(worlds.after(item, [Reply("agent", None, [{"id": "c", "name": "close", "arguments": "{}"}])])) == ["error: there is no tool close"]
# Where a session stands is found without looking up each beginning of its calls.
class Name(str):
    hashed = 0
    def __hash__(self):
        Name.hashed += 1
        return super().__hash__()
many = Reply("agent", None, [{"id": f"c{n}", "name": Name("add"), "arguments": '{"n": 1}'} for n in range(300)])
assert told(worlds.after(item, [many]))[-1] == "400" and told(worlds.after(item, [many, many]))[-1] == "700"
assert Name.hashed <= 600, Name.hashed

SERVER = """
import json, sys
def say(message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        say({"method": "notifications/message", "params": {}})
        say({"id": "their-1", "method": "ping"})
        assert json.loads(sys.stdin.readline()) == {"jsonrpc": "2.0", "id": "their-1", "result": {}}
        say({"id": message["id"], "result": {"protocolVersion": "2025-03-26", "instructions": "Be kind.", "capabilities": {}}})
    elif message.get("method") == "tools/list":
        page = message["params"].get("cursor")
        say({"id": message["id"], "result": {"tools": [{"name": page or "first"}], **({} if page else {"nextCursor": "second"})}})
    elif message.get("method") == "tools/call":
        if message["params"]["name"] == "end": sys.exit(3)
        if message["params"]["name"] == "none": say({"id": message["id"], "error": {"code": -32602, "message": "no such tool"}})
        else: say({"id": message["id"], "result": {"isError": message["params"]["name"] == "second", "content": [{"type": "text", "text": "a"}, {"type": "image", "data": ""}]}})
"""
server = McpServer([sys.executable, "-c", SERVER])
assert server.instructions == "Be kind." and [tool["name"] for tool in server.tools] == ["first", "second"]
assert server.tools[0]["parameters"] == {"type": "object", "properties": {}}
assert [server.call(name, {}) for name in ("first", "second", "none")] == ["a\n(image)", "error: a\n(image)", "error: no such tool"]
try:
    server.call("end", {})
except RuntimeError as error:
    assert "ended without an answer to tools/call" in str(error)
else:
    raise AssertionError("an end is no result")
server.close()
assert server._process.returncode == 3

# One that outlives its standard input is asked to end: the client of a container hands that on, and would leave the container behind if it were killed.
STUBBORN = f"import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n{SERVER}\ntime.sleep(600)"
server = McpServer([sys.executable, "-c", STUBBORN])
server.close()
assert server._process.returncode == 7

# A kept world that is gone, as one whose server has forgotten its session, is made anew.
class Gone(World):
    def call(self, name, arguments):
        if self.calls == 1 and item.is_gone:
            item.is_gone = False
            raise RuntimeError("forgotten")
        return super().call(name, arguments)
item, worlds = Item("a", seed=100, is_gone=True), Worlds(Gone)
before = World.closed
assert told(worlds.after(item, [said(1)])) == ["101"]
assert told(worlds.after(item, [said(1), said(2)])) == ["101", "103"] and World.closed == before + 1

class Handler(http.server.BaseHTTPRequestHandler):
    seen, sessions = [], 0
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Handler.seen.append((message.get("method"), self.headers.get("Mcp-Session-Id"), self.headers.get("X-Seed")))
        results = {"initialize": {"protocolVersion": "2025-06-18"}, "tools/list": {"tools": []}, "tools/call": {"content": [{"type": "text", "text": "done"}]}}
        if "id" not in message:
            self.send_response(202); self.send_header("Content-Length", "0"); self.end_headers(); return
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]})
        is_stream = message["method"] == "tools/call"
        body = (f"event: message\r\ndata: {body}\r\n\r\n" if is_stream else body).encode()
        self.send_response(200)
        if message["method"] == "initialize":
            Handler.sessions += 1
            self.send_header("Mcp-Session-Id", f"s{Handler.sessions}")
        self.send_header("Content-Type", "text/event-stream" if is_stream else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_DELETE(self):
        Handler.seen.append(("DELETE", self.headers.get("Mcp-Session-Id"), None))
        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *_): pass

http_server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=http_server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{http_server.server_port}/mcp"
one, two = [McpServer(url=url, headers={"X-Seed": seed}) for seed in ("7", "8")]
assert two.call("x", {}) == "done" and one.tools == []
one.close()
assert Handler.seen[-2:] == [("tools/call", "s2", "8"), ("DELETE", "s1", None)], Handler.seen
assert [of[0] for of in Handler.seen[:3]] == ["initialize", "notifications/initialized", "tools/list"]

for wrong in ({}, {"command": ["x"], "url": url}):
    try:
        McpServer(**wrong)
    except ValueError:
        continue
    raise AssertionError("a server has a command or a url")

command = container("image:1", ["python3", "server.py"], runtime="podman", memory="1g")
assert command[:3] == ["podman", "run", "--rm"] and command[-3:] == ["image:1", "python3", "server.py"]
assert "--network none --memory 1g --memory-swap 1g" in " ".join(command) and "--cap-drop ALL" in " ".join(command)
assert "--env" not in command and container("image:1", env={"SEED": 7})[-3:] == ["--env", "SEED=7", "image:1"]
mounted = container("image:1", files={"/task": "tasks/7"})
assert mounted[-3:-1] == ["--mount", f"type=bind,source={os.getcwd()}/tasks/7,target=/task,readonly"]
print("worlds")
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_world_of_the_helper_is_fresh_for_each_session_also_one_behind_a_server_of_mcp() {
    let Some(output) = python(WORLDS, &[]).await else { return };
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "worlds\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_helper_copies_itself_beside_a_benchmark() {
    let place = tempfile::tempdir().unwrap();
    let script = "import runpy, sys; sys.argv = ['benchmark', sys.argv[1]]; runpy.run_module('regatta.benchmark', run_name='__main__')";
    let Some(output) = python(script, &[place.path()]).await else { return };
    assert!(output.status.success(), "{}", text(&output.stderr));
    let read = |path: &Path| std::fs::read(path).unwrap();
    let helper = read(&workspace().join("python/regatta/benchmark.py"));
    assert!(read(&place.path().join("regatta_benchmark.py")) == helper);
}

/// A benchmark's folder is complete by itself, so that each has a copy of the helper.
#[test]
fn the_helpers_of_the_examples_are_those_that_are_published() {
    for (published, remedy) in [
        ("python/regatta/benchmark.py", "`python3 -m regatta.benchmark FOLDER` makes it anew"),
        ("javascript/regatta_benchmark.mjs", "copy it anew"),
    ] {
        let published = workspace().join(published);
        let name = format!("regatta_benchmark.{}", published.extension().unwrap().display());
        let folders = std::fs::read_dir(workspace().join("examples/benchmarks")).unwrap();
        let copies = folders.map(|folder| folder.unwrap().path().join(&name)).filter(|copy| copy.exists());
        let copies: Vec<PathBuf> = copies.collect();
        assert!(!copies.is_empty(), "{name}");
        let helper = std::fs::read(published).unwrap();
        for copy in copies {
            assert!(std::fs::read(&copy).unwrap() == helper, "{}: {remedy}", copy.display());
        }
    }
}

/// Minutes: `scripts/wheel --test` is the whole of it; here it packs the binary of these tests.
#[tokio::test(flavor = "multi_thread")]
async fn a_wheel_is_installed_into_a_clean_environment_and_runs_the_quick_start_and_a_benchmark_of_ones_own() {
    if std::env::var_os("REGATTA_TEST_WHEEL").is_none() {
        skipped("a wheel", "set REGATTA_TEST_WHEEL to build and install one");
        return;
    }
    let mut command = Command::new("scripts/wheel");
    command.arg("--binary").arg(binary().unwrap()).arg("--test").current_dir(workspace());
    let output = finish(command).await.unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    for told in ["Run('runs/first', complete)", "Run('runs/quiz', complete)", ", trial 0, item q"] {
        assert!(text(&output.stdout).contains(told), "{told}: {}", text(&output.stdout));
    }
}
