package shell

import (
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/internal/optional"
)

// joined completes the last output of a command with all that it has printed: a long
// output has several events.
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
			stdout.WriteString(optional.Value(piece.Stdout))
			stderr.WriteString(optional.Value(piece.Stderr))
		}
		if q.page = next; next == "" {
			break
		}
	}
	whole.Stdout, whole.Stderr = optional.Of(stdout.String()), optional.Of(stderr.String())
	return whole, nil
}
