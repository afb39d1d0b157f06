#!/usr/bin/env python3
"""Writes the tables of docs/spec.md from the schema of specs.

    docs/tools/spec.py            writes them
    docs/tools/spec.py --check    fails when they are out of date
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "proto" / "schemas" / "sweep-spec.schema.json"
PAGE = ROOT / "docs" / "spec.md"
BEGIN, END = "<!-- fields: written by docs/tools/spec.py -->", "<!-- end of fields -->"


def text(schema):
    return " ".join(schema.get("description", "").split()).replace("|", "\\|")


def name(reference):
    return reference.rsplit("/", 1)[1]


def link(title):
    return f"[{title}](#{title.lower()})"


def kind(schema):
    """The type of a field in a few words, with links to the types that have a table."""
    if "$ref" in schema:
        return link(name(schema["$ref"]))
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            kinds = [kind(option) for option in schema[choice] if option.get("type") != "null"]
            return " or ".join(dict.fromkeys(kinds))
    types = schema.get("type", "anything")
    types = [types] if isinstance(types, str) else [one for one in types if one != "null"]
    words = []
    for one in types:
        if one == "array":
            words.append(f"list of {kind(schema.get('items', {}))}")
        elif one == "object" and isinstance(schema.get("additionalProperties"), dict):
            words.append(f"name → {kind(schema['additionalProperties'])}")
        else:
            words.append({"integer": "whole number", "string": "text", "boolean": "true or false"}.get(one, one))
    return " or ".join(words)


def default(schema):
    value = schema.get("default")
    return "" if value is None or value in ([], {}) else f"`{json.dumps(value)}`"


def fields(schema):
    required = set(schema.get("required", []))
    rows = ["| field | is | default | means |", "|---|---|---|---|"]
    for field, of in schema["properties"].items():
        preset = "required" if field in required else default(of)
        rows.append(f"| `{field}` | {kind(of)} | {preset} | {text(of)} |")
    return rows


def options(schema):
    rows = ["| is | means |", "|---|---|"]
    for option in schema.get("oneOf") or schema.get("anyOf"):
        rows.append(f"| {kind(option)} | {text(option)} |")
    return rows


def section(title, schema, level="###"):
    lines = [f"{level} {title}", "", text(schema), ""]
    if "properties" in schema:
        lines += fields(schema) + [""]
    choices = schema.get("oneOf") or schema.get("anyOf") or []
    if choices:
        lines += options(schema) + [""]
    for option in choices:
        if "properties" in option:
            lines += fields(option) + [""]
    if not choices and "properties" not in schema:
        lines += [f"Written as {kind(schema)}.", ""]
    return lines


def page():
    schema = json.loads(SCHEMA.read_text())
    lines = section("The spec", schema, "##") + ["## Types", ""]
    for title, of in schema["$defs"].items():
        lines += section(title, of)
    before, rest = PAGE.read_text().split(BEGIN)
    return before + BEGIN + "\n\n" + "\n".join(lines).rstrip() + "\n\n" + END + rest.split(END)[1]


def main():
    wanted = page()
    if "--check" in sys.argv[1:]:
        if PAGE.read_text() != wanted:
            raise SystemExit("docs/spec.md is out of date; run docs/tools/spec.py")
    else:
        PAGE.write_text(wanted)


if __name__ == "__main__":
    main()
