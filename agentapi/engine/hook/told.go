package hook

import (
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/internal/optional"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// Name is the name of an event as hooks and logs have it: PreToolUse.
func Name(event string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(event, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// told returns what a command reads.
func (r *Runner) told(e Event) any {
	metadata := map[string]string{}
	if e.Reason != "" {
		metadata["reason"] = e.Reason
	}
	return struct {
		Event    string            `json:"event_type"`
		Tool     *string           `json:"tool_name"`
		Input    json.RawMessage   `json:"tool_input"`
		Response json.RawMessage   `json:"tool_response"`
		Message  *string           `json:"message"`
		Session  string            `json:"session_id"`
		Dir      string            `json:"working_dir"`
		Metadata map[string]string `json:"metadata"`
	}{Name(e.Type), optional.Of(e.Tool), e.Input, e.Response, optional.Of(e.Message), r.cfg.Session, r.cfg.Dir, metadata}
}

// Logged is what an event says the hook was told; nil for nothing.
func (e Event) Logged() json.RawMessage {
	data, err := plainjson.Marshal(struct {
		Tool     string          `json:"tool_name,omitempty"`
		Input    json.RawMessage `json:"tool_input,omitempty"`
		Response json.RawMessage `json:"tool_response,omitempty"`
		Message  string          `json:"message,omitempty"`
		Reason   string          `json:"reason,omitempty"`
	}{e.Tool, e.Input, e.Response, e.Message, e.Reason})
	if err != nil || string(data) == "{}" {
		return nil
	}
	return data
}
