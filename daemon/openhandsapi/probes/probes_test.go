package probes_test

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon/openhandsapi/probes"
)

func TestServerInfo(t *testing.T) {
	t.Parallel()
	routes := probes.Routes(probes.Config{Now: func() time.Time { return time.Unix(1, 0) }, Tools: []string{"terminal"}})
	var info struct {
		Version      string   `json:"version"`
		SDK          string   `json:"sdk_version"`
		Capabilities []string `json:"capabilities"`
		Runtime      string   `json:"conversation_runtime"`
		Runtimes     []string `json:"available_conversation_runtimes"`
		Tools        []string `json:"usable_tools"`
	}
	for _, route := range routes {
		if route.Path != "/server_info" {
			continue
		}
		w := httptest.NewRecorder()
		if err := route.Handle(w, httptest.NewRequestWithContext(t.Context(), route.Method, route.Path, nil)); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(w.Body.Bytes(), &info); err != nil {
			t.Fatal(err)
		}
	}
	if info.Version != probes.Version || info.SDK != probes.Version || info.Runtime != "local" || info.Runtimes == nil || len(info.Runtimes) != 0 {
		t.Errorf("server info %+v", info)
	}
	// What these promise is not served.
	for _, name := range []string{
		"conversation_runtime_routes_v1", "credential_binding_v1", "credential_binding_readiness_probe_v1", "credential_binding_activation_guard_v1",
		"agent_profile_draft_materialize_v1", "agent_launch_pipeline_v1", "profile_public_skills_v1", "canvas_app_backend_bridge_v1",
	} {
		if slices.Contains(info.Capabilities, name) {
			t.Errorf("the capability %s is not there", name)
		}
	}
	if !slices.Contains(info.Capabilities, "profile_secret_scope_v1") {
		t.Errorf("capabilities %q", info.Capabilities)
	}
}
