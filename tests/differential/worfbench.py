"""WorFBench: `node_eval.py` and `evaluator/graph_evaluator.py`, run as they are over answers of any kind.

One thing is given to them: the encoder. Two texts are as alike as a hash of both says, in few enough steps that sums are often equal, and equal
texts are the same. Of no texts at all the encoder's library raises a RuntimeError, as the real one does.
"""

import contextlib
import hashlib
import importlib
import io
import json
import re
import sys
import types

import cases

MODULES = ["LLM", "LLM.localLLM", "tqdm", "sentence_transformers"]
# Around the threshold of 0.6, and with ties above it.
STEPS = [0.0, 0.25, 0.599999, 0.6, 0.600001, 0.7, 0.7, 0.75, 0.8, 0.9]
NUMBERS = ["precision", "recall", "f1_score"]


def alike(one, other):
    if one == other:
        return 1.0
    pair = json.dumps(sorted([one, other])).encode("utf-8", "surrogatepass")
    return STEPS[int.from_bytes(hashlib.sha256(pair).digest()[:4], "big") % len(STEPS)]


# ---- the released code ----


class Cosines:
    def __init__(self, rows):
        self.rows = rows

    def cpu(self):
        return self

    def numpy(self):
        import numpy

        return numpy.array(self.rows)


def cosines(left, right):
    if not left or not right:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")
    return Cosines([[alike(one, other) for other in right] for one in left])


class Encoder:
    def encode(self, texts, convert_to_tensor):
        return texts


def load(official):
    stubs = {name: types.ModuleType(name) for name in MODULES}
    stubs["LLM.localLLM"].localLLM = None
    stubs["tqdm"].tqdm = None
    stubs["sentence_transformers"].SentenceTransformer = None
    stubs["sentence_transformers"].util = types.SimpleNamespace(cos_sim=cosines)
    sys.modules.update(stubs)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(official))
    return importlib.import_module("node_eval")


def scored(evaluate, predicted, gold):
    """What `eval_workflow` adds to its sums for one item, or the exception that ends it."""
    if predicted == []:
        return {"status": "unparsable", **dict.fromkeys(NUMBERS, 0.0)}
    try:
        found = evaluate(predicted, gold, Encoder())
    except Exception as error:
        return {"status": "crash", "exception": type(error).__name__, **dict.fromkeys(NUMBERS, 0.0)}
    return {"status": "ok", **{name: float(found[name]) for name in NUMBERS}}


def expect(folder, official, data):
    code = load(official)
    golds = {record["id"]: (task, record["conversations"][-1]["content"]) for task, record in records(data)}
    items, tasks = {}, {}
    with contextlib.redirect_stdout(io.StringIO()):
        for line in cases.read_lines(folder / "predictions.jsonl"):
            task, text = golds[line["item"]]
            # Whatever is read is read anew for each metric, as in the code: it changes what it is given.
            read = lambda: (code.workflow_to_graph_list(line["output"]), code.workflow_to_graph_list(text))
            item = {
                "task": task,
                "node": scored(code.t_eval_nodes, *read()),
                "graph": scored(code.t_eval_graph, *read()),
            }
            items[line["item"]] = item
            tasks.setdefault(task, []).append(item)
    mean = lambda of, metric, name: sum(item[metric][name] for item in of) / len(of)
    per_task = {
        task: {"n": len(of), **{metric: {name: mean(of, metric, name) for name in NUMBERS} for metric in ("node", "graph")}}
        for task, of in tasks.items()
    }
    cases.write_document(
        folder / "expected.json", {"evaluator": "official", "aggregate": {"per_task": per_task}, "items": items}
    )


# ---- cases ----


def records(data):
    for path in sorted((data / "gold_traj").glob("*/graph_eval.json")):
        for record in cases.read_document(path):
            yield path.parent.name, record


def read(text):
    """Nodes and edges of a gold that is written plainly."""
    nodes = re.findall(r"^\s*\d+[:.] (.+)$", text, re.M)
    edges = re.findall(r"\(\s*(\d+|START)\s*,\s*(\d+|END)\s*\)", text)
    return nodes, edges


NUMBERINGS = ["{n}: {text}"] * 12 + [
    "{n}. {text}", "{n}.{text}", "{n}) {text}", "Node {n}: {text}", "- {n}. {text}", "{n}:\t{text}", "{n}:  {text} ", "{n}\u0663: {text}",
    "{n}: {text}\r", "1: {text}", "{zero}: {text}", "**{n}. {text}**", "{n}: {text} (1,2)", "Step {n}: 2. {text}",
]
EDGES = ["({a},{b})"] * 16 + ["( {a} , {b} )", "({a}, {b})", "[{a},{b}]", "{a} -> {b}", "({a},{b},{a})", "({b},{a})", "(start,{b})", "({a},\n{b})"]
FRAMES = ["Node:\n{nodes}\nEdges: {edges}"] * 20 + [
    "Nodes:\n{nodes}\n\nEdges:\n{edges}", "node:\n{nodes}\nedges: {edges}", "Subtasks:\n{nodes}\nEdges: {edges}", "{edges}\nNode:\n{nodes}",
    "I see 3 options: this one. Node:\n{nodes}\nEdges: {edges}", "```\nNode:\n{nodes}\nEdges: {edges}\n```", "Node:\n{nodes}", "Node: {edges}",
    "Node:\n{nodes}\nEdges: {edges}\n9: Finish", "Node:\n{nodes}\n5. finish it\nEdges: {edges}",
]
ODD = ["", " ", "Node", "Node:\nEdges: (START,END)", "Node: (1,2)", "1: a\n(START,1) (1,END)", "Node\n1: START\n2: END\n(START,1) (1,2) (2,END)"]


def answer(random, golds, own):
    if random.random() < 0.03:
        return random.choice(ODD)
    nodes, edges = read(own)
    others = read(random.choice(golds))[0]
    for _ in range(random.choice([0, 0, 1, 1, 2, 4])):
        at = random.randrange(len(nodes) + 1)
        change = random.choice(["drop", "repeat", "swap", "other", "case", "insert", "long"])
        if change == "insert" or not nodes:
            nodes.insert(at, random.choice(others or ["something"]))
            continue
        at = min(at, len(nodes) - 1)
        match change:
            case "drop":
                del nodes[at]
            case "repeat":
                nodes.insert(random.randrange(len(nodes) + 1), nodes[at])
            case "swap":
                to = random.randrange(len(nodes))
                nodes[at], nodes[to] = nodes[to], nodes[at]
            case "other":
                nodes[at] = random.choice(others or ["something"])
            case "case":
                nodes[at] = nodes[at].upper()
            case "long":
                nodes += others
    ends = ["START", "END", *(str(number) for number in range(len(nodes) + 2))]
    for _ in range(random.choice([0, 0, 1, 2, 6])):
        change = random.choice(["drop", "add", "repeat"])
        if change == "add" or not edges:
            edges.append((random.choice(ends), random.choice(ends)))
        elif change == "drop":
            edges.pop(random.randrange(len(edges)))
        else:
            edges.append(random.choice(edges))
    numbering, edge = random.choice(NUMBERINGS), random.choice(EDGES)
    lines = [numbering.format(n=n, zero=n - 1, text=text) for n, text in enumerate(nodes, 1)]
    return random.choice(FRAMES).format(nodes="\n".join(lines), edges=" ".join(edge.format(a=a, b=b) for a, b in edges))


def texts(text):
    """Every text that a reader may take for a node."""
    return ["START", "END", *(match.strip() for match in re.findall(r"\d+[:.] (.+)", text))]


def generate(out, random, count, data):
    known = list(records(data))
    golds = [record["conversations"][-1]["content"] for _, record in known]
    for number in range((count + len(known) - 1) // len(known)):
        lines, verdicts = [], []
        for (_, record), own in zip(known[: count - number * len(known)], golds):
            output = answer(random, golds, own)
            predicted, gold = sorted(set(texts(output))), sorted(set(texts(own)))
            lines.append({"item": record["id"], "output": output})
            verdicts.append({
                "item": record["id"], "pred_texts": predicted, "gold_texts": gold,
                "sim": [[alike(one, other) for other in gold] for one in predicted],
            })
        folder = out / f"answers-{number:04}"
        cases.write_case(folder, "worfbench", "predictions", {"expected.json": "official"}, ["judge.jsonl", "predictions.jsonl"], {})
        cases.write_lines(folder / "judge.jsonl", verdicts)
        cases.write_lines(folder / "predictions.jsonl", lines)


if __name__ == "__main__":
    cases.main(generate, expect)
