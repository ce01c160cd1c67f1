"""What programs do with the Responses API through libraries that are built on OpenAI's.

Reads {"base_url", "api_key", "model", "task"} from stdin, prints what came of it as JSON.
A task is the name of a function below.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile

from openai import OpenAI

from responses import FIND, READ, REPORT, WRITE, Report

FAIL = '[[fail 401]]'


def main():
    request = json.load(sys.stdin)
    print(json.dumps(globals()[request["task"]](request["base_url"], request["api_key"], request["model"])))


def langchain(base_url, api_key, model):
    from langchain_openai import ChatOpenAI

    options = {"model": model, "base_url": base_url, "api_key": api_key, "use_responses_api": True}
    chat = ChatOpenAI(**options, use_previous_response_id=True)
    said = [("human", WRITE)]
    first = chat.invoke(said)
    said += [first, ("human", READ)]
    second = chat.invoke(said)
    said += [second, ("human", READ)]
    third = None
    for piece in chat.stream(said):
        third = piece if third is None else third + piece
    client = OpenAI(base_url=base_url, api_key=api_key)
    answers = [first, second, third]
    conversations = {client.responses.retrieve(a.response_metadata["id"]).conversation.id for a in answers}
    return {
        "texts": [a.text for a in answers],
        "conversations": len(conversations),
        "steps": [block["reasoning"] for block in second.content_blocks if block["type"] == "reasoning"],
        "usage": first.usage_metadata["total_tokens"] > 0,
        "structured": [
            ChatOpenAI(**{**options, "use_responses_api": responses}).with_structured_output(Report, method=method).invoke(FIND)
            == Report(**REPORT)
            for responses, method in ((True, "json_schema"), (True, "function_calling"), (False, "function_calling"))
        ],
        "failed": failure(lambda: ChatOpenAI(**options).invoke(FAIL)),
    }


def pydantic_ai(base_url, api_key, model):
    return asyncio.run(agents(base_url, api_key, model))


async def agents(base_url, api_key, model):
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.exceptions import ModelHTTPError
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=base_url, api_key=api_key)
    own, chat = OpenAIResponsesModel(model, provider=provider), OpenAIChatModel(model, provider=provider)
    found = {"texts": [], "conversations": []}
    for settings in ({"openai_previous_response_id": "auto"}, {"openai_conversation_id": "auto"}, {}):
        agent = Agent(own, instructions="Be brief.", model_settings=settings)
        first = await agent.run(WRITE)
        second = await agent.run(READ, message_history=first.all_messages())
        async with agent.run_stream(READ, message_history=second.all_messages()) as third:
            texts = [first.output, second.output, await third.get_output()]
        answers = [m for m in third.all_messages() if m.kind == "response"]
        found["texts"].append(texts)
        found["conversations"].append(len({m.provider_details["conversation_id"] for m in answers}))
        found["usage"] = first.usage.total_tokens > 0
    found["structured"] = [
        (await Agent(at, output_type=output).run(FIND)).output == Report(**REPORT)
        for at, output in ((own, NativeOutput(Report)), (own, Report), (chat, Report))
    ]
    async with Agent(own, output_type=Report).run_stream(FIND) as streamed:
        found["structured"].append(await streamed.get_output() == Report(**REPORT))
    try:
        await Agent(own).run(FAIL)
    except ModelHTTPError as error:
        found["failed"] = f"{error.status_code} {error.body['code']}"
    return found


def llm(base_url, api_key, model):
    settings = {"model_id": "ohgw", "model_name": model, "api_base": base_url, "api_key_name": "ohgw"}
    abilities = {"responses": True, "reasoning": True, "supports_schema": True}
    with tempfile.TemporaryDirectory() as home:
        for name, content in {
            "extra-openai-models.yaml": [{**settings, **abilities}],
            "keys.json": {"ohgw": api_key},
        }.items():
            with open(os.path.join(home, name), "w") as file:
                json.dump(content, file)
        runs = [
            subprocess.run(
                [sys.executable, "-m", "llm", *arguments],
                env={**os.environ, "LLM_USER_PATH": home},
                capture_output=True,
                text=True,
                check=True,
            )
            for arguments in (
                ["-m", "ohgw", WRITE],
                ["--continue", READ],
                ["-m", "ohgw", "--schema", json.dumps(Report.model_json_schema()), FIND],
            )
        ]
    return {
        "texts": [run.stdout.split() for run in runs[:2]],
        "steps": [run.stderr.strip() for run in runs[:2]],
        "structured": json.loads(runs[2].stdout) == REPORT,
    }


def failure(call):
    try:
        call()
    except Exception as error:
        return f"{error.status_code} {error.code}"
    return ""


if __name__ == "__main__":
    main()
