"""An editor: starts `ohgw acp` with the Agent Client Protocol's own library, and
prints as JSON what it was told. The library checks every message against the
protocol's schema. e2e/acp_test.go runs it."""

import asyncio
import json
import sys

import acp
from acp import schema


class Editor:
    """The editor's side: notes updates, and answers questions as it was told."""

    def __init__(self):
        self.updates = []
        self.answers = []  # option IDs for the questions to come
        self.asked = []
        self.running = asyncio.Event()  # an action has begun

    def on_connect(self, conn):
        pass

    async def session_update(self, session_id, update, **kwargs):
        self.updates.append(update.model_dump(mode="json", by_alias=True, exclude_none=True))
        if self.updates[-1].get("status") == "in_progress":
            self.running.set()

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        self.asked.append({"title": tool_call.title, "options": [o.option_id for o in options]})
        chosen = schema.AllowedOutcome(outcome="selected", option_id=self.answers.pop(0))
        return schema.RequestPermissionResponse(outcome=chosen)

    def seen(self):
        """What came since the last call."""
        updates, asked, self.updates, self.asked = self.updates, self.asked, [], []
        text = "".join(u["content"]["text"] for u in updates if u["sessionUpdate"] == "agent_message_chunk")
        calls = [u for u in updates if u["sessionUpdate"].startswith("tool_call")]
        return {"text": text, "calls": calls, "asked": asked, "kinds": [u["sessionUpdate"] for u in updates]}


async def main(request):
    editor, told = Editor(), {}
    async with acp.spawn_agent_process(
        editor, *request["command"], env=request["env"], transport_kwargs={"limit": 1 << 20, "stderr": None}
    ) as (agent, process):
        start = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        told["initialize"] = start.model_dump(mode="json", by_alias=True, exclude_none=True)
        session = await agent.new_session(cwd=request["cwd"], mcp_servers=[])
        told["session"] = session.model_dump(mode="json", by_alias=True, exclude_none=True)
        session_id = session.session_id

        async def prompt(text):
            answer = await agent.prompt(session_id=session_id, prompt=[acp.text_block(text)])
            return {"stop": answer.stop_reason, **editor.seen()}

        told["edit"] = await prompt(request["edit"])
        await agent.set_session_mode(session_id=session_id, mode_id="always")
        editor.seen()
        editor.answers = ["allow"]
        told["allowed"] = await prompt(request["allowed"])
        editor.answers = ["reject"]
        told["rejected"] = await prompt(request["rejected"])
        await agent.set_session_mode(session_id=session_id, mode_id="never")
        editor.running.clear()
        hanging = asyncio.ensure_future(prompt(request["hanging"]))
        await editor.running.wait()
        await agent.cancel(session_id=session_id)
        told["hanging"] = await hanging
        try:
            await agent.prompt(session_id="none", prompt=[acp.text_block("hi")])
        except acp.RequestError as error:
            told["error"] = {"code": error.code, "message": str(error)}
        editor.seen()
        await agent.load_session(cwd=request["cwd"], session_id=session_id, mcp_servers=[])
        told["loaded"] = editor.seen()
    told["exit"] = await process.wait()
    print(json.dumps(told))


asyncio.run(main(json.load(sys.stdin)))
