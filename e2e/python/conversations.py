"""What programs do with the Conversations API, through OpenAI's library and the Agents SDK.

Reads {"base_url", "api_key", "model", "task"} from stdin, prints what came of it as JSON.
A task is the name of a function below.
"""

import asyncio
import json
import sys

import openai
from openai import OpenAI

# The scripted model answers a task with the words of its [[finish …]]; it does what the last message says.
TASK = "[[finish {}.]]"


def main():
    request = json.load(sys.stdin)
    client = OpenAI(
        base_url=request["base_url"], api_key=request["api_key"], max_retries=0, _strict_response_validation=True
    )
    print(json.dumps(globals()[request["task"]](client, request["model"])))


def said(items):
    """Each message of a list in a line; other items by their type."""
    lines = []
    for item in items:
        item = item if isinstance(item, dict) else item.model_dump()
        content = item.get("content")
        if item["type"] != "message":
            lines.append(item["type"])
            continue
        text = content if isinstance(content, str) else content[0]["text"]
        lines.append(f"{item['role']}: {text}")
    return lines


def code_of(call):
    try:
        call()
    except openai.APIStatusError as error:
        return f"{error.status_code} {error.code} {error.param}"
    return ""


def library(client, model):
    api = client.conversations
    made = api.create(metadata={"topic": "tea"}, items=[{"role": "user", "content": "I like tea."}])
    api.update(made.id, metadata={"topic": "coffee"})
    added = api.items.create(
        made.id,
        items=[
            {"role": "assistant", "content": "Noted."},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}", "status": "completed"},
        ],
    )
    before = said(api.items.list(made.id, order="asc"))
    response = client.responses.create(model=model, input=TASK.format("One"), conversation=made.id)
    again = client.responses.create(model=model, input=TASK.format("Two"), conversation=made.id)
    items = list(api.items.list(made.id, order="asc", limit=2))
    one = [api.items.retrieve(item.id, conversation_id=made.id) == item for item in items]
    kept = api.items.delete(added.data[0].id, conversation_id=made.id)
    after = said(api.items.list(made.id, order="asc"))
    gone = api.delete(made.id)
    return {
        "metadata": [made.metadata, kept.metadata],
        "before": before,
        "answers": [response.output_text, again.output_text],
        "same": {made.id} == {response.conversation.id, again.conversation.id, kept.id},
        "items": said(items),
        "retrieved": all(one) and len(one) == len(items),
        "after": after,
        "deleted": gone.deleted,
        "missing": code_of(lambda: api.retrieve(made.id)),
    }


def session(client, model):
    return asyncio.run(in_session(client, model))


async def in_session(client, model):
    from agents import Agent, OpenAIConversationsSession, OpenAIResponsesModel, Runner, set_tracing_disabled

    set_tracing_disabled(True)
    own = openai.AsyncOpenAI(base_url=client.base_url, api_key=client.api_key, max_retries=0)
    agent = Agent(name="e2e", model=OpenAIResponsesModel(model=model, openai_client=own))
    history = OpenAIConversationsSession(openai_client=own)
    first = await Runner.run(agent, TASK.format("One"), session=history)
    streamed = Runner.run_streamed(agent, TASK.format("Two"), session=history)
    async for _ in streamed.stream_events():
        pass
    whole = messages(await history.get_items())
    last = messages(await history.get_items(limit=1))
    popped = [messages([await history.pop_item()]) for _ in range(3)]  # the answer, its reasoning, the question
    rest = messages(await history.get_items())
    third = await Runner.run(agent, TASK.format("Three"), session=history)
    end = messages(await history.get_items())
    name = history.session_id
    await history.clear_session()
    return {
        "answers": [first.final_output, streamed.final_output, third.final_output],
        "whole": whole,
        "last": last,
        "popped": popped,
        "rest": rest,
        "end": end,
        "cleared": code_of(lambda: client.conversations.retrieve(name)),
    }


def messages(items):
    return [line for line in said(items) if line != "reasoning"]


def server_side(client, model):
    return asyncio.run(on_the_server(client, model))


async def on_the_server(client, model):
    """The conversation of the agent itself, which a session reads and a client adds to again."""
    from agents import Agent, OpenAIConversationsSession, OpenAIResponsesModel, Runner, set_tracing_disabled

    set_tracing_disabled(True)
    own = openai.AsyncOpenAI(base_url=client.base_url, api_key=client.api_key, max_retries=0)
    agent = Agent(name="e2e", model=OpenAIResponsesModel(model=model, openai_client=own))
    made = client.conversations.create()
    history = OpenAIConversationsSession(conversation_id=made.id, openai_client=own)
    answers = []
    for word in ("One", "Two"):
        result = await Runner.run(agent, TASK.format(word), conversation_id=made.id)
        answers.append(result.final_output)
        before = messages(await history.get_items())
        await history.add_items(result.to_input_list())
        again = messages(await history.get_items())
    popped = messages([await history.pop_item()])
    result = await Runner.run(agent, TASK.format("Three"), conversation_id=made.id)
    answers.append(result.final_output)
    return {
        "answers": answers,
        "doubled": before != again,
        "items": again,
        "popped": popped,
        "end": messages(await history.get_items()),
    }


if __name__ == "__main__":
    main()
