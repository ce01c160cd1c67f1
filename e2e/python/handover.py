"""Begins a conversation on a server and watches what others do in it, until its end.

Arguments: the server's URL and key, the base URL of an LLM, a directory to work in.
Prints CONVERSATION and its id, later RESULT and what it saw as JSON.
"""

import json
import sys
import threading

from openhands.sdk import LLM, Agent, Conversation
from openhands.sdk.conversation.response_utils import get_agent_final_response
from openhands.sdk.security.confirmation_policy import AlwaysConfirm
from openhands.sdk.tool import Tool
from openhands.sdk.workspace import RemoteWorkspace
from openhands.tools.terminal import TerminalTool
from pydantic import SecretStr


def main():
    url, key, llm_url, directory = sys.argv[1:]
    llm = LLM(model="openai/test", api_key=SecretStr("sk-llm-test"), base_url=llm_url, usage_id="agent", num_retries=0, stream=True)
    statuses, finished = [], threading.Event()

    def watch(event):
        if getattr(event, "key", None) == "execution_status":
            statuses.append(event.value)
            if event.value == "finished":
                finished.set()

    conversation = Conversation(
        agent=Agent(llm=llm, tools=[Tool(name=TerminalTool.name)]),
        workspace=RemoteWorkspace(host=url, api_key=key, working_dir=directory),
        callbacks=[watch],
        visualizer=None,
        delete_on_close=False,
    )
    conversation.set_confirmation_policy(AlwaysConfirm())
    print("CONVERSATION", conversation.id, flush=True)
    ended = finished.wait(300)
    result = {
        "Ended": ended,
        "Waited": "waiting_for_confirmation" in statuses,
        "Answer": get_agent_final_response(conversation.state.events),
    }
    conversation.close()
    print("RESULT" + json.dumps(result))


main()
