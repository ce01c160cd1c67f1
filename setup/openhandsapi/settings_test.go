package openhandsapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/files"
	"github.com/ohgw/ohgw/internal/profile"
)

// silent is a provider that never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A provider that does not answer is not reported as a fault of the LLM, and the trial
// ends after 15 s, or after the timeout of the LLM where that is shorter.
func TestATrialEndsAfter15Seconds(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[string]time.Duration{"300": 15 * time.Second, "null": 15 * time.Second, "0": 15 * time.Second, "4": 4 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			try := tryLLM(llm.Config{HTTP: &http.Client{Transport: silent{}}})
			before := time.Now()
			got := try(t.Context(), json.RawMessage(`{"model":"openai/m","api_key":"k","base_url":"http://127.0.0.1:9/v1","timeout":`+timeout+`}`))
			if took := time.Since(before); !got.OK || took != want {
				t.Errorf("timeout %s: %+v after %s", timeout, got, took)
			}
		})
	}
}

// The agent of an agent profile has its meta-profile. One whose meta-profile is gone begins
// no conversation, as in an agent-server.
func TestTheStartByAnAgentProfileSeesItsMetaProfile(t *testing.T) {
	t.Parallel()
	const id = "6f2b9e1c-6f5c-4a62-9a3f-0d1e6a1f7c11"
	base := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(base, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("profiles/a.json", `{"model":"openai/m"}`)
	write("agent-profiles/p.json", `{"schema_version":4,"id":"`+id+`","name":"p","revision":1,"llm_profile_ref":"a","enable_classify_and_switch_llm_tool":true,"meta_profile_ref":"router"}`)
	ciphers := profile.FindCiphers(profile.CipherSources{LookupEnv: func(string) (string, bool) { return "", false }})
	from := launches{files.New(files.Config{Profiles: profile.Open(profile.Config{Base: base, Ciphers: ciphers}), Ciphers: ciphers, Now: time.Now}).AgentProfiles}
	_, err := from.AgentProfile(t.Context(), id, "")
	if gone, ok := errors.AsType[*openhands.Error](err); !ok || gone.Kind != openhands.Invalid || gone.Detail == nil {
		t.Errorf("without its meta-profile: %v", err)
	}
	write("meta-profiles/router.json", `{"classifier_model":"a","classes":[{"description":"d","model":"a"}]}`)
	got, err := from.AgentProfile(t.Context(), id, "")
	if err != nil || len(got.Ignored) > 0 {
		t.Errorf("ignored %q, %v", got.Ignored, err)
	}
	var settings struct {
		On     bool   `json:"enable_classify_and_switch_llm_tool"`
		Active string `json:"active_meta_profile"`
	}
	if err := json.Unmarshal(got.Settings, &settings); err != nil || !settings.On || settings.Active != "router" {
		t.Errorf("settings = %+v, error %v, in %s", settings, err, got.Settings)
	}
}
