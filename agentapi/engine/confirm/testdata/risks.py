"""Records what OpenHands' security analyzers say of actions.

Arguments: a file with JSON lines and the file to write. Each line has a command of the terminal ("c") or members of an
action ("e"). Written are the same lines with the risk of the PatternSecurityAnalyzer ("pattern"), of the
PolicyRailSecurityAnalyzer ("rails") and of both as an EnsembleSecurityAnalyzer, as it is ("both") and strict ("strict").
"""

import json
import logging
import sys

logging.disable(logging.CRITICAL)

from openhands.sdk.event import ActionEvent  # noqa: E402
from openhands.sdk.llm import MessageToolCall, TextContent  # noqa: E402
from openhands.sdk.security import (  # noqa: E402
    EnsembleSecurityAnalyzer,
    PatternSecurityAnalyzer,
    PolicyRailSecurityAnalyzer,
)

PARTS = [PatternSecurityAnalyzer(), PolicyRailSecurityAnalyzer()]
ANALYZERS = {
    "pattern": PARTS[0],
    "rails": PARTS[1],
    "both": EnsembleSecurityAnalyzer(analyzers=PARTS),
    "strict": EnsembleSecurityAnalyzer(analyzers=PARTS, propagate_unknown=True),
}


def action(case):
    more = case.get("e", {})
    name = more.get("tool_name", "terminal")
    arguments = more.get("arguments", {"command": case.get("c")})
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    return ActionEvent(
        thought=[TextContent(text=text) for text in more.get("thought", [])],
        reasoning_content=more.get("reasoning_content"),
        summary=more.get("summary"),
        tool_name=name,
        tool_call_id="c",
        tool_call=MessageToolCall(id="c", name=name, arguments=arguments, origin="completion"),
        llm_response_id="r",
    )


def main():
    with open(sys.argv[1]) as file:
        cases = [json.loads(line) for line in file]
    with open(sys.argv[2], "w") as file:
        for case in cases:
            made = action(case)
            for name, analyzer in ANALYZERS.items():
                case[name] = analyzer.security_risk(made).value
            file.write(json.dumps(case, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
