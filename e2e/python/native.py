"""What a program of OpenHands' SDK does with a gateway, which it takes for an agent-server.

Arguments: the gateway's URL and key, the base URL of an LLM, a directory to work in.
Prints RESULT and what came of it as JSON.
"""

import json
import sys

import httpx
from openhands.sdk import LLM, Agent, Conversation
from openhands.sdk.conversation.response_utils import get_agent_final_response
from openhands.sdk.tool import Tool
from openhands.sdk.workspace import RemoteWorkspace
from openhands.tools.terminal import TerminalTool
from pydantic import SecretStr

WRITE = '[[tool terminal {"command":"echo tea > note.txt"}]] then [[finish Written.]]'
READ = '[[tool terminal {"command":"test \\"$(cat note.txt)\\" = tea"}]] then [[finish Read.]]'


def main():
    url, key, llm_url, directory = sys.argv[1:]
    llm = LLM(
        model="openai/test", api_key=SecretStr("sk-llm-test"), base_url=llm_url, usage_id="agent", num_retries=0, stream=True
    )
    workspace = RemoteWorkspace(host=url, api_key=key, working_dir=directory)
    seen = []
    conversation = Conversation(
        agent=Agent(llm=llm, tools=[Tool(name=TerminalTool.name)]), workspace=workspace, callbacks=[seen.append], visualizer=None
    )
    answers = []
    for text in (WRITE, READ):
        conversation.send_message(text)
        conversation.run()
        answers.append(get_agent_final_response(conversation.state.events))
    command = workspace.execute_command("cat note.txt", cwd=directory)
    result = {
        "Answers": answers,
        "Command": command.stdout.strip(),
        "Events": len(seen) >= 6,
        "Refused": httpx.get(url + "/api/settings", headers={"X-Session-API-Key": "wrong"}).status_code,
        "Conversation": str(conversation.id),
    }
    conversation.close()
    print("RESULT" + json.dumps(result))


main()
