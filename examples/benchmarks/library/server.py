"""A library as a server of the Model Context Protocol, over standard input and output: a world for one session, drawn by a seed.

    python3 server.py SEED
"""

import json
import random
import sys

TITLES = ["Sea of Stones", "The Slow Clock", "Nine Bridges", "A Map of Salt", "Quiet Engines", "Letters to the Moon"]


class Library:
    def __init__(self, seed):
        numbers = random.Random(seed).sample(range(100, 1000), len(TITLES))
        self.books = {f"B-{number}": {"title": title, "lent_to": None} for number, title in zip(numbers, TITLES)}
        # Every other one is out, with the reader of its place.
        for place, book in enumerate(self.books.values()):
            if place % 2:
                book["lent_to"] = f"R-{place}"

    def find(self, title):
        """Looks a book up by a part of its title."""
        found = {number: book for number, book in self.books.items() if title.lower() in book["title"].lower()}
        return json.dumps(found) if found else refuse("no such book")

    def lend(self, book, reader):
        """Lends a book to a reader."""
        if book not in self.books or self.books[book]["lent_to"] is not None:
            return refuse("there is no such book, or it is lent already")
        self.books[book]["lent_to"] = reader
        return "lent"

    def give_back(self, book):
        """Takes a book back."""
        if book not in self.books or self.books[book]["lent_to"] is None:
            return refuse("there is no such book, or it is not lent")
        self.books[book]["lent_to"] = None
        return "back on its shelf"


def refuse(why):
    raise ValueError(why)


TOOLS = {"find": ["title"], "lend": ["book", "reader"], "give_back": ["book"]}
STATE = "library://books"


def answer(library, method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}, "resources": {}}, "serverInfo": {"name": "library", "version": "1"}}
    if method == "tools/list":
        return {"tools": [described(name, fields) for name, fields in TOOLS.items()]}
    if method == "tools/call":
        try:
            name, arguments = params["name"], params["arguments"]
            if name not in TOOLS or sorted(arguments) != sorted(TOOLS[name]):
                refuse("there is no such tool, or it has other arguments")
            if not all(isinstance(one, str) for one in arguments.values()):
                refuse("arguments are texts")
            text, failed = getattr(library, name)(**arguments), False
        except ValueError as error:
            text, failed = str(error), True
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    if method == "resources/read" and params["uri"] == STATE:
        return {"contents": [{"uri": STATE, "mimeType": "application/json", "text": json.dumps(library.books, sort_keys=True)}]}
    return None


def described(name, fields):
    schema = {"type": "object", "properties": {field: {"type": "string"} for field in fields}, "required": fields}
    return {"name": name, "description": getattr(Library, name).__doc__, "inputSchema": schema}


def main():
    library = Library(int(sys.argv[1]))
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer(library, message["method"], message.get("params") or {})
        said = {"result": result} if result is not None else {"error": {"code": -32601, "message": f"no method {message['method']}"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}), flush=True)


main()
