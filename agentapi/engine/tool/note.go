package tool

import (
	"encoding/json"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
	"github.com/ohgw/ohgw/agentapi/event"
)

// WithNote adds a note to the observation of a result: behind the output of a command
// in the suffix of its metadata, elsewhere as one more text. Both are fields that
// OpenHands' Python has.
func WithNote(r Result, note string) (Result, error) {
	o, err := object.Parse(r.Observation)
	if err != nil {
		return r, fmt.Errorf("note in an observation: %w", err)
	}
	var kind string
	_ = json.Unmarshal(o.Get("kind"), &kind) // no kind: not a terminal's
	if kind == KindTerminalObservation && o.Has("metadata") {
		metadata, err := suffixed(o.Get("metadata"), "\n"+note)
		if err != nil {
			return r, fmt.Errorf("note in an observation: %w", err)
		}
		r.Observation = o.With("metadata", metadata).JSON()
		r.Content, _, err = Content(r.Observation)
		return r, err
	}
	var content []event.Content
	if err := json.Unmarshal(o.Get("content"), &content); err != nil {
		return r, fmt.Errorf("note in an observation: %w", err)
	}
	if len(content) > 0 { // who reads the texts as one finds it in a line of its own
		note = "\n" + note
	}
	data, err := json.Marshal(append(content, event.Text(note)))
	if err != nil {
		return r, fmt.Errorf("note in an observation: %w", err)
	}
	r.Observation = o.With("content", data).JSON()
	r.Content = append(r.Content[:len(r.Content):len(r.Content)], event.Text(note))
	return r, nil
}

// suffixed adds more to the suffix in the metadata of a command.
func suffixed(metadata json.RawMessage, more string) (json.RawMessage, error) {
	o, err := object.Parse(metadata)
	if err != nil {
		return nil, err
	}
	var suffix string
	if o.Has("suffix") {
		if err := json.Unmarshal(o.Get("suffix"), &suffix); err != nil {
			return nil, err
		}
	}
	data, err := json.Marshal(suffix + more)
	if err != nil {
		return nil, err
	}
	return o.With("suffix", data).JSON(), nil
}
