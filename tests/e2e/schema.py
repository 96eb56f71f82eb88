# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The part of JSON Schema that doc/stackcount.schema.json uses. An unknown keyword is an error, so that no
rule of the schema goes unchecked."""

NOTES = {"$schema", "title", "description", "$defs"}
TYPES = {
    "object": lambda x: isinstance(x, dict),
    "array": lambda x: isinstance(x, list),
    "string": lambda x: isinstance(x, str),
    "integer": lambda x: isinstance(x, int) and not isinstance(x, bool),
    "number": lambda x: isinstance(x, (int, float)) and not isinstance(x, bool),
    "boolean": lambda x: isinstance(x, bool),
    "null": lambda x: x is None,
}


class Invalid(Exception):
    pass


def _is_number(value):
    return TYPES["number"](value)


def _type(value, rule, schema, root, where):
    names = rule if isinstance(rule, list) else [rule]
    if not any(TYPES[name](value) for name in names):
        raise Invalid(f"{where}: {value!r} is not of type {rule}")


def _properties(value, rule, schema, root, where):
    if isinstance(value, dict):
        for key in value.keys() & rule.keys():
            check(value[key], rule[key], root, f"{where}.{key}")


def _additional(value, rule, schema, root, where):
    assert rule is False
    extra = isinstance(value, dict) and value.keys() - schema.get("properties", {}).keys()
    if extra:
        raise Invalid(f"{where}: unknown members {sorted(extra)}")


def _required(value, rule, schema, root, where):
    if isinstance(value, dict) and set(rule) - value.keys():
        raise Invalid(f"{where}: without {sorted(set(rule) - value.keys())}")


def _items(value, rule, schema, root, where):
    if isinstance(value, list):
        for i, item in enumerate(value):
            check(item, rule, root, f"{where}[{i}]")


def _ref(value, rule, schema, root, where):
    assert rule.startswith("#/")
    target = root
    for part in rule[2:].split("/"):
        target = target[part]
    check(value, target, root, where)


def _holds(test):
    def rule_of(value, rule, schema, root, where):
        if not test(value, rule):
            raise Invalid(f"{where}: {value!r} breaks {rule!r}")
    return rule_of


RULES = {
    "type": _type,
    "properties": _properties,
    "additionalProperties": _additional,
    "required": _required,
    "items": _items,
    "$ref": _ref,
    "enum": _holds(lambda value, rule: value in rule),
    "const": _holds(lambda value, rule: value == rule and isinstance(value, bool) == isinstance(rule, bool)),
    "minimum": _holds(lambda value, rule: not _is_number(value) or value >= rule),
    "maximum": _holds(lambda value, rule: not _is_number(value) or value <= rule),
    "exclusiveMinimum": _holds(lambda value, rule: not _is_number(value) or value > rule),
    "minItems": _holds(lambda value, rule: not isinstance(value, list) or len(value) >= rule),
    "maxItems": _holds(lambda value, rule: not isinstance(value, list) or len(value) <= rule),
}


def check(value, schema, root=None, where="document"):
    """Raise Invalid unless @value follows @schema."""
    root = schema if root is None else root
    for keyword, rule in schema.items():
        if keyword not in NOTES:
            RULES[keyword](value, rule, schema, root, where)
