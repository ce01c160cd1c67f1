# Plays the actions of actions.json with OpenHands' own executor, in the Chromium whose
# address is the first argument, and describes OpenHands' tools.
import json
import os
import sys

os.environ["ANONYMIZED_TELEMETRY"] = "false"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import openhands.tools.browser_use.definition as d
from openhands.tools.browser_use.impl import BrowserToolExecutor

BrowserToolExecutor.check_chromium_available = staticmethod(lambda: "/bin/true")
executor = BrowserToolExecutor(cdp_url=sys.argv[1], enable_default_extensions=False, keep_alive=False)
tools = []
for name in dir(d):
    if name.startswith("Browser") and name.endswith("Tool"):
        for tool in getattr(d, name).create(executor):
            tools.append({
                "name": tool.name, "kind": name, "action": tool.action_type.__name__,
                "annotations": tool.annotations.model_dump(), "schema": tool.to_mcp_tool()["inputSchema"],
            })
results, elements = [], []
for step in json.load(open("actions.json")):
    args = step.get("args") or {}
    if step.get("tag"):
        found = [e["index"] for e in elements if e["tag"] == step["tag"]]
        args["index"] = found[0] if found else 99999
    o = executor(getattr(d, "Browser" + step["kind"] + "Action")(**args))
    if step["kind"] == "GetState":
        elements = json.loads(o.text)["interactive_elements"]
    results.append({"text": o.text, "is_error": o.is_error, "picture": bool(o.screenshot_data)})
executor.close()
print("RESULT" + json.dumps({"tools": tools, "results": results}))
