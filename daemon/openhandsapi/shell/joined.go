package shell

import (
	"encoding/json"
	"strings"
)

// joined is the last output of a command with all that it has printed: a long output has
// several events.
func (h *history) joined(last []byte) (output, error) {
	var whole output
	if err := json.Unmarshal(last, &whole); err != nil || whole.Order == 0 {
		return whole, err
	}
	var stdout, stderr strings.Builder
	for q := (query{kind: kindOutput, command: whole.Command, limit: maxPageEvents}); ; {
		events, next, err := h.events.search(q)
		if err != nil {
			return output{}, err
		}
		for _, e := range events {
			var piece output
			if err := json.Unmarshal(e.data, &piece); err != nil {
				return output{}, err
			}
			stdout.WriteString(textOf(piece.Stdout))
			stderr.WriteString(textOf(piece.Stderr))
		}
		if q.page = next; next == "" {
			break
		}
	}
	whole.Stdout, whole.Stderr = orNull(stdout.String()), orNull(stderr.String())
	return whole, nil
}

func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
