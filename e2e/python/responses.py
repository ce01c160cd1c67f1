"""What programs do with the Responses API, through OpenAI's own libraries.

Reads {"base_url", "api_key", "other_key", "model", "task"} from stdin, prints what came of it as JSON.
A task is the name of a function below.
"""

import asyncio
import json
import sys
from collections import Counter
from typing import Literal

import openai
from openai import OpenAI
from pydantic import BaseModel

WRITE = '[[say Writing.]] [[tool terminal {"command":"echo tea > note.txt"}]] then [[finish Written.]]'
READ = '[[tool terminal {"command":"test \\"$(cat note.txt)\\" = tea"}]] then [[finish Read.]]'
SLOW = '[[slow 400 100ms]]'
FAIL = '[[fail 401]]'
REPORT = {"bugs": [{"file": "a.go", "line": 3, "severity": "high"}], "note": None}
FIND = f'[[tool terminal {{"command":"ls"}}]] then [[finish Here it is: {json.dumps(REPORT)}]]'


class Bug(BaseModel):
    file: str
    line: int
    severity: Literal["low", "high"]


class Report(BaseModel):
    """A schema as Pydantic writes it, with references."""

    bugs: list[Bug]
    note: str | None


def main():
    request = json.load(sys.stdin)
    clients = [
        OpenAI(base_url=request["base_url"], api_key=request[key], max_retries=2, _strict_response_validation=True)
        for key in ("api_key", "other_key")
    ]
    task = globals()[request["task"]]
    print(json.dumps(task(*clients[: task.__code__.co_argcount - 1], request["model"])))


def steps(response):
    """The lines of progress of a response."""
    return [part.text for item in response.output if item.type == "reasoning" for part in item.summary]


def goes_on(client, model):
    first = client.responses.create(model=model, input=WRITE, metadata={"who": "e2e"})
    with client.responses.stream(model=model, input=READ, previous_response_id=first.id) as stream:
        kinds = {event.type for event in stream}
        second = stream.get_final_response()
    stored = client.responses.retrieve(second.id)
    other = client.responses.create(model=model, input=READ, previous_response_id=first.id)
    third = client.responses.create(model=model, input=READ, previous_response_id=second.id)
    return {
        "texts": [first.output_text, second.output_text, other.output_text, third.output_text],
        "steps": [steps(r) for r in (first, second, other, third)],
        "same": second.conversation.id == first.conversation.id == third.conversation.id,
        "copied": other.conversation.id != first.conversation.id,
        "stored": stored.output_text == second.output_text and stored.usage == second.usage,
        "deltas": "response.output_text.delta" in kinds and "response.reasoning_summary_text.delta" in kinds,
        "metadata": first.metadata,
        "input": [item.content[0].text for item in client.responses.input_items.list(second.id)] == [READ],
        "usage": first.usage.total_tokens > 0,
    }


def by_auto(client, model):
    """The agent that auto chooses stays in a conversation, and has its place in each response."""
    first = client.responses.create(model="auto", input="@second " + WRITE)
    with client.responses.stream(model="auto", input=READ, previous_response_id=first.id) as stream:
        kinds = {event.type for event in stream}
        second = stream.get_final_response()
    third = client.responses.create(model=model, input=READ, previous_response_id=second.id)
    return {
        "models": [first.model, second.model, third.model],
        "texts": [first.output_text, second.output_text, third.output_text],
        "steps": [steps(r)[-1:] for r in (first, second, third)],
        "same": first.conversation.id == second.conversation.id == third.conversation.id,
        "deltas": "response.output_text.delta" in kinds,
        "listed": sorted(m.id for m in client.models.list() if m.id == "auto" or "_agent_" in m.id),
        "other": code_of(lambda: client.responses.create(model="openhands_agent_first", input=READ, previous_response_id=first.id)),
    }


def background(client, model):
    response = client.responses.create(model=model, input=WRITE, background=True)
    early = response.status
    events = list(client.responses.retrieve(response.id, stream=True))
    numbers = [event.sequence_number for event in events]
    rest = list(client.responses.retrieve(response.id, stream=True, starting_after=3))
    done = client.responses.retrieve(response.id)
    long = client.responses.create(model=model, input=SLOW, background=True)
    stopped = client.responses.cancel(long.id)
    again = client.responses.cancel(long.id)
    client.responses.delete(done.id)
    return {
        "early": early in ("queued", "in_progress"),
        "numbers": numbers == list(range(len(events))),
        "rest": [event.sequence_number for event in rest] == numbers[4:],
        "last": events[-1].type,
        "text": done.output_text,
        "cancelled": [stopped.status, again.status],
        "deleted": code_of(lambda: client.responses.retrieve(done.id)),
        "gone": code_of(lambda: client.responses.create(model=model, input=READ, previous_response_id=done.id)),
    }


def fails(client, model):
    def stream():
        with client.responses.stream(model=model, input=FAIL) as events:
            for _ in events:
                pass

    return {
        "whole": code_of(lambda: client.responses.create(model=model, input=FAIL + " whole")),
        "stream": code_of(stream),
    }


def parse(client, model):
    whole = client.responses.parse(model=model, input=FIND, text_format=Report)
    with client.responses.stream(model=model, input=FIND, text_format=Report) as stream:
        streamed = stream.get_final_response()
    chat = client.chat.completions.parse(
        model=model, messages=[{"role": "user", "content": FIND}], response_format=Report
    )
    found = [whole.output_parsed, streamed.output_parsed, chat.choices[0].message.parsed]
    return {"same": [report == Report(**REPORT) for report in found], "text": json.loads(whole.output_text) == REPORT}


def said(text, role="user"):
    return {"type": "message", "role": role, "content": text}


def foreign(client, other, model):
    """What somebody with another key is told of a response and its conversation."""
    response = client.responses.create(model=model, input=WRITE)
    conversation = response.conversation.id
    item = next(iter(client.conversations.items.list(conversation)))
    calls = [
        lambda: other.responses.retrieve(response.id),
        lambda: other.responses.retrieve(response.id, stream=True, starting_after=1),
        lambda: other.responses.cancel(response.id),
        lambda: other.responses.input_items.list(response.id),
        lambda: other.responses.delete(response.id),
        lambda: other.responses.create(model=model, input=READ, previous_response_id=response.id),
        lambda: other.responses.create(model=model, input=READ, conversation=conversation),
        lambda: other.conversations.retrieve(conversation),
        lambda: other.conversations.update(conversation, metadata={"who": "you"}),
        lambda: other.conversations.items.list(conversation),
        lambda: other.conversations.items.create(conversation, items=[said("Mine.")]),
        lambda: other.conversations.items.retrieve(item.id, conversation_id=conversation),
        lambda: other.conversations.items.delete(item.id, conversation_id=conversation),
        lambda: other.conversations.delete(conversation),
    ]
    told = Counter(code_of(call) for call in calls)
    still = client.responses.create(model=model, input=READ, previous_response_id=response.id)
    return {"told": told, "steps": steps(still)}


def code_of(call):
    try:
        call()
    except openai.APIStatusError as error:
        return f"{error.status_code} {error.code}"
    except openai.APIError as error:
        return f"{type(error).__name__} {error.code}"
    except RuntimeError as error:
        return f"RuntimeError {error}"
    return ""


def agents_sdk(client, model):
    return asyncio.run(agents(client, model))


async def agents(client, model):
    from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled

    set_tracing_disabled(True)
    own = openai.AsyncOpenAI(base_url=client.base_url, api_key=client.api_key)
    agent = Agent(name="e2e", model=OpenAIResponsesModel(model=model, openai_client=own), instructions="Be brief.")
    first = await Runner.run(agent, WRITE)
    second = await Runner.run(agent, READ, previous_response_id=first.last_response_id)
    streamed = Runner.run_streamed(agent, READ, previous_response_id=second.last_response_id)
    kinds = {event.type async for event in streamed.stream_events()}
    conversations = {
        client.responses.retrieve(r.last_response_id).conversation.id for r in (first, second, streamed)
    }
    return {
        "texts": [first.final_output, second.final_output, streamed.final_output],
        "conversations": len(conversations),
        "events": "raw_response_event" in kinds,
    }


def session(client, model):
    return asyncio.run(sessions(client, model))


async def sessions(client, model):
    """Sessions send the whole chat with each message."""
    from agents import OpenAIConversationsSession, SQLiteSession, set_tracing_disabled

    set_tracing_disabled(True)
    own = openai.AsyncOpenAI(base_url=client.base_url, api_key=client.api_key)
    kept = OpenAIConversationsSession(openai_client=own)
    found = {
        "sqlite": await in_session(client, own, model, SQLiteSession("e2e")),
        "conversations": await in_session(client, own, model, kept),
    }
    await kept.clear_session()
    return found


async def in_session(client, own, model, kept):
    from agents import Agent, OpenAIResponsesModel, Runner

    agent = Agent(name="e2e", model=OpenAIResponsesModel(model=model, openai_client=own), instructions="Be brief.")
    turns = [await Runner.run(agent, prompt, session=kept) for prompt in (WRITE, READ)]
    streamed = Runner.run_streamed(agent, READ, session=kept)
    async for _ in streamed.stream_events():
        pass
    turns.append(streamed)
    responses = [client.responses.retrieve(turn.last_response_id) for turn in turns]
    return {
        "texts": [turn.final_output for turn in turns],
        "steps": [step for response in responses for step in steps(response)],
        "conversations": len({response.conversation.id for response in responses}),
        "items": len(await kept.get_items()),
    }


def approvals(client, model):
    return asyncio.run(approve(client, model))


async def approve(client, model):
    from agents import Agent, HostedMCPTool, OpenAIResponsesModel, Runner, set_tracing_disabled

    set_tracing_disabled(True)
    own = openai.AsyncOpenAI(base_url=client.base_url, api_key=client.api_key)
    asked = []

    def tool(yes):
        def decide(request):
            asked.append(json.loads(request.data.arguments)["action"])
            return {"approve": True} if yes else {"approve": False, "reason": "[[finish As you wish.]]"}

        config = {
            "type": "mcp",
            "server_label": "openhands",
            "server_url": "http://127.0.0.1",
            "require_approval": "always",
        }
        return HostedMCPTool(tool_config=config, on_approval_request=decide)

    texts = []
    for yes in (True, False):
        agent = Agent(name="e2e", model=OpenAIResponsesModel(model=model, openai_client=own), tools=[tool(yes)])
        result = await Runner.run(agent, WRITE)
        texts.append(result.final_output)
    return {"texts": texts, "asked": asked}


if __name__ == "__main__":
    main()
