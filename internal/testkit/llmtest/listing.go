package llmtest

import (
	"encoding/json"
	"net/http"
	"time"
)

// listRequests answers GET /requests: what a test that is not Go asserts on.
func (s *Server) listRequests(w http.ResponseWriter, _ *http.Request) {
	type line struct {
		Started  time.Time  `json:"started"`
		Ended    *time.Time `json:"ended"` // null while it is open
		Outcome  string     `json:"outcome"`
		Model    string     `json:"model"`
		Stream   bool       `json:"stream"`
		Messages int        `json:"messages"`
		User     string     `json:"user"` // the newest user message
		Tools    []string   `json:"tools"`
	}
	lines := []line{}
	for _, r := range s.Requests() {
		l := line{
			Started: r.Started, Outcome: r.Outcome().String(), Model: r.Model, Stream: r.Stream,
			Messages: len(r.Messages), User: r.UserText(), Tools: r.Tools,
		}
		if ended := r.Ended(); !ended.IsZero() {
			l.Ended = &ended
		}
		lines = append(lines, l)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(lines)
}
