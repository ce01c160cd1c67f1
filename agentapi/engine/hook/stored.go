package hook

import (
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/internal/hookfile"
)

// Stored are the hooks of a request as a state has them; nil for none.
func Stored(given json.RawMessage) (json.RawMessage, error) {
	if len(given) == 0 || string(given) == "null" {
		return nil, nil
	}
	config, err := hookfile.Parse(given)
	if err != nil {
		return nil, apierr.Refused("hook_config cannot be read.", err)
	}
	if config == nil {
		return nil, nil
	}
	return json.Marshal(config)
}
