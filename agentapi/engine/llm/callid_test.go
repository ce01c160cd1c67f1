package llm_test

import (
	"io"
	"net/http"
	"regexp"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
)

// TestClaudeIsSentItsOwnFormOfIDs has a history from a model whose ids have
// colons.
func TestClaudeIsSentItsOwnFormOfIDs(t *testing.T) {
	t.Parallel()
	var body []byte
	m := newModel(t, llm.Config{
		Profile: profile(t, "anthropic/claude-sonnet-4-5", ""),
		HTTP: server(func(r *http.Request) (*http.Response, error) {
			body, _ = io.ReadAll(r.Body) // a short body is seen below
			return answer(http.StatusBadRequest, "text/plain", ""), nil
		}).client(),
	})
	req := conversation()
	req.Messages[2].ToolCalls[1].ID, req.Messages[4].ToolCallID = "functions.file_editor:1", "functions.file_editor:1"
	_, err := m.Generate(t.Context(), req, nil)
	_ = failure(t, err)
	ids := regexp.MustCompile(`"(?:tool_use_id|id)":"([^"]*)"`).FindAllSubmatch(body, -1)
	if len(ids) != 4 || string(ids[1][1]) != string(ids[3][1]) {
		t.Errorf("ids %q", ids)
	}
	for _, id := range ids {
		if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).Match(id[1]) {
			t.Errorf("Claude refuses the id %q", id[1])
		}
	}
}
