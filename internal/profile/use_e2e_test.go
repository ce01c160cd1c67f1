//go:build e2e

package profile_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// activated compares, in each directory below the working directory, the
// profile p with the entry in the settings, both as the real SDK understands
// them. It prints the members that differ, or what went wrong.
const activated = `
import json, logging, sys, warnings
from pathlib import Path
logging.disable(logging.CRITICAL); warnings.simplefilter("ignore")
from openhands.sdk.llm.llm_profile_store import LLMProfileStore
from openhands.sdk.utils.cipher import Cipher
from openhands.agent_server.persistence.store import FileSettingsStore
cipher = Cipher(sys.argv[1])
proxy = "https://llm-proxy.app.all-hands.dev"

def present(llm):
    # Names that left OpenHands' list keep their old form there; it means the same.
    if sys.argv[2] == "1.58.2" and llm["model"].startswith("litellm_proxy/") and (llm["base_url"] or "").startswith(proxy):
        llm.update(model="openhands/" + llm["model"].removeprefix("litellm_proxy/"), base_url=None)
    return llm

shown = dict(mode="json", context={"expose_secrets": "plaintext"})
out = {}
for base in sorted(Path(".").iterdir()):
    try:
        profile = present(LLMProfileStore(base / "profiles").load("p", cipher=cipher).model_dump(**shown))
    except Exception as e:
        out[base.name] = ["not loaded"]
        continue
    settings = FileSettingsStore(base, cipher).load()
    if settings is None or settings.active_profile != "p":
        out[base.name] = ["not active"]
        continue
    if not hasattr(settings.agent_settings, "llm"):
        out[base.name] = ["no LLM"]
        continue
    entry = present(settings.agent_settings.llm.model_dump(**shown))
    out[base.name] = sorted(k for k in profile.keys() | entry.keys() if profile.get(k) != entry.get(k))
print("RESULT" + json.dumps(out))
`

// What Use puts into the settings means what the profile means: for every
// fixture that the SDK loads, and into settings of several ages.
func TestTheSDKUnderstandsWhatIsActiveAsTheProfile(t *testing.T) {
	newest, err := os.ReadFile(newerDir + "/settings.json")
	must(t, err)
	settings := []string{""}
	for _, name := range []string{"s01-settings-agent-v3.json", "s02-settings-agent-v5-proxy.json", "s03-settings-acp.json"} {
		content, err := os.ReadFile("testdata/fixtures/settings/" + name)
		must(t, err)
		settings = append(settings, string(content))
	}
	t.Run("1.43.1", func(t *testing.T) { understood(t, "1.43.1", settings) })
	half := strings.Replace(string(newest), `"schema_version": 6`, `"schema_version": 3`, 1)
	t.Run("1.58.2", func(t *testing.T) { understood(t, "1.58.2", append(settings, string(newest), half)) })
}

// understood makes each fixture the active profile, in settings of each age in turn, and
// asks the SDK of this version.
func understood(t *testing.T, version string, olds []string) {
	t.Setenv("OHGW_AGENT_SERVER_VERSION", version)
	dir := t.TempDir()
	conns, err := os.ReadFile("testdata/fixtures/settings/s08-provider_connections.json")
	must(t, err)
	want := map[string][]string{}
	fixtures, err := filepath.Glob("testdata/fixtures/p*.json")
	must(t, err)
	fixtures = append(fixtures, "testdata/full.json")
	for i, path := range fixtures {
		src, err := os.ReadFile(path)
		must(t, err)
		name := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(path), ".json"), " ", "-")
		base := filepath.Join(dir, name)
		write(t, filepath.Join(base, "profiles", "p.json"), string(src))
		write(t, filepath.Join(base, "provider-connections", "provider_connections.json"), string(conns))
		if old := olds[i%len(olds)]; old != "" {
			write(t, filepath.Join(base, "settings.json"), old)
		}
		s := profile.Open(profile.Config{Base: base, Ciphers: ciphers()})
		want[name] = []string{}
		if version == "1.58.2" && strings.Contains(olds[i%len(olds)], `"acp"`) {
			want[name] = []string{"no LLM"} // since agent settings 7
		}
		if _, err := s.UseWithKey(t.Context(), "p", now()); err != nil || strings.HasPrefix(name, "p33") {
			want[name] = []string{"not loaded"} // A subscription needs a login.
		}
	}
	var got map[string][]string
	must(t, json.Unmarshal(sdktest.Result(t, sdktest.Run(t, dir, activated, fixtureSecret, version)), &got))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
