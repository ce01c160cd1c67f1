"""The official client for Python, as it comes but for strict parsing.

Reads one request as JSON from stdin and prints one result as JSON;
e2e/clients/protocol.go describes both.
"""

import json
import platform
import sys

import openai


def main():
    request = json.load(sys.stdin)
    result = {
        "client": f"openai {openai.__version__}, python {platform.python_version()}",
        "attempts": 0,
        "text": "",
        "reasoning": "",
        "pieces": 0,
        "conversation": "",
    }
    try:
        run(request, result)
    except openai.OpenAIError as error:
        result["error"] = describe(error)
    print(json.dumps(result))


def run(request, result):
    def sent(_):
        result["attempts"] += 1

    def received(response):
        header = response.headers.get("x-openhands-serverconversation-id")
        result["conversation"] = header or result["conversation"]

    with openai.OpenAI(
        base_url=request["base_url"],
        api_key=request["api_key"],
        default_headers=request.get("headers"),
        http_client=openai.DefaultHttpxClient(event_hooks={"request": [sent], "response": [received]}),
        # The strictest parser there is: every field is checked against its type.
        _strict_response_validation=True,
    ) as client:
        if request["op"] == "models":
            result["models"] = [model.id for model in client.models.list()]
        elif request.get("stream"):
            stream(client, request, result)
        else:
            whole(client, request, result)


def whole(client, request, result):
    completion = client.chat.completions.create(model=request["model"], messages=messages(request))
    choice = completion.choices[0]
    add(request, result, choice.message.content)
    result["reasoning"] = (choice.message.model_extra or {}).get("reasoning_content") or ""
    result["finish"] = choice.finish_reason
    result["usage"] = usage(completion.usage)


def stream(client, request, result):
    options = {"stream_options": {"include_usage": True}} if request.get("include_usage") else {}
    with client.chat.completions.create(
        model=request["model"], messages=messages(request), stream=True, **options
    ) as chunks:
        for chunk in chunks:
            if chunk.usage:
                result["usage"] = usage(chunk.usage)
            for choice in chunk.choices:
                result["reasoning"] += (choice.delta.model_extra or {}).get("reasoning_content") or ""
                result["finish"] = choice.finish_reason or result.get("finish", "")
                if add(request, result, choice.delta.content):
                    return


def messages(request):
    content = request["prompt"]
    if request.get("image"):
        content = [
            {"type": "text", "text": content},
            {"type": "image_url", "image_url": {"url": request["image"]}},
        ]
    system = [{"role": "system", "content": request["system"]}] if request.get("system") else []
    return [*system, {"role": "user", "content": content}]


def add(request, result, piece):
    """Adds a piece of text; true when the client is to hang up."""
    if not piece:
        return False
    result["text"] += piece
    result["pieces"] += 1
    result["aborted"] = 0 < (request.get("abort_after") or 0) <= result["pieces"]
    return result["aborted"]


def usage(u):
    return {"prompt": u.prompt_tokens, "completion": u.completion_tokens, "total": u.total_tokens}


def describe(error):
    return {
        "class": type(error).__name__,
        "status": getattr(error, "status_code", 0),
        "code": getattr(error, "code", None) or "",
        "param": getattr(error, "param", None) or "",
        "type": getattr(error, "type", None) or "",
        "message": getattr(error, "message", str(error)),
    }


main()
