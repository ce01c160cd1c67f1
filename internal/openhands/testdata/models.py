"""Writes what OpenHands says of models: its version, the verified ones, and the names that it lists besides.

Arguments: the file to write, then the prefixes of providers ("groq/") and the beginnings of names that need none
("gpt-"). Other names are left out, and so is what does not answer in text, and what is verified.
"""

import importlib.metadata
import json
import sys

import litellm
from openhands.sdk.llm.utils.unverified_models import get_supported_llm_models
from openhands.sdk.llm.utils.verified_models import VERIFIED_MODELS

MAKERS = ("openai", "anthropic")  # whose models LiteLLM knows by their bare names


def offered(name, beginnings):
    facts = litellm.model_cost.get(name, {})
    prefix, slash, rest = name.partition("/")
    if facts.get("mode", "chat") not in ("chat", "responses") or not name.startswith(beginnings):
        return False
    if not slash:
        return facts.get("litellm_provider") in MAKERS
    return prefix + slash in beginnings and rest not in VERIFIED_MODELS.get(prefix, ())


def main():
    path, *beginnings = sys.argv[1:]
    bare = {name for maker in MAKERS for name in VERIFIED_MODELS[maker]}
    names = sorted({name for name in get_supported_llm_models() if offered(name, tuple(beginnings))} - bare)
    with open(path, "w") as file:
        json.dump([importlib.metadata.version("openhands-sdk"), VERIFIED_MODELS, names], file)


if __name__ == "__main__":
    main()
