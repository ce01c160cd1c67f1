package event_test

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/event"
)

// A log has the text of a model as it was written, as OpenHands' logs do.
func TestAnEventHasNoEscapesForHTML(t *testing.T) {
	t.Parallel()
	e := event.New("e1", "2026-01-02T03:04:05", event.SourceAgent, "", &event.ConversationError{Code: "a<b", Detail: "x && y > <z>"})
	data, err := e.MarshalJSON()
	if err != nil || !strings.Contains(string(data), `"x && y > <z>"`) {
		t.Errorf("MarshalJSON = %s, error %v", data, err)
	}
}
