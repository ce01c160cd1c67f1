package files_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/openhands"
)

// TestAProfileKeepsItsIdleTimeout saves LLMs with the member that OpenHands has since 1.50. The
// file has it only where it is not the timeout.
func TestAProfileKeepsItsIdleTimeout(t *testing.T) {
	t.Parallel()
	s, base := open(t, "", nil)
	for _, tt := range []struct {
		llm, want string
		stored    bool
	}{
		{`{"model":"openai/m"}`, "300", false},
		{`{"model":"openai/m","timeout":60}`, "60", false},
		{`{"model":"openai/m","timeout":60,"stream_idle_timeout":10.5}`, "10.5", true},
		{`{"model":"openai/m","timeout":60,"stream_idle_timeout":60}`, "60", false},
	} {
		if err := s.LLMProfiles.Save(t.Context(), "a", json.RawMessage(tt.llm), true); err != nil {
			t.Fatal(err)
		}
		got, err := s.LLMProfiles.Get(t.Context(), "a", openhands.Masked)
		if shown := fmt.Sprintf("%s", got.Config["stream_idle_timeout"]); err != nil || shown != tt.want {
			t.Errorf("%s: timeout = %s, error %v, want %s", tt.llm, shown, err, tt.want)
		}
		if stored := strings.Contains(read(t, base, "profiles/a.json"), "stream_idle_timeout"); stored != tt.stored {
			t.Errorf("%s: stored is %t", tt.llm, stored)
		}
	}
}
