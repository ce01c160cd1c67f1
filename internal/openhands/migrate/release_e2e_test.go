//go:build e2e

package migrate_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/openhands/migrate"
	"github.com/ohgw/ohgw/internal/openhands/schema"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// generations are the releases whose own code makes and reads the stores.
var generations = []string{"1.21.0", "1.34.0", "1.43.1", "1.49.1", "1.58.2"}

// sdkFiles makes or reads the stores in the working directory with the SDK that runs it:
// four stores of settings, LLM profiles, agent profiles and meta-profiles, as far as this
// release has them, with encrypted and plain keys.
const sdkFiles = `
import json, logging, sys, warnings
from pathlib import Path
logging.disable(logging.CRITICAL); warnings.simplefilter("ignore")
from openhands.sdk import LLM
from openhands.sdk.llm.llm_profile_store import LLMProfileStore
from openhands.sdk.tool.spec import Tool
from openhands.sdk.utils.cipher import Cipher
from openhands.agent_server.persistence.store import FileSettingsStore
from openhands.agent_server.persistence.models import PersistedSettings
from openhands.sdk.settings import model as m
try:
    from openhands.sdk.profiles.agent_profile_store import AgentProfileStore
    from openhands.sdk.profiles.agent_profile import OpenHandsAgentProfile, ACPAgentProfile
except ImportError:
    AgentProfileStore = None
try:
    from openhands.sdk.llm.meta_profile_store import MetaProfile, MetaProfileStore
except ImportError:
    MetaProfileStore = None
key, cipher = sys.argv[2], Cipher(sys.argv[3])
plain = {"expose_secrets": "plaintext"}

def given(cls, **fields):
    return cls(**{n: v for n, v in fields.items() if n in cls.model_fields})

def servers(encrypted):
    url = "http://127.0.0.1:9/mcp"
    if not hasattr(sys.modules.get("openhands.sdk.mcp.config"), "MCPServer"):
        old = {"bearer": {"url": url, "headers": {"Authorization": "Bearer a b", "X": "y"}}, "basic": {"url": url, "headers": {"authorization": "Basic a"}},
            "text": {"url": url, "auth": "t", "transport": "sse"}, "oauth": {"url": url, "auth": "oauth", "authentication": {"client_id": "c"}}, "k": {"url": url, "api_key": "k"},
            "stdio": {"command": "c", "args": ["a"], "env": {"A": "b"}, "transport": "stdio", "timeout": 5}, "sse": {"url": "https://mcp.linear.app/sse", "transport": "sse"}}
        if encrypted: # this release writes "<redacted>" for these objects then, and cannot read it
            old = {n: {k: v for k, v in s.items() if k not in ("headers", "env", "authentication")} for n, s in old.items()}
        return {"mcpServers": old}
    all = {"none": {"strategy": "none"}, "bearer": {"strategy": "bearer", "value": "v"}, "k": {"strategy": "api_key", "value": "v"}, "named": {"strategy": "api_key", "value": "v", "header_name": "X-Key"},
        "basic": {"strategy": "basic", "username": "u", "password": "p"}, "header": {"strategy": "header", "headers": {"Authorization": "Token t"}}, "headers": {"strategy": "header", "headers": {"A": "b", "C": "d"}},
        "oauth": {"strategy": "oauth2", "authentication": {"type": "oauth", "client_id": "c", "client_secret": "s"}, "state": {"tokens": {"access_token": "t"}, "token_expires_at": 12.5}}}
    all = {name: {"url": url, "transport": "http", "headers": {"Y": "z"}, "auth": auth} for name, auth in all.items()}
    all["stdio"] = {"command": "c", "args": ["a"], "env": {"A": "b"}}
    if "enabled" in sys.modules["openhands.sdk.mcp.config"].MCPServer.model_fields:
        all["off"] = {"url": url, "enabled": False}
    return all

def make():
    tools = {"plain": None, "listed": [Tool(name="terminal"), Tool(name="glob")], "tasks": None, "acp": None}
    for name in tools:
        base = Path(name)
        agent = given(getattr(m, "OpenHandsAgentSettings"), llm=LLM(model="openai/x", api_key=key, timeout=77),
            enable_sub_agents=name == "tasks", enable_switch_llm_tool=name == "plain", persona="Be brief." if name == "plain" else None,
            mcp_config=servers(name != "listed"), **({"tools": tools[name]} if tools[name] else {}))
        if name == "acp":
            agent = given(m.ACPAgentSettings, acp_server="codex", acp_model="o")
        s = PersistedSettings()
        s.agent_settings = agent
        if "active_profile" in PersistedSettings.model_fields:
            s.active_profile = "p0"
        FileSettingsStore(base, None if name == "listed" else cipher).save(s)
        if "provider_connection_id" in LLM.model_fields:
            links = base / "provider-connections"
            links.mkdir()
            (links / "provider_connections.json").write_text(json.dumps({"schema_version": 1, "connections": [{"id": "c1", "display_name": "C", "provider": "openai",
                "api_key": key, "base_url": None, "created_at": 1767225600, "updated_at": 1767225600}]}))
        llms = LLMProfileStore(base / "profiles")
        for i in range(3):
            llm = given(LLM, model="openai/x%d" % i, api_key=key, provider_connection_id="c1" if i == 2 else None)
            llms.save("p%d" % i, llm, include_secrets=True, **({} if AgentProfileStore is None else {"cipher": None if i == 1 else cipher}))
        if MetaProfileStore is not None:
            metas = MetaProfileStore(base / "meta-profiles")
            metas.save("m0", MetaProfile(classifier_model="p0", classes=[{"description": "d", "model": "p1"}]))
        if AgentProfileStore is None:
            continue
        agents = AgentProfileStore(base / "agent-profiles")
        agents.save(given(OpenHandsAgentProfile, name="a0", llm_profile_ref="p0", persona="Be brief.", secret_refs=["A"]))
        agents.save(given(OpenHandsAgentProfile, name="a1", llm_profile_ref="p1", tools=[Tool(name="terminal")], enable_switch_llm_tool=False))
        agents.save(given(OpenHandsAgentProfile, name="a2", llm_profile_ref="p1", enable_sub_agents=True))
        agents.save(given(ACPAgentProfile, name="a3", acp_server="codex", acp_model="o"))

def attempt(f):
    try:
        out = f()
    except Exception as e:
        return "error: " + type(e).__name__ + str(e)[:300]
    out.get("agent_settings", {}).get("agent_context") and out["agent_settings"]["agent_context"].pop("current_datetime", None)
    return out

def loaded(base):
    s = FileSettingsStore(base, cipher).load()
    if s is None:
        getattr(PersistedSettings, "from_persisted", PersistedSettings.model_validate)(json.loads((base / "settings.json").read_text()), context={"cipher": cipher})
    return s.model_dump(mode="json", context=plain)

def read(base):
    out = {"settings": attempt(lambda: loaded(base))}
    if AgentProfileStore is not None:
        for p in sorted((base / "profiles").glob("*.json")):
            out["llm " + p.stem] = attempt(lambda: LLMProfileStore(base / "profiles").load(p.stem, cipher=cipher).model_dump(mode="json", context=plain))
        for p in sorted((base / "agent-profiles").glob("*.json")):
            out["agent " + p.stem] = attempt(lambda: AgentProfileStore(base / "agent-profiles").load(p.stem).model_dump(mode="json"))
    if MetaProfileStore is not None:
        for p in sorted((base / "meta-profiles").glob("*.json")):
            out["meta " + p.stem] = attempt(lambda: MetaProfileStore(base / "meta-profiles").load(p.stem).model_dump(mode="json"))
    return out

if sys.argv[1] == "make":
    make()
else:
    print("RESULT" + json.dumps({str(p.parent): read(p.parent) for p in sorted(Path(".").rglob("settings.json"))}))
`

func sdkRun(t *testing.T, dir, version, verb string) []byte {
	t.Helper()
	cmd := sdktest.Command(t, dir, sdkFiles, verb, "sk-example-not-a-real-key-0123456789", fixtureSecret)
	cmd.Env = append(os.Environ(), "OHGW_AGENT_SERVER_VERSION="+version)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", version, verb, err, stderr.Bytes())
	}
	return out
}

func sdkRead(t *testing.T, dir, version string) map[string]map[string]any {
	t.Helper()
	var out map[string]map[string]any
	must(t, json.Unmarshal(sdktest.Result(t, sdkRun(t, dir, version, "read")), &out))
	return out
}

func toRelease(t *testing.T, dir, version string) migrate.ReleaseReport {
	t.Helper()
	to, err := schema.ParseRelease(version)
	must(t, err)
	o := migrate.ReleaseOptions{To: to, Apply: true, Backups: t.TempDir(), Now: options(t, dir).Now}
	for _, base := range []string{"plain", "listed", "tasks", "acp"} {
		o.Bases = append(o.Bases, filepath.Join(dir, base))
	}
	report, err := migrate.ToRelease(t.Context(), o)
	must(t, err)
	if report.Code() != 0 {
		t.Errorf("to %s: code %d: %+v", version, report.Code(), report.Items)
	}
	return report
}

// Stores that the code of one release has made are read by the code of every other one
// after a migration to it; and what 1.58.2 makes of an old store itself is what it reads
// after a migration to 1.58.2.
func TestEachReleaseReadsTheStoresOfAllOthers(t *testing.T) {
	dir := t.TempDir()
	stores := map[string]string{}
	for _, from := range generations {
		stores[from] = filepath.Join(dir, from)
		must(t, os.Mkdir(stores[from], 0o700))
		sdkRun(t, stores[from], from, "make")
	}
	for _, to := range generations {
		t.Run(to, func(t *testing.T) {
			copies := filepath.Join(t.TempDir(), to)
			var before map[string]map[string]any
			for _, from := range generations {
				must(t, os.CopyFS(filepath.Join(copies, from), os.DirFS(stores[from])))
			}
			if to == generations[len(generations)-1] {
				before = sdkRead(t, copies, to)
			}
			for _, from := range generations {
				toRelease(t, filepath.Join(copies, from), to)
			}
			after := sdkRead(t, copies, to)
			if len(after) != 4*len(generations) {
				t.Errorf("%d stores", len(after))
			}
			for base, files := range after {
				for name, content := range files {
					if text, isError := content.(string); isError && strings.HasPrefix(text, "error") {
						t.Errorf("%s %s: text = %s", base, name, text)
					}
				}
			}
			if diff := cmp.Diff(before, after); before != nil && diff != "" {
				t.Errorf("OpenHands' own migration (-) and ours (+):\n%s", diff)
			}
		})
	}
}
