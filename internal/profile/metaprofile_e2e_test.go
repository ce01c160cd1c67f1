//go:build e2e

package profile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// loadedMetas prints the models that OpenHands finds in the meta-profiles of a directory,
// null for one that it does not load, and the models of the copy in the settings.
const loadedMetas = `
import json, logging, sys, warnings
from pathlib import Path
logging.disable(logging.CRITICAL); warnings.simplefilter("ignore")
from openhands.sdk.llm.meta_profile_store import MetaProfileStore
from openhands.sdk.utils.cipher import Cipher
from openhands.agent_server.persistence.store import FileSettingsStore
base = Path(sys.argv[1])
store = MetaProfileStore(base / "meta-profiles")
models = lambda m: [m.classifier_model, *[c.model for c in m.classes]]
out = {}
for name in store.list():
    try:
        out[name] = models(store.load(name))
    except ValueError:
        out[name] = None
s = FileSettingsStore(base, Cipher(sys.argv[2])).load()
copy = s.agent_settings.meta_profile
print("RESULT" + json.dumps([out, models(copy) if copy else None, sorted(s.agent_settings.meta_profile_llms)]))
`

func loadMetas(t *testing.T, s store) (got []any) {
	t.Helper()
	cmd := sdktest.Command(t, s.base, loadedMetas, s.base, fixtureSecret)
	cmd.Env = append(os.Environ(), "OHGW_AGENT_SERVER_VERSION="+agentservertest.Newest)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running OpenHands' code: %v\n%s", err, stderr.Bytes())
	}
	must(t, json.Unmarshal(sdktest.Result(t, out), &got))
	return got
}

// OpenHands reads the meta-profiles and the copy in its settings after a rename.
func TestOpenHandsReadsMetaProfilesAfterARename(t *testing.T) {
	t.Parallel()
	s := newMeta(t, map[string]string{"router": router}, `"meta_profile": null,
    "meta_profile_llms": {}`, inline)
	_, err := s.Rename(t.Context(), "work", "job")
	must(t, err)
	want := []any{map[string]any{"router": []any{"job", "job", "cheap", "job"}}, []any{"job", "job"}, []any{"cheap", "job"}}
	if diff := cmp.Diff(want, loadMetas(t, s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The tables of meta-profiles that are loaded or not are OpenHands'.
func TestOpenHandsLoadsTheSameMetaProfiles(t *testing.T) {
	t.Parallel()
	metas := map[string]string{}
	for src := range badMetas() {
		metas[fmt.Sprintf("bad-%d", len(metas))] = src
	}
	for _, src := range goodMetas() {
		metas[fmt.Sprintf("good-%d", len(metas))] = src
	}
	got, _ := loadMetas(t, newMeta(t, metas))[0].(map[string]any)
	if len(got) != len(metas) {
		t.Fatalf("%d meta-profiles, want %d", len(got), len(metas))
	}
	for name, models := range got {
		if (models == nil) != (name[:3] == "bad") {
			t.Errorf("%s: OpenHands makes %v of it", metas[name], models)
		}
	}
}
