"""Benchmarks in Python, for Regatta: a class with `load`, `next` and `score` becomes the program of a `benchmark.yaml`.

One file without dependencies, for Python 3.8 and later: copy it beside your benchmark (`python -m regatta.benchmark FOLDER`), because a
benchmark brings along everything that it needs.

    from regatta_benchmark import Benchmark, Item, ask, done

    class Sums(Benchmark):
        def load(self, data):
            return [Item(id=str(n), n=n) for n in range(10)]

        def next(self, item, setting, transcript):
            return done() if transcript else ask(f"What is {item.n} + {item.n}?")

        def score(self, item, setting, transcript, verdicts):
            return {"right": float(transcript[-1].text.strip() == str(2 * item.n))}

    Sums().serve()

A benchmark is pure: the same call gives the same answer, in every process and at any time. Regatta repeats some calls in another process and
stops when the answers differ. What is printed goes to standard error; Regatta shows its end when something fails.

Where a session has a world with tools, a method `world` makes it, and Regatta has its tools called as the transcript says. `McpServer` is such a
world: a server of the Model Context Protocol, by command or URL, in a `container` or a `pod` if you like.
"""

import collections
import contextlib
import json
import os
import secrets
import subprocess
import sys
import traceback
import urllib.error
import urllib.request

VERSION = 1
MCP_VERSION = "2025-06-18"


class Item:
    """An item: its id, and whatever else `next` and `score` need, as attributes that stay in this process."""

    def __init__(self, id, task=None, group=None, parts=(), worst=None, **fields):
        self.id, self.task, self.group, self.parts, self.worst = id, task, group, list(parts), worst
        self.__dict__.update(fields)

    def _wire(self):
        named = {"task": self.task, "group": self.group, "parts": self.parts or None, "worst": self.worst}
        return {"id": self.id, **{name: value for name, value in named.items() if value is not None}}


class ToolCall:
    """A call of a tool by a model in `role`; `arguments` are as the model wrote them."""

    def __init__(self, id, name, arguments, role="agent"):
        self.id, self.name, self.arguments, self.role = id, name, arguments, role

    def parsed(self):
        """The arguments as a dict; None where the model wrote no JSON object."""
        try:
            value = json.loads(self.arguments or "{}")
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def wire(self):
        return {"id": self.id, "name": self.name, "arguments": self.arguments}


class Reply:
    """A reply of the session: `role` ("agent", "user", "environment"), `text` (maybe ""), `tool_calls`, their `results` where there is a world."""

    def __init__(self, role, text, tool_calls, results=()):
        self.role, self.text, self.results = role, text or "", list(results)
        self.tool_calls = [ToolCall(**call, role=role) for call in tool_calls]

    def as_message(self):
        """The reply as a message of the assistant, for the next request."""
        return {"role": "assistant", "content": self.text, "tool_calls": [call.wire() for call in self.tool_calls]}


def conversation(transcript, role="agent"):
    """The messages of a session with a world as `role` sees them: its own replies with the results of their calls, and what others say."""
    messages = []
    for reply in transcript:
        if reply.role == role:
            messages.append(reply.as_message())
            results = zip(reply.tool_calls, reply.results)
            messages += [{"role": "tool", "content": result, "tool_call_id": call.id} for call, result in results]
        elif not reply.tool_calls:
            messages.append({"role": "user", "content": reply.text})
    return messages


def ask(messages, role="agent", tools=(), stop=(), temperature=None, top_p=None, max_tokens=None):
    """Asks `role`: `messages` are a text, or dicts with role, content, tool_calls and tool_call_id, and of a user `images`: paths."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    sampling = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens}
    sampling = {name: value for name, value in sampling.items() if value is not None}
    return {"ask": {"role": role, "messages": messages, "tools": list(tools), "stop": list(stop), "sampling": sampling}}


def tool(name, description, **parameters):
    """A function that the model may call; each parameter is its JSON Schema, or the name of its type."""
    schemas = {key: {"type": value} if isinstance(value, str) else value for key, value in parameters.items()}
    schema = {"type": "object", "properties": schemas, "required": list(schemas), "additionalProperties": False}
    return {"name": name, "description": description, "parameters": schema}


def done():
    """The session is over."""
    return {"done": True}


def unfit(why):
    """What has happened is no session of this benchmark."""
    return {"unfit": why}


def questions(*prompts, images=()):
    """Instead of values: what judges are asked, after `images` (paths), before the session can be scored. `verdicts` has their replies by prompt."""
    return {"questions": list(prompts), **({"images": list(images)} if images else {})}


def lines(path):
    """The objects of a JSONL file."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


class ToolError(Exception):
    """Raise it in a tool that cannot do what it was asked: the model is told, and its session goes on."""


WorldState = collections.namedtuple("WorldState", "snapshot seed")


class Worlds:
    """Worlds with tools for a benchmark that calls them itself: a fresh one for each session, with the calls of its transcript in turn.

    `make(item)` starts one. It has `tools`, a list as of `tool(…)`, and `call(name, arguments)`, which gives a text; `close()`, if it holds
    anything. It must be seeded: the same calls always have the same results. A few worlds are kept where their sessions have left them, so
    that the next step of a session repeats no calls if this process is asked for it.
    """

    def __init__(self, make, keep=4):
        self._make, self._kept = make, _Kept(keep)

    def after(self, item, transcript):
        """The world after all calls of the agent: `tools`, and `messages` of the conversation as the agent sees it."""
        calls = _calls(transcript)
        world, results = self._kept.take(item.id, calls, lambda: self._make(item))
        self._kept.put(item.id, calls, world, results)
        in_turn = iter(results)
        for reply in transcript:
            if reply.role == "agent":
                reply.results = [next(in_turn) for _ in reply.tool_calls]
        return Seen(world.tools, conversation(transcript))

    @contextlib.contextmanager
    def apart(self, item, transcript):
        """The same world for whoever scores: it may be asked anything, and is closed behind a `with`."""
        world, _ = self._kept.take(item.id, _calls(transcript), lambda: self._make(item))
        try:
            yield world
        finally:
            _close(world)


class _Kept:
    """Worlds where their sessions have left them, so that the next step of a session repeats no calls."""

    def __init__(self, most):
        self._most, self._worlds = most, []

    def take(self, session, calls, make):
        """A world of `session` after `calls`, and their results; whoever takes it closes it, or puts it back."""
        place = _place(calls)
        # Few are kept and calls may be many, so each is compared once, and not each beginning of the calls looked up.
        on_the_way = [at for at, (of, stood, *_) in enumerate(self._worlds) if of == session and place[: len(stood)] == stood]
        if on_the_way:
            farthest = max(on_the_way, key=lambda at: len(self._worlds[at][1]))
            _, _, world, results = self._worlds.pop(farthest)
            try:
                return world, _play(world, results, calls)
            except Exception:
                # Its server may have ended, or forgotten its session, since its last call: a fresh one says whether that was the reason.
                traceback.print_exc()
        world = make()
        return world, _play(world, [], calls)

    def put(self, session, calls, world, results):
        self._worlds.append((session, _place(calls), world, results))
        while len(self._worlds) > self._most:
            _close(self._worlds.pop(0)[2])


def _play(world, results, calls):
    """All results of `calls`, the first of which `world` has given already. A world that fails is closed."""
    try:
        results += [_result(world, call) for call in calls[len(results) :]]
    except BaseException:
        _close(world)
        raise
    return results


def _result(world, call):
    # A model may call what it likes; a world's other functions are none of its business.
    if all(tool["name"] != call.name for tool in _tools(world).get(call.role, ())):
        return f"error: there is no tool {call.name}"
    arguments = call.parsed()
    if arguments is None:
        return "error: the arguments are no JSON object"
    try:
        return world.call(call.name, arguments)
    except ToolError as error:
        return f"error: {error}"


def _tools(world):
    """The tools of a world, by the role that may call them."""
    return world.tools if isinstance(world.tools, dict) else {"agent": world.tools}


Seen = collections.namedtuple("Seen", "tools messages")


def _calls(transcript):
    return [call for reply in transcript if reply.role == "agent" for call in reply.tool_calls]


def _place(calls):
    return tuple((call.role, call.name, call.arguments) for call in calls)


def _close(world):
    if hasattr(world, "close"):
        world.close()


class McpServer:
    """A server of the Model Context Protocol as a world: a command that is started for it, or a URL at which it is a session of its own.

    Its tools are those of the model. Give it a seed, by arguments, variables or headers, and let it keep nothing between its sessions.
    """

    def __init__(self, command=None, url=None, env=None, headers=None, timeout_s=30, end_s=2):
        if (command is None) == (url is None):
            raise ValueError("an MCP server has a command or a url")
        self._url, self._timeout, self._end, self._number = url, timeout_s, end_s, 0
        self._headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **(headers or {})}
        self._process = None
        if command is not None:
            pipe = subprocess.PIPE
            env = {**os.environ, **(env or {})}
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=env, encoding="utf-8", errors="replace")
        try:
            client = {"name": "regatta", "version": str(VERSION)}
            hello = self._ask("initialize", {"protocolVersion": MCP_VERSION, "capabilities": {}, "clientInfo": client})
            self.instructions = hello.get("instructions") or ""
            self._headers["MCP-Protocol-Version"] = hello.get("protocolVersion", MCP_VERSION)
            self._tell({"method": "notifications/initialized"})
            self.tools = self._all_tools()
        except BaseException:
            self.close()
            raise

    def call(self, name, arguments):
        """The result of a tool as text; what the server refuses is a text too, for the model."""
        try:
            result = self._ask("tools/call", {"name": name, "arguments": arguments})
        except McpError as error:
            return f"error: {error}"
        parts = [part.get("text") if part.get("type") == "text" else f"({part.get('type')})" for part in result.get("content") or []]
        text = "\n".join(part or "" for part in parts)
        return f"error: {text}" if result.get("isError") else text

    def read(self, uri):
        """The text of a resource, as the state that a scorer looks at and that no tool shows."""
        return "\n".join(part.get("text") or "" for part in self._ask("resources/read", {"uri": uri})["contents"])

    def close(self):
        """Ends the server, or its session."""
        if self._process is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            # The client of a container hands the first of these on; killed at once, it would leave the container behind.
            for end, seconds in ((self._process.terminate, self._end), (self._process.kill, 2)):
                try:
                    self._process.wait(timeout=seconds)
                except subprocess.TimeoutExpired:
                    end()
            self._process.wait()
            self._process.stdout.close()
        elif "Mcp-Session-Id" in self._headers:
            request = urllib.request.Request(self._url, headers=self._headers, method="DELETE")
            with contextlib.suppress(OSError):
                urllib.request.urlopen(request, timeout=self._timeout).close()

    def _all_tools(self):
        tools, cursor = [], None
        while True:
            page = self._ask("tools/list", {} if cursor is None else {"cursor": cursor})
            tools += page["tools"]
            cursor = page.get("nextCursor")
            if cursor is None:
                break
        parameters = {"type": "object", "properties": {}}
        return [
            {"name": one["name"], "description": one.get("description") or "", "parameters": one.get("inputSchema") or parameters}
            for one in tools
        ]

    def _ask(self, method, params):
        self._number += 1
        answers = self._tell({"id": self._number, "method": method, "params": params})
        for answer in answers:
            if answer.get("id") == self._number and "method" not in answer:
                if "error" in answer:
                    raise McpError(answer["error"].get("message") or answer["error"])
                return answer["result"]
            if "method" in answer and "id" in answer:
                # It asks for something of its client, which has nothing but to be there.
                said = {"result": {}} if answer["method"] == "ping" else {"error": {"code": -32601, "message": "not known here"}}
                self._tell({"id": answer["id"], **said})
        raise RuntimeError(f"the MCP server ended without an answer to {method}")

    def _tell(self, message):
        """Sends a message; what comes back, message by message."""
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
        if self._process is None:
            return self._post(line, is_call="method" in message and "id" in message)
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise RuntimeError(f"the MCP server takes no messages: {error}") from error
        return (json.loads(line) for line in iter(self._process.stdout.readline, "") if line.strip())

    def _post(self, line, is_call):
        request = urllib.request.Request(self._url, line.encode(errors="replace"), self._headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as response:
                body = response.read().decode() if is_call else ""
                if response.headers.get("Mcp-Session-Id"):
                    self._headers["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
                is_stream = (response.headers.get("Content-Type") or "").startswith("text/event-stream")
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"the MCP server answered with status {error.code}") from error
        if is_stream:
            events = body.replace("\r\n", "\n").split("\n\n")
            bodies = ["\n".join(line[5:].strip() for line in event.split("\n") if line.startswith("data:")) for event in events]
            return [json.loads(data) for data in bodies if data]
        return [json.loads(body)] if body.strip() else []


class McpError(Exception):
    """A call that the server refused."""


def container(
    image, command=(), runtime="docker", memory="512m", cpus=1, processes=256, network="none", user="65534:65534", env=None, files=None
):
    """A command for `McpServer`: `image` in a container of its own, without network, within limits, removed when its world is closed.

    `runtime` is docker or podman. Variables of the server are in `env` here: those of `McpServer` are the runtime's. `files` are the item's: paths in
    the container, each with the file or folder of the benchmark that is there, for reading. The server reads standard input and ends with it, so that
    none is left when the program is killed.
    """
    limits = ["--memory", memory, "--memory-swap", memory, "--cpus", str(cpus), "--pids-limit", str(processes)]
    rights = ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", user, "--read-only", "--tmpfs", "/tmp"]
    variables = [part for name, value in (env or {}).items() for part in ("--env", f"{name}={value}")]
    binds = [f"type=bind,source={os.path.abspath(path)},target={target},readonly" for target, path in (files or {}).items()]
    mounts = [part for bind in binds for part in ("--mount", bind)]
    return [runtime, "run", "--rm", "--interactive", "--init", "--network", network, *limits, *rights, *mounts, *variables, image, *command]


def pod(
    image, command=(), namespace=None, kubeconfig=None, memory="512Mi", cpus=1, user=65534, env=None, labels=None, startup_s=120, deadline_s=3600, name=None
):
    """A command for `McpServer` (with `end_s=30`): `image` in a pod of Kubernetes of its own, within limits, removed when its world is closed.

    It is started by kubectl, whose `kubeconfig` must be named: a program of a benchmark has neither a home nor an account of a cluster. The pod has
    no rights, no token of the cluster and no files to write but `/tmp`; its network is what the cluster's policies leave to the label
    `regatta/role: world`. One whose benchmark is killed ends with its standard input, or when `deadline_s` is over.
    """
    name = name or f"regatta-world-{secrets.token_hex(8)}"

    def literal(word):
        # `$(NAME)` would be a variable.
        return str(word).replace("$", "$$")

    limits = {"cpu": str(cpus), "memory": memory, "ephemeral-storage": "256Mi"}
    server = {
        "name": name,
        "image": image,
        "args": [literal(word) for word in command],
        "env": [{"name": key, "value": literal(value)} for key, value in (env or {}).items()],
        "stdin": True,
        "stdinOnce": True,
        "resources": {"requests": limits, "limits": limits},
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
    spec = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": deadline_s,
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"runAsNonRoot": True, "runAsUser": user, "runAsGroup": user, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [server],
        "volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}}],
    }
    overrides = {"apiVersion": "v1", "metadata": {"labels": {**(labels or {}), "regatta/role": "world"}}, "spec": spec}
    place = [part for flag, value in (("--kubeconfig", kubeconfig), ("--namespace", namespace)) if value for part in (flag, value)]
    run = ["run", name, "--image", image, "--restart", "Never", "--rm", "--stdin", "--quiet", "--pod-running-timeout", f"{startup_s}s"]
    return ["kubectl", *place, *run, "--overrides", json.dumps(overrides, separators=(",", ":"))]


class Benchmark:
    """Write `load`, `next` and `score`; `world`, `tabulate` and `simulate` if you like."""

    settings = ()

    def load(self, data):
        """The items. `data` has the paths of benchmark.yaml's `data`, by split; `self.settings` the names of all settings."""
        raise NotImplementedError

    def next(self, item, setting, transcript):
        """`ask(…)`, `done()` or `unfit(…)`. `setting` has its values by axis, `transcript` the replies so far."""
        raise NotImplementedError

    def score(self, item, setting, transcript, verdicts):
        """A dict with every value that benchmark.yaml declares, or `(values, detail)`, or `questions(…)`."""
        raise NotImplementedError

    # world(self, item, setting, seed): a fresh world of a session. It has `tools`, a list as of `tool(…)` or one for each role, and
    #     `call(name, arguments)`, which gives a text or raises `ToolError`; `snapshot()`, its state, and `close()` if you like. Requests have its
    #     tools, replies the `results` of their calls, and `score` has one argument more, what became of it: a `WorldState`.
    # tabulate(self, trials): anything that JSON can say, from lists of {"item", "values"}.
    # simulate(self, item, setting, role, noise, seed, messages): a text, or a list of ToolCall; wrong in the share `noise` of sessions.

    def serve(self, stdin=None, stdout=None):
        """Answers Regatta's calls until there are no more."""
        if stdout is None:
            # Whatever else writes to standard output, from whatever library, must not stand among the answers.
            # Arguments of models may have halves of characters, which are no text: a question mark stands for each.
            stdout = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace", newline="\n")
            os.dup2(2, 1)
            sys.stdout = sys.stderr
        for line in stdin or sys.stdin:
            message = json.loads(line)
            try:
                if message["v"] != VERSION:
                    raise ValueError(f"this helper speaks version {VERSION} of the protocol, Regatta {message['v']}")
                answer = self._answer(message)
                said = '"answer":' + json.dumps(answer, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            except Exception as error:  # A benchmark that fails in one call goes on with the next.
                traceback.print_exc()
                said = '"error":' + json.dumps(_said(error), ensure_ascii=False)
            stdout.write(f'{{"v":{VERSION},"id":{message["id"]},{said}}}\n')
            stdout.flush()

    def _answer(self, message):
        call = message["call"]
        if call == "load":
            self.settings = [setting["name"] for setting in message["settings"]]
            items = [item if isinstance(item, Item) else Item(**item) for item in self.load(message["data"])]
            self._items, self._kept = {item.id: item for item in items}, _Kept(4)
            written = {"tabulate": "tabulate", "simulate": "simulate", "serve": "world"}
            functions = [name for name, method in written.items() if hasattr(self, method)]
            return {"items": [item._wire() for item in items], "functions": functions}
        if call == "tabulate":
            return {"aggregate": self.tabulate(message["trials"])}
        item, setting = self._items[message["item"]], message["setting"]["values"]
        if call == "simulate":
            persona = message["persona"]
            noise = 0.0 if persona == "oracle" else persona["noisy"]
            said = self.simulate(item, setting, message["role"], noise, message["seed"], message["messages"])
            return {"text": said} if isinstance(said, str) else {"tool_calls": [call.wire() for call in said]}
        if call == "serve":
            return self._serve(item, setting, message)
        transcript = [Reply(**reply) for reply in message["transcript"]]
        if call == "next":
            return self.next(item, setting, transcript)
        verdicts = {verdict["prompt"]: verdict["replies"] for verdict in message["verdicts"]}
        world = [WorldState(**message["world"])] if "world" in message else []
        scored = self.score(item, setting, transcript, verdicts, *world)
        if isinstance(scored, dict) and "questions" in scored:
            return scored
        values, detail = scored if isinstance(scored, tuple) else (scored, None)
        return {"values": {name: float(value) for name, value in values.items()}, "detail": detail}

    def _serve(self, item, setting, message):
        session, seed = (item.id, message["setting"]["name"]), message["seed"]
        calls = [ToolCall(None, **call) for call in message["calls"]]
        world, results = self._kept.take(session, calls, lambda: self.world(item, setting, seed))
        answer = {"tools": {role: list(tools) for role, tools in _tools(world).items()}, "results": list(results)}
        if not message["snapshot"]:
            self._kept.put(session, calls, world, results)
            return answer
        # Whoever wants the state scores: the session is over.
        try:
            return {**answer, "snapshot": world.snapshot() if hasattr(world, "snapshot") else None}
        finally:
            _close(world)


def _said(error):
    """An exception in a line, with the place in the benchmark where it was raised."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    place = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}, in {frames[-1].name})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) == 2 else sys.exit("usage: python -m regatta.benchmark FOLDER")
    target = os.path.join(folder, "regatta_benchmark.py")
    with open(__file__, encoding="utf-8") as source, open(target, "w", encoding="utf-8") as copy:
        copy.write(source.read())
    print(f"wrote {target}; add it to `files` of benchmark.yaml")
