//go:build e2e

package files_test

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

// recipes prints what OpenHands understands of agent profiles, given as a JSON list of
// objects: null for one that it refuses.
const recipes = `
import json, logging, sys, warnings
logging.disable(logging.CRITICAL); warnings.simplefilter("ignore")
from openhands.sdk.profiles.agent_profile import validate_agent_profile
out = []
for recipe in json.loads(sys.argv[1]):
    try:
        p = validate_agent_profile(recipe).model_dump(mode="json")
        out.append([p["llm_profile_ref"], [t["name"] for t in p["tools"]] if p["tools"] is not None else None,
            p.get("persona"), p.get("secret_refs"), p.get("meta_profile_ref"), p.get("enable_switch_llm_tool")])
    except Exception:
        out.append(None)
print("RESULT" + json.dumps(out))
`

// understood is what an OpenHands of a version understands of agent profiles.
func understood(t *testing.T, version string, all []json.RawMessage) []any {
	t.Helper()
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	cmd := sdktest.Command(t, t.TempDir(), recipes, string(data))
	cmd.Env = append(os.Environ(), "OHGW_AGENT_SERVER_VERSION="+version)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	var got []any
	if err := json.Unmarshal(sdktest.Result(t, out), &got); err != nil || len(got) != len(all) {
		t.Fatal(got, err)
	}
	return got
}

// saved is the file of a recipe after a client has saved these members over it.
func saved(t *testing.T, before string, members map[string]any) json.RawMessage {
	t.Helper()
	s, base := open(t, "", withHelper(before))
	if err := s.SaveAgentProfile(t.Context(), "helper", members); err != nil {
		t.Fatal(err)
	}
	return json.RawMessage(read(t, base, "agent-profiles/helper.json"))
}

// The newest OpenHands reads what is saved over its agent profiles, in the version that
// they have, and the version of the embedded agent what is saved over its own.
func TestOpenHandsReadsTheAgentProfilesThatAreSaved(t *testing.T) {
	t.Parallel()
	var newest, old []json.RawMessage
	var wantNewest, wantOld []any
	for sent, names := range foldCases() {
		members := map[string]any{}
		if err := json.Unmarshal([]byte(sent), &members); err != nil {
			t.Fatal(err)
		}
		members["llm_profile_ref"] = "slow"
		for version := 3; version <= 4; version++ {
			newest = append(newest, saved(t, helper(version, newMembers), members))
			var tools any
			if err := json.Unmarshal([]byte(names), &tools); err != nil {
				t.Fatal(err)
			}
			wantNewest = append(wantNewest, []any{"slow", tools, "Réviseur", []any{"TOKEN"}, "router", nil})
		}
		if members["tools"] == nil {
			old = append(old, saved(t, helper(2, ""), members))
			wantOld = append(wantOld, []any{"slow", nil, nil, nil, nil, members["enable_switch_llm_tool"] != false})
		}
	}
	if diff := cmp.Diff(wantNewest, understood(t, agentservertest.Newest, newest)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantOld, understood(t, "1.43.1", old)); diff != "" {
		t.Errorf("1.43.1 (-want +got):\n%s", diff)
	}
}

// The newest OpenHands and the reader here agree on which agent profiles can be used, and
// on what their switches become.
func TestOpenHandsRefusesTheSameAgentProfiles(t *testing.T) {
	t.Parallel()
	var all []json.RawMessage
	var cases []string
	for version := 1; version <= 4; version++ {
		for _, members := range []string{
			"", newMembers, `,"enable_sub_agents":true`, `,"enable_switch_llm_tool":false`, `,"later":1`, `,"persona":""`, `,"secret_refs":[]`,
			`,"meta_profile_ref":5`, `,"public_skills":"x"`, `,"tools":[{"name":"terminal"}]`, `,"enable_sub_agents":true,"tools":[{"name":"terminal"}]`,
		} {
			recipe := helper(version, members)
			cases, all = append(cases, recipe), append(all, json.RawMessage(recipe))
		}
	}
	for i, got := range understood(t, agentservertest.Newest, all) {
		s, _ := open(t, "", withHelper(cases[i]))
		_, err := s.Resolve(t.Context(), helperID)
		// It reads what newer versions have also in files of older ones.
		if (err == nil) != (got != nil) && !bytes.Contains(all[i], []byte(`"schema_version": 2`)) && !bytes.Contains(all[i], []byte(`"schema_version": 1`)) {
			t.Errorf("%s: %v, OpenHands: %s", cases[i], err, fmt.Sprint(got))
		}
	}
}
