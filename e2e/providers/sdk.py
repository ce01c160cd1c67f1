"""Runs turns of an agent through OpenHands' SDK, for a test that records them.

Writes one line first: the definition of its tool. Then it reads a line for
each turn, {"profile": {...}, "environment": {...}, "messages": [...]}, and
writes one, {"error": null or a text}. Everything that the libraries print goes to stderr.
"""

import faulthandler
import gc
import json
import os
import signal
import sys

faulthandler.dump_traceback_later(300, exit=True)
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

from openhands.sdk import LLM, Action, ImageContent, Message, Observation, TextContent  # noqa: E402
from openhands.sdk.llm import LLMCallContext  # noqa: E402
from openhands.sdk.tool import ToolDefinition  # noqa: E402
from pydantic import Field  # noqa: E402

LONGEST = 60  # seconds that a turn may take: a library may wait for what never comes
CONVERSATION = "11111111-2222-3333-4444-555555555555"


class LookAction(Action):
    path: str = Field(description="The file to look at.")


class LookObservation(Observation):
    pass


class LookTool(ToolDefinition[LookAction, LookObservation]):
    @classmethod
    def create(cls, *args, **kwargs):
        return [cls(description="Looks at a file.", action_type=LookAction, observation_type=LookObservation)]


def message(given):
    """A message of the turn, from the form that both sides of the test read."""
    content = []
    for part in given["content"]:
        if "text" in part:
            content.append(TextContent(text=part["text"]))
        else:
            content.append(ImageContent(image_urls=[part["image"]]))
    return Message(role=given["role"], content=content)


def result(call, given):
    """The result of a call: content as the turn says."""
    return message({"role": "tool", "content": given["content"]}).model_copy(
        update={"tool_call_id": call.id, "name": call.name}
    )


def run(turn, tools):
    llm = LLM(**turn["profile"])
    context = LLMCallContext(prompt_cache_key=CONVERSATION, session_id=CONVERSATION)
    history = []
    for step in turn["steps"]:
        if step["role"] == "result":
            calls = history[-1].tool_calls or []
            if len(calls) != len(step["results"]):
                raise ValueError(f"{len(calls)} tool calls were read, {len(step['results'])} were sent")
            history += [result(c, r) for c, r in zip(calls, step["results"])]
        elif step["role"] == "ask":
            answer = llm.generate(
                list(history),
                tools=tools,
                add_security_risk_prediction=True,
                on_token=lambda _: None,
                call_context=context,
            )
            history.append(answer.message)
        else:
            history.append(message(step))


def too_long(*_):
    faulthandler.dump_traceback()
    raise TimeoutError(f"the turn took more than {LONGEST} s")


def main():
    # LiteLLM leaves streams half read. When the collector ends one of them while
    # httpcore holds its lock, which any allocation may bring about, that waits for
    # the lock for ever: so it runs between two turns only.
    gc.disable()
    gc.freeze()
    signal.signal(signal.SIGALRM, too_long)
    tools = LookTool.create()
    definition = tools[0].to_openai_tool(add_security_risk_prediction=True)
    print(json.dumps(definition), file=answers)
    for line in sys.stdin:
        turn = json.loads(line)
        before = dict(os.environ)
        os.environ.update(turn["environment"])
        error = None
        signal.alarm(LONGEST)
        faulthandler.dump_traceback_later(2 * LONGEST, exit=True)
        try:
            run(turn, tools)
        except Exception as e:  # noqa: BLE001
            error = f"{type(e).__name__}: {e}"
        signal.alarm(0)
        faulthandler.dump_traceback_later(3600, exit=True)
        os.environ.clear()
        os.environ.update(before)
        gc.collect()
        print(json.dumps({"error": error}), file=answers)


main()
