"""What a program of OpenHands' SDK does with a gateway, which it takes for an agent-server.

Arguments: the gateway's URL and key, the base URL of an LLM, a directory to work in.
Prints RESULT and what came of it as JSON.
"""

import json
import sys

import httpx
from openhands.sdk import LLM, Agent, AgentContext, Conversation
from openhands.sdk.conversation.response_utils import get_agent_final_response
from openhands.sdk.skills import Skill
from openhands.sdk.tool import Tool
from openhands.sdk.workspace import RemoteWorkspace
from openhands.tools.terminal import TerminalTool
from pydantic import SecretStr

WRITE = '[[tool terminal {"command":"echo tea > note.txt"}]] then [[finish Written.]]'
READ = '[[tool terminal {"command":"test \\"$(cat note.txt)\\" = tea"}]] then [[finish Read.]]'
SKILL = '[[tool invoke_skill {"name":"tea"}]] then [[finish Brewed.]]'


def main():
    url, key, llm_url, directory = sys.argv[1:]
    llm = LLM(
        model="openai/test", api_key=SecretStr("sk-llm-test"), base_url=llm_url, usage_id="agent", num_retries=0, stream=True
    )
    workspace = RemoteWorkspace(host=url, api_key=key, working_dir=directory)
    seen = []
    skill = Skill(name="tea", content="Boil water.", description="Makes tea.", is_agentskills_format=True)
    conversation = Conversation(
        agent=Agent(llm=llm, tools=[Tool(name=TerminalTool.name)], agent_context=AgentContext(skills=[skill])),
        workspace=workspace,
        callbacks=[seen.append],
        visualizer=None,
    )
    answers = []
    for text in (WRITE, READ, SKILL):
        conversation.send_message(text)
        conversation.run()
        answers.append(get_agent_final_response(conversation.state.events))
    command = workspace.execute_command("cat note.txt", cwd=directory)
    conversation.state.refresh_from_server()
    stats = conversation.conversation_stats.get_combined_metrics()
    with httpx.Client(base_url=url, headers={"X-Session-API-Key": key}, timeout=30) as client:
        client.patch(f"/api/conversations/{conversation.id}", json={"tags": {"color": "red"}}).raise_for_status()
        told = client.get(f"/api/conversations/{conversation.id}/events/search?sort_order=TIMESTAMP_DESC&limit=10").json()["items"]
        archive = client.get("/api/file/archive", params={"path": directory, "format": "tar.gz"})
        rest = client.post("/api/conversations/prepare-for-sandbox-pause").status_code
    result = {
        "Skills": conversation.state.invoked_skills,
        "Calls": len(stats.token_usages) == len(stats.response_latencies) >= 6,
        "Tags": [e["value"] for e in told if e.get("key") == "tags"],
        "Archived": archive.headers.get("content-type") == "application/gzip" and len(archive.content) > 100,
        "Rest": rest,
        "Answers": answers,
        "Command": command.stdout.strip(),
        "Events": len(seen) >= 6,
        "Refused": httpx.get(url + "/api/settings", headers={"X-Session-API-Key": "wrong"}).status_code,
        "Conversation": str(conversation.id),
    }
    conversation.close()
    print("RESULT" + json.dumps(result))


main()
