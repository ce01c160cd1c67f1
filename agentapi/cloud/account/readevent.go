package account

import "encoding/json"

// ReadEvent reads an event of either version as far as it is understood. It never
// fails.
func ReadEvent(raw json.RawMessage) Event {
	if e := readV1(raw); e.Kind != "" {
		return e
	}
	return readV0(raw)
}
