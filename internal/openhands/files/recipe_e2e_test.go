//go:build e2e

package files_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
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
		t.Fatalf("running OpenHands' code: %v\n%s", err, stderr.Bytes())
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
	if err := s.AgentProfiles.Save(t.Context(), "helper", members); err != nil {
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
		_, err := s.AgentProfiles.Resolve(t.Context(), helperID)
		// It reads what newer versions have also in files of older ones.
		if (err == nil) != (got != nil) && !bytes.Contains(all[i], []byte(`"schema_version": 2`)) && !bytes.Contains(all[i], []byte(`"schema_version": 1`)) {
			t.Errorf("%s: %v, OpenHands: %s", cases[i], err, fmt.Sprint(got))
		}
	}
}

// A start with an agent profile whose references dangle is refused by the newest
// agent-server in the same words.
func TestAnAgentServerRefusesTheSameStarts(t *testing.T) {
	server := agentservertest.Start(t, "OH_SECRET_KEY=sec")
	server.SaveProfile(t, "a", map[string]any{"model": "openai/m", "api_key": "sk-not-a-real-key"})
	for _, name := range []string{"b", "c"} {
		server.SaveProfile(t, name, map[string]any{"model": "openai/m"})
	}
	server.Call(t, http.MethodPost, "/api/meta-profiles/torn", json.RawMessage(torn), nil)
	server.Call(t, http.MethodDelete, "/api/profiles/b", nil, nil)
	server.Call(t, http.MethodDelete, "/api/profiles/c", nil, nil)
	for _, tt := range missing {
		server.Call(t, http.MethodPost, "/api/agent-profiles/p", tt.members, nil)
		var list struct{ Profiles []struct{ ID, Name string } }
		server.Call(t, http.MethodGet, "/api/agent-profiles", nil, &list)
		id := ""
		for _, p := range list.Profiles {
			if p.Name == "p" {
				id = p.ID
			}
		}
		body := fmt.Sprintf(`{"agent_profile_id":%q,"workspace":{"kind":"LocalWorkspace","working_dir":%q}}`, id, t.TempDir())
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/conversations", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Session-API-Key", server.Key)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Detail json.RawMessage }
		err = json.NewDecoder(res.Body).Decode(&got)
		_ = res.Body.Close() // It was read.
		if err != nil || res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("members %v: %s %v", tt.members, res.Status, err)
		}
		var theirs, ours any
		if err := errors.Join(json.Unmarshal(got.Detail, &theirs), json.Unmarshal([]byte(tt.detail), &ours)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(theirs, ours); diff != "" {
			t.Errorf("members %v (-theirs +ours):\n%s", tt.members, diff)
		}
	}
}
