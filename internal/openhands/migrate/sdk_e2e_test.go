//go:build e2e

package migrate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/migrate"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

const fixtureSecret = "ohgw-example-secret-key-0001"

// meaning loads every profile, the settings and the CLI file in each directory
// below the working directory with the real SDK, and tells what it understands:
// everything about an entry, secrets included, or the kind of the error. Model
// and URL are those of the call that goes out, where the spellings of OpenHands'
// own URL are one.
const meaning = `
import json, logging, os, sys, warnings
from pathlib import Path
logging.disable(logging.CRITICAL); warnings.simplefilter("ignore")
from openhands.sdk.llm.llm import LLM
from openhands.sdk.llm.utils.openhands_provider import is_openhands_proxy_base_url
from openhands.sdk.llm.llm_profile_store import LLMProfileStore
from openhands.sdk.utils.cipher import Cipher
from openhands.agent_server.persistence.store import FileSettingsStore
cipher = Cipher(sys.argv[1])

def entry(llm):
    out = llm.model_dump(mode="json", context={"expose_secrets": "plaintext"})
    out.pop("model"); out.pop("base_url")
    out["call"] = dict(llm._litellm_call_kwargs())
    base = (out["call"]["api_base"] or "").rstrip("/")
    if is_openhands_proxy_base_url(base):
        out["call"]["api_base"] = base.removesuffix("/v1")
    return out

def attempt(f):
    try:
        return f()
    except Exception as e:
        return "error: " + type(e).__name__

out = {}
for base in sorted(Path(".").iterdir()):
    if not base.is_dir():
        continue
    def read(base=base):
        found = {}
        for path in sorted((base / "profiles").glob("*.json")):
            found[path.name] = attempt(lambda: entry(LLMProfileStore(base / "profiles").load(path.stem, cipher=cipher)))
        found["list"] = attempt(lambda: [[s["name"], s["api_key_set"]] for s in LLMProfileStore(base / "profiles").list_summaries()])
        if (base / "settings.json").exists():
            def settings():
                loaded = FileSettingsStore(base, cipher).load()
                if loaded is None:
                    return "not loaded"
                dump = loaded.model_dump(mode="json", context={"expose_secrets": "plaintext"})
                dump["agent_settings"].get("agent_context", {}).pop("current_datetime", None)
                dump["agent_settings"]["llm"] = entry(loaded.agent_settings.llm)
                return dump
            found["settings"] = attempt(settings)
        if (base / "agent_settings.json").exists():
            data = json.loads((base / "agent_settings.json").read_text())
            for where in (("llm",), ("condenser", "llm")):
                value = data
                for name in where:
                    value = (value or {}).get(name)
                for name, llm in {"": value, **((value or {}).get("llms_for_routing") or {})}.items():
                    if llm:
                        found["cli " + ".".join(where) + name] = attempt(lambda: entry(LLM.model_validate(llm)))
        return found
    out[base.name] = read()
print("RESULT" + json.dumps(out))
`

// After every migration and every repair, the SDK loads what it loaded before
// and understands the same, keys included; what it did not load it still does
// not.
func TestTheSDKUnderstandsTheSameAfterAMigration(t *testing.T) {
	dir := t.TempDir()
	bases := map[string]migrate.Options{}
	for _, r := range rows(t) {
		f, o := place(t, r)
		name := strings.NewReplacer("/", "-", " ", "-").Replace(strings.TrimSuffix(r.file, ".json"))
		base := filepath.Join(dir, name)
		must(t, os.Rename(o.Bases[0], base))
		_ = f
		o.Bases, o.CLI, o.Apply = []string{base}, base, true
		bases[name] = o
	}
	before := understood(t, dir)
	for name, o := range bases {
		if _, err := migrate.Run(t.Context(), o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, understood(t, dir)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if len(before) != 47 {
		t.Errorf("%d stores", len(before))
	}
}

// A repair with an opinion changes the meaning of one entry in the way that it
// says, and of nothing else in it.
func TestTheSDKUnderstandsARepair(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "one")
	const key = `"api_key":"gAAAAABpVbkAAAECAwQFBgcICQoLDA0OD4V2gXe4gKjk4-c8purNrPlrdfZ4gmm__omhIRYonYrHWaY-0GWSOxLeQCjVjuchCDHcTS81JnT8yOc1QdzIW9t75VV5LevLcDXIUm-e-cJ9"`
	write(t, document.ProfileFile(base, "a").Path, `{"model":"litellm_proxy/gpt-5.6","base_url":null,`+key+`}`)
	write(t, document.ProfileFile(base, "b").Path, `{"model":"litellm_proxy/mine",`+key+`}`)
	write(t, document.SettingsFile(base).Path, `{"agent_settings":{"schema_version":5,"llm":{"model":"litellm_proxy/gpt-5.6","base_url":null,`+key+`}},"active_profile":"a"}`)
	o := options(t, base)
	o.Apply, o.AsOpenHands = true, []string{"a"}
	run(t, o)
	o = options(t, base)
	o.Apply, o.BaseURL, o.BaseURLFor = true, "https://proxy.example.com/v1", []string{"b"}
	run(t, o)

	got := understood(t, dir)["one"].(map[string]any)
	want := map[string][2]string{"a.json": {"litellm_proxy/gpt-5.6", "https://llm-proxy.app.all-hands.dev"}, "b.json": {"litellm_proxy/mine", "https://proxy.example.com/v1"}}
	for file, call := range want {
		entry := got[file].(map[string]any)
		if diff := cmp.Diff(map[string]any{"model": call[0], "api_base": call[1]}, entry["call"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
		if entry["api_key"] != "sk-example-not-a-real-key-0123456789" {
			t.Errorf("%s: the key is lost", file)
		}
	}
	settings := got["settings"].(map[string]any)["agent_settings"].(map[string]any)["llm"].(map[string]any)
	if diff := cmp.Diff(got["a.json"].(map[string]any)["call"], settings["call"]); diff != "" {
		t.Errorf("settings (-profile +settings):\n%s", diff)
	}
}

func understood(t *testing.T, dir string) map[string]any {
	t.Helper()
	var out map[string]any
	must(t, json.Unmarshal(sdktest.Result(t, sdktest.Run(t, dir, meaning, fixtureSecret)), &out))
	return out
}
