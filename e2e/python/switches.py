"""Each switch of a conversation that OpenHands' SDK has, on a server that it takes for an agent-server.

Arguments: the server's URL and key, the base URL of an LLM, a directory to work in.
Prints RESULT and what came of it as JSON.
"""

import json
import os
import sys

from openhands.sdk import LLM, Agent, Conversation
from openhands.sdk.conversation.response_utils import get_agent_final_response
from openhands.sdk.security.confirmation_policy import AlwaysConfirm, NeverConfirm
from openhands.sdk.tool import Tool
from openhands.sdk.workspace import RemoteWorkspace
from openhands.tools.terminal import TerminalTool
from pydantic import SecretStr

ACT = '[[tool terminal {"command":"echo %s >> done.txt"}]] then [[finish Done.]]'


def main():
    url, key, llm_url, directory = sys.argv[1:]
    llm = LLM(model="openai/test", api_key=SecretStr("sk-llm-test"), base_url=llm_url, usage_id="agent", num_retries=0, stream=True)
    workspace = RemoteWorkspace(host=url, api_key=key, working_dir=directory)
    agent = Agent(llm=llm, tools=[Tool(name=TerminalTool.name)])
    seen = []

    def join(**more):
        return Conversation(agent=agent, workspace=workspace, visualizer=None, delete_on_close=False, **more)

    conversation = join(callbacks=[seen.append], secrets={"TOKEN": "sk-of-the-test"}, tags={"made": "here"})
    statuses = []

    def run(text=None):
        if text:
            conversation.send_message(text)
        conversation.run()
        statuses.append(conversation.state.execution_status.value)

    conversation.set_confirmation_policy(AlwaysConfirm())
    run(ACT % "accepted")
    run()
    run(ACT % "rejected")
    conversation.reject_pending_actions("not now")
    statuses.append(conversation.state.execution_status.value)
    conversation.set_confirmation_policy(NeverConfirm())
    conversation.update_secrets({"OTHER": "another"})
    run('[[tool terminal {"command":"printf %s \\"$TOKEN$OTHER\\" | wc -c > secret.txt"}]] then [[finish Checked.]]')
    asked = conversation.ask_agent("[[say Asked.]]")
    fork = conversation.fork(title="A copy")
    again = join(conversation_id=conversation.id)
    again.send_message("[[say Again.]]")
    again.run()
    events = [e.id for e in again.state.events]
    result = {
        "Statuses": statuses,
        "Asked": asked,
        "Fork": fork.id != conversation.id and len(fork.state.events) > 0,
        "Again": get_agent_final_response(again.state.events),
        "Once": len(events) == len(set(events)),
        "Seen": len(seen) > 10,
        "Hidden": "sk-of-the-test" not in json.dumps([e.model_dump(mode="json") for e in again.state.events]),
    }
    print("RESULT" + json.dumps(result), flush=True)
    os._exit(0)  # the SDK waits 5 s for each of its sockets


main()
