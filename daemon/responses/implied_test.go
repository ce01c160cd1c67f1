package responses

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/daemon/openai"
)

// A copy knows what was said before. Only where the backend has no copies is it read from
// the stored responses, which may be a hundred.
func TestStoredResponsesAreReadOnlyWhereTheyAreQuoted(t *testing.T) {
	t.Parallel()
	p := &response{
		Call: &completions.Call{ChatRequest: &openai.ChatRequest{}}, fork: true,
		prev: &Record{ID: "resp_1", Text: "the first question", Previous: openai.ResponsePrefix + strings.Repeat("0", 32)},
		api:  &API{completions: &completions.API{}}, // without a store: nothing can be read
	}
	p.ask = &openai.ResponseRequest{}
	compose := p.said().Compose
	if text, kind, _ := compose(agentapi.Info{}, true); text != "" || kind != string(chats.Forked) {
		t.Errorf("before the message in a copy: %q, %s", text, kind)
	}
	p.api.Store = Open(t.TempDir())
	text, kind, _ := compose(agentapi.Info{Created: true}, false)
	if !strings.Contains(text, "the first question") || kind != string(chats.Quoted) {
		t.Errorf("before the message in a new conversation: %q, %s", text, kind)
	}
}
