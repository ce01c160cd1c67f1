"""Writes what pydantic answers to values of JSON: for each form the values that it accepts, with what it reads them as,
and those that it refuses, with the same answer in one group.

Argument: the file to write. A form is what a member of OpenHands' API is declared as. A server reads the body of a
request as Python does, and pydantic gets what was read.
"""

import json
import sys
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError


class Risk(str, Enum):
    LOW = "LOW"
    HIGH = "HIGH"


class Item(BaseModel):
    name: str
    count: int = Field(default=1, ge=1)
    text: str | None = Field(default=None, min_length=1, max_length=3)


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str


class Stdio(BaseModel):
    type: Literal["stdio"]
    command: str = Field(min_length=1)


class Remote(BaseModel):
    type: Literal["http", "sse"]
    url: str


class Whole(BaseModel):
    items: list[Item] = []
    texts: list[str] = []
    headers: dict[str, str] = {}
    server: Annotated[Stdio | Remote, Field(discriminator="type")] | None = None
    strict: Strict | None = None


FORMS = {
    "text": str,
    "text 2..4": Annotated[str, Field(min_length=2, max_length=4)],
    "text 1..": Annotated[str, Field(min_length=1)],
    "text ^[a-z]+$": Annotated[str, Field(pattern=r"^[a-z]+$")],
    "int": int,
    "int 1..10": Annotated[int, Field(ge=1, le=10)],
    "float": float,
    "float 0..1": Annotated[float, Field(ge=0, le=1)],
    "float 0.01..": Annotated[float, Field(ge=0.01)],
    "float inside 0..1": Annotated[float, Field(gt=0, lt=1)],
    "bool": bool,
    "literal a": Literal["a"],
    "literal a b": Literal["a", "b"],
    "literal a b c": Literal["a", "b", "c"],
    "enum LOW HIGH": Risk,
    "uuid": UUID,
    "list": list[str],
    "dict": dict[str, str],
    "overrides": dict[str, bool | str],
    "any dict": dict[str, Any],
}
WORDS = "|a|b|d|ab|abc|abcd|abcde|Abc|äö|äöüäö|a\n|LOW|low|HIGH|None|null"
NUMBERS = (
    "|1|0|2|10|11|+1|-1|--1| 1 |\t1\n|\u00a01|1.0|1.|1.00|1.5|.5|.|1.0.0|-0|00|01|1 0|1e3|1E3|1e-3|1e|e3|1e400|-1e400|1_000|1__0"
    "|_1|1_|1_0.0|1.0_0|1.5_5|1_e3|1e1_0|_1.5|1.5_|0x10|0b1|0o7|1j|1,5|inf|-inf|+inf|Infinity|-Infinity|infinity|INF|nan|NaN|-nan"
    "|99999999999999999999|9223372036854775807|9223372036854775808|-9223372036854775808|1e30|１|١"
)
TRUTHS = "|true|True|TRUE|tRuE|false|False|t|T|f|F|y|Y|n|N|yes|YES|Yes|no|No|on|ON|off|OFF| true|true |yes\n"
UUIDS = (
    "|11111111-2222-4333-8444-555555555555|11111111222243338444555555555555|{11111111-2222-4333-8444-555555555555}"
    "|urn:uuid:11111111-2222-4333-8444-555555555555|11111111-2222-4333-8444-55555555555g|11111111-2222"
    "|1111111-2222-4333-8444-5555555555555|AAAAAAAA-2222-4333-8444-555555555555| 11111111-2222-4333-8444-555555555555"
    "|é1111111-2222-4333-8444-555555555555|11111111-2222-4333-8444_555555555555|11111111-22224333-8444-555555555555"
    "|{x}|{x|urn:uuid:x|-|1|none|1111111122224333844455555555555"
)
OTHERS = """
null|true|false|0|1|2|-1|10|11|1.0|0.0|-0|-0.0|0.5|1.5|0.01|0.009|1e3|1e-3|1e30|1.0e1|100000000000000000000|9223372036854775807|
9223372036854775808|-9223372036854775808|9223372036854775807.0|1e308|1e400|-1e400|NaN|Infinity|-Infinity|[]|["a"]|["a",1,null,"b",["c"]]|
[["a"]]|[true]|{}|{"a":"b"}|{"a":1}|{"a":null,"b":true,"c":"x","d":{},"e":2,"f":1.0}|{"a":[]}
"""
OBJECTS = """
{}|null|[]|"x"|1|{"items":null}|{"items":{}}|{"items":[{"name":"a"}]}|{"items":[{"name":"a","count":"2","text":null}]}|
{"items":[{},null,{"name":null},{"name":1,"count":0,"text":""},{"name":"a","count":"x","text":"abcd"},"x",[]]}|{"texts":["a",1,null]}|
{"texts":"a"}|{"headers":{"a":"b","c":1,"d":null}}|{"headers":[]}|{"headers":null}|{"server":{}}|{"server":[]}|{"server":"x"}|{"server":null}|
{"server":{"type":"x"}}|{"server":{"type":null}}|{"server":{"type":true}}|{"server":{"type":1}}|{"server":{"type":1.5}}|{"server":{"type":"stdio"}}|
{"server":{"type":"stdio","command":""}}|{"server":{"type":"stdio","command":1}}|{"server":{"type":"sse","url":"u","more":1}}|
{"strict":{"name":"a"}}|{"strict":{"name":"a","a":1,"b":null}}|{"strict":{"b":1}}|{"strict":[]}|
{"items":"x","texts":{},"headers":"h","server":1,"strict":2}
"""


def texts(*lists):
    return [json.dumps(text, ensure_ascii=False) for some in lists for text in some.split("|")]


def values(lines):
    return lines.replace("\n", "").split("|")


VALUES = {
    "uuid": texts(UUIDS) + values(OTHERS),
    "whole": values(OBJECTS),
    "int": texts(WORDS, NUMBERS, TRUTHS) + [json.dumps("1" * 4301)] + values(OTHERS),
}
for name in ("list", "dict", "any dict", "overrides"):  # no NaN: these are read as a part of a body
    VALUES[name] = texts("a|true|1") + [value for value in values(OTHERS) if value[-1] not in "Ny" and value != "-Infinity"]
FORMS["whole"] = Whole


def answer(adapter, value):
    """What a value is read as, and what is wrong with it."""
    try:
        read = adapter.validate_python(json.loads(value), from_attributes=True)  # as FastAPI does
    except ValidationError as e:
        faults = e.errors(include_url=False, include_input=False)
        for fault in faults:
            if "error" in fault.get("ctx", {}):
                fault["ctx"]["error"] = str(fault["ctx"]["error"])
        return None, faults
    if isinstance(read, (int, float)):
        return str(read), None
    return adapter.dump_json(read).decode(), None


def main():
    table = []
    for name, form in FORMS.items():
        adapter, accepted, refused = TypeAdapter(form), {}, {}
        for value in VALUES.get(name, texts(WORDS, NUMBERS, TRUTHS) + values(OTHERS)):
            read, faults = answer(adapter, value)
            if faults:
                refused.setdefault(json.dumps(faults), []).append(value)
            else:
                accepted[value] = read
        groups = [{"values": group, "faults": json.loads(faults)} for faults, group in refused.items()]
        table.append({"form": name, "accepted": accepted, "refused": groups})
    with open(sys.argv[1], "w") as file:
        json.dump(table, file, ensure_ascii=False, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
