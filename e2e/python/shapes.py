"""Says in what ohgw's objects differ in shape from those that OpenHands' models make of them.

Arguments: a file with {"events": [...], "infos": [...]}. Prints RESULT and JSON: the kinds of events, and what is
missing, what is too much, and which values have another type, each with the kind of object that it is in.
"""

import json
import sys

import openhands.tools  # noqa: F401 (its actions and observations become known)
import openhands.tools.glob  # noqa: F401
import openhands.tools.grep  # noqa: F401
from openhands.agent_server.models import ConversationInfo
from openhands.sdk.conversation.conversation_stats import ConversationStats
from openhands.sdk.event.base import Event


def differ(where, theirs, ours, found):
    if isinstance(theirs, dict) and isinstance(ours, dict):
        kind = theirs.get("kind")
        where = kind if isinstance(kind, str) else where
        for name in theirs.keys() | ours.keys():
            at = f"{where}.{name}"
            if name not in ours:
                found.add(f"missing {at}")
            elif name not in theirs:
                found.add(f"extra {at}")
            else:
                differ(at, theirs[name], ours[name], found)
    elif isinstance(theirs, list) and isinstance(ours, list):
        if len(theirs) != len(ours):
            found.add(f"length {where}")
        for a, b in zip(theirs, ours):
            differ(where + "[]", a, b, found)
    elif type(theirs) is not type(ours):
        found.add(f"{type(ours).__name__} instead of {type(theirs).__name__} {where}")


def main():
    with open(sys.argv[1]) as file:
        told = json.load(file)
    found = set()
    for event in told["events"]:
        model = Event.model_validate(event)
        dump = model.model_dump(mode="json", exclude_none=True)
        if event.get("key") == "stats":
            stats = ConversationStats.model_validate(event["value"])
            dump["value"] = stats.model_dump(mode="json", context={"use_snapshot": True})
        differ("", dump, event, found)
    for info in told["infos"]:
        differ("", ConversationInfo.model_validate(info).model_dump(mode="json"), info, found)
    kinds = sorted({event["kind"] for event in told["events"]})
    print("RESULT" + json.dumps({"Kinds": kinds, "Differences": sorted(found)}))


if __name__ == "__main__":
    main()
