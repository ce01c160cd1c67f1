package conversations

import (
	"encoding/json"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/control"
)

// infoOf is OpenHands' ConversationInfo of a record.
func infoOf(r control.Record) (map[string]json.RawMessage, error) {
	info := make(map[string]json.RawMessage)
	if err := json.Unmarshal(r.State, &info); err != nil {
		return nil, fmt.Errorf("read the state of conversation %s: %w", r.ID, err)
	}
	for name, value := range map[string]any{
		"title": nullable(r.Title), "created_at": r.Created.UTC().Format(timeForm), "updated_at": r.Updated.UTC().Format(timeForm),
	} {
		data, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		info[name] = data
	}
	return info, nil
}

// timeForm is that of the times of a conversation.
const timeForm = "2006-01-02T15:04:05.000000Z07:00"

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}
