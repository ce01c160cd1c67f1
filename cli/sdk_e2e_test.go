//go:build e2e && linux

package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

const (
	judgeSecret = "ohgw-example-secret-key-0001"

	// judgeToken is judgeKey under judgeSecret.
	judgeToken = "gAAAAABpVbkAAAECAwQFBgcICQoLDA0OD4V2gXe4gKjk4-c8purNrPlrdfZ4gmm__omhIRYonYrHWaY-0GWSOxLeQCjVjuchCDHcTS81JnT8yOc1QdzIW9t75VV5LevLcDXIUm-e-cJ9"
	judgeKey   = "sk-example-not-a-real-key-0123456789"
)

// judge loads every profile and the settings with the real SDK whenever it gets
// a line, and tells what it understands: all of an entry, keys included; of model and URL what goes
// out with a call, where the spellings of OpenHands' own URL are one.
const judge = `
import json, logging, sys, warnings
from pathlib import Path
logging.disable(logging.CRITICAL); warnings.simplefilter("ignore")
from openhands.sdk.llm.utils.openhands_provider import is_openhands_proxy_base_url
from openhands.sdk.llm.llm_profile_store import LLMProfileStore
from openhands.sdk.utils.cipher import Cipher
from openhands.agent_server.persistence.store import FileSettingsStore
base, cipher = Path(sys.argv[1]), Cipher(sys.argv[2])

def entry(llm):
    out = llm.model_dump(mode="json", context={"expose_secrets": "plaintext"})
    out.pop("model"); out.pop("base_url")
    call = llm._litellm_call_kwargs()
    url = (call["api_base"] or "").rstrip("/")
    out["call"] = [call["model"], url.removesuffix("/v1") if is_openhands_proxy_base_url(url) else url]
    return out

for line in sys.stdin:
    store = LLMProfileStore(base / "profiles")
    out = {path.stem: entry(store.load(path.stem, cipher=cipher)) for path in (base / "profiles").glob("*.json")}
    if (base / "settings.json").exists():
        settings = FileSettingsStore(base, cipher).load()
        out["@settings"] = entry(settings.agent_settings.llm)
        out["@active"] = {"name": settings.active_profile}
    print("RESULT" + json.dumps(out), flush=True)
`

// meanings are what the SDK understands, by profile.
type meanings map[string]map[string]any

// startJudge starts the SDK, which takes its time, once.
func startJudge(t *testing.T, dir, base string) (judged func() meanings) {
	t.Helper()
	cmd := sdktest.Command(t, dir, judge, base, judgeSecret)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait() // It ends with its input.
	})
	lines := bufio.NewReader(stdout)
	return func() meanings {
		t.Helper()
		if _, err := io.WriteString(stdin, "\n"); err != nil {
			t.Fatal(err)
		}
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				t.Fatalf("the SDK has ended: %v", err)
			}
			if text, found := bytes.CutPrefix(line, []byte("RESULT")); found {
				var out meanings
				if err := json.Unmarshal(text, &out); err != nil {
					t.Fatal(err)
				}
				return out
			}
		}
	}
}

// with is an entry in which some members are others.
func with(entry map[string]any, changes map[string]any) map[string]any {
	entry = maps.Clone(entry)
	maps.Copy(entry, changes)
	return entry
}

// After each command, the SDK loads all files and understands what it did before,
// apart from what the command is for.
func TestTheSDKUnderstandsEveryCommandOfOurs(t *testing.T) {
	if beside(t) {
		return
	}
	dir := t.TempDir()
	base := filepath.Join(dir, "oh")
	p := built(t, nil)
	p.env = append(p.env, "OH_PERSISTENCE_DIR="+base, "OH_SECRET_KEY="+judgeSecret)
	if err := os.MkdirAll(filepath.Join(base, "profiles"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"encrypted": `{"model": "anthropic/x", "api_key": "` + judgeToken + `", "temperature": 0.50, "mystery": {"a": [1, 2]}, "timeout": 77}`,
		"plain":     `{"model": "openai/y", "base_url": "https://h.example.com/v1", "api_key": "` + judgeKey + `", "usage_id": "\u00fc"}`,
		"old":       `{"model": "litellm_proxy/kimi-k3", "base_url": "https://llm-proxy.app.all-hands.dev/", "api_key": "` + judgeToken + `"}`,
		"ambiguous": `{"model": "litellm_proxy/mine", "api_key": "` + judgeToken + `"}`,
		"stranded":  `{"model": "litellm_proxy/gpt-5.6", "base_url": null, "api_key": "` + judgeToken + `"}`,
	} {
		if err := os.WriteFile(filepath.Join(base, "profiles", name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	app := "https://llm-proxy.app.all-hands.dev"
	judged := startJudge(t, dir, base)
	now := judged()
	for _, step := range []struct {
		line, stdin string
		change      func(m meanings)
	}{
		{"keys import", "", func(meanings) {}},
		{"profiles use encrypted", "", func(m meanings) {
			m["@settings"], m["@active"] = m["encrypted"], map[string]any{"name": "encrypted"}
		}},
		{"profiles add new --model anthropic/z --base-url https://z.example.com", "", func(m meanings) {
			m["new"] = with(m["plain"], map[string]any{"api_key": nil, "usage_id": "default", "call": []any{"anthropic/z", "https://z.example.com"}})
		}},
		{"profiles add copy --from-settings", "", func(m meanings) { m["copy"] = m["@settings"] }},
		{"profiles add file --from-file -", `{"model": "openai/y", "base_url": "https://h.example.com/v1", "api_key": "` + judgeKey + `", "usage_id": "\u00fc"}`, func(m meanings) {
			m["file"] = with(m["plain"], map[string]any{"api_key": nil})
		}},
		{"keys set new", "sk-another-key-0123456789", func(meanings) {}},
		{"keys import plain --remove-from-profile", "", func(m meanings) { m["plain"] = with(m["plain"], map[string]any{"api_key": nil}) }},
		{"profiles rename encrypted renamed", "", func(m meanings) {
			m["renamed"], m["@active"] = m["encrypted"], map[string]any{"name": "renamed"}
			delete(m, "encrypted")
		}},
		{"profiles migrate", "", func(meanings) {}},
		{"profiles migrate --as-openhands stranded", "", func(m meanings) {
			m["stranded"] = with(m["stranded"], map[string]any{"call": []any{"litellm_proxy/gpt-5.6", app}})
		}},
		{"profiles migrate --base-url https://own.example.com ambiguous", "", func(m meanings) {
			m["ambiguous"] = with(m["ambiguous"], map[string]any{"call": []any{"litellm_proxy/mine", "https://own.example.com"}})
		}},
		{"profiles use plain", "", func(m meanings) { m["@settings"], m["@active"] = m["plain"], map[string]any{"name": "plain"} }},
		{"profiles remove plain --yes", "", func(m meanings) { delete(m, "plain"); m["@active"] = map[string]any{"name": nil} }},
		{"tokens create default", "", func(meanings) {}},
		{"profiles check", "", func(meanings) {}},
		{"keys remove new --yes", "", func(meanings) {}},
	} {
		want := maps.Clone(now)
		step.change(want)
		cmd := p.command(t, strings.Fields(step.line)...)
		cmd.Stdin = strings.NewReader(step.stdin)
		if out, err := cmd.CombinedOutput(); err != nil && !strings.HasPrefix(step.line, "profiles check") {
			t.Errorf("ohgw %s: %v\n%s", step.line, err, out)
		}
		now = judged()
		if diff := cmp.Diff(want, now); diff != "" {
			t.Errorf("after ohgw %s (-want +got):\n%s", step.line, diff)
		}
	}
	if now["old"]["api_key"] != judgeKey || now["renamed"]["timeout"] != 77.0 {
		t.Errorf("what is left: %v", now)
	}
}
