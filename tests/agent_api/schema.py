# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""As much of OpenAPI as our descriptions use: which answer is described how, and does it fit?"""

import json
import re

# A keyword that is not known here must not pass for one that holds.
KEYWORDS = {"$ref", "type", "properties", "required", "items", "enum", "pattern", "minItems", "maxItems",
            "minLength", "maxLength", "description"}
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float),
         "boolean": bool}


class Description:
    """An OpenAPI document."""

    def __init__(self, path):
        self.root = json.loads(path.read_text(encoding="utf-8"))

    def follow(self, node):
        while "$ref" in node:
            target = self.root
            for word in node["$ref"].removeprefix("#/").split("/"):
                target = target[word]
            node = target
        return node

    def lost_references(self):
        """The references that lead nowhere."""
        lost = []

        def visit(node):
            if isinstance(node, dict):
                if "$ref" in node:
                    try:
                        self.follow(node)
                    except KeyError:
                        lost.append(node["$ref"])
                node = node.values()
            elif not isinstance(node, list):
                return
            for inner in node:
                visit(inner)

        visit(self.root)
        return lost

    def operations(self):
        return {(method.upper(), path): operation
                for path, methods in self.root["paths"].items()
                for method, operation in methods.items()}

    def find(self, method, path):
        """The operation that a request is of; nothing where none is described."""
        for (described, template), operation in self.operations().items():
            pattern = re.sub(r"\{[^}]+\}", "[^/]+", template)
            if described == method and re.fullmatch(pattern, path):
                return operation
        return None

    def faults(self, method, path, status, kind, body):
        """What is wrong with an answer, as a list of lines."""
        operation = self.find(method, path)
        if operation is None:
            return [f"{method} {path} is not described"]
        if str(status) not in operation["responses"]:
            return [f"{method} {path}: {status} is not described"]
        content = self.follow(operation["responses"][str(status)]).get("content")
        if content is None:
            return [f"{status} has a body: {body!r}"] if body else []
        if kind.split(";")[0] not in content:
            return [f"{method} {path}: {status} has type {kind}"]
        schema = content[kind.split(";")[0]]["schema"]
        if kind.startswith("text/"):
            return self.mismatches(schema, body.decode(), "$")
        return self.mismatches(schema, json.loads(body), "$")

    def mismatches(self, schema, value, where):
        schema = self.follow(schema)
        unknown = schema.keys() - KEYWORDS
        if unknown:
            return [f"{where}: the keywords {unknown} are not known to this test"]
        kind = TYPES.get(schema.get("type"))
        if kind is not None and (not isinstance(value, kind)
                                 or isinstance(value, bool) != (kind is bool)):
            return [f"{where}: {value!r} is no {schema['type']}"]
        found = []
        if "enum" in schema and value not in schema["enum"]:
            found.append(f"{where}: {value!r} is none of {schema['enum']}")
        if "pattern" in schema and not re.search(schema["pattern"], value):
            found.append(f"{where}: {value!r} does not match {schema['pattern']}")
        for low, high in (("minItems", "maxItems"), ("minLength", "maxLength")):
            if len(value) < schema[low] if low in schema else False:
                found.append(f"{where}: shorter than {schema[low]}")
            if len(value) > schema[high] if high in schema else False:
                found.append(f"{where}: longer than {schema[high]}")
        return found + self._inner(schema, value, where)

    def _inner(self, schema, value, where):
        found = [f"{where}: lacks {name}" for name in schema.get("required", ())
                 if name not in value]
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                found += self.mismatches(inner, value[name], f"{where}.{name}")
        if "items" in schema:
            for number, one in enumerate(value):
                found += self.mismatches(schema["items"], one, f"{where}[{number}]")
        return found
