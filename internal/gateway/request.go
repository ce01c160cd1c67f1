package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// The headers of ohgw that a chat has to do with.
const (
	headerConversation = "X-OpenHands-ServerConversation-ID"
	headerIgnored      = "X-OpenHands-Ignored"
	headerReplayed     = "X-OpenHands-Replayed"
	headerTimeout      = "X-OpenHands-Timeout"
	headerConfirm      = "X-OpenHands-Confirm"
	headerDetails      = "X-OpenHands-Details"
	headerPhases       = "X-OpenHands-Phases"
	headerKey          = "Idempotency-Key"
	headerWorkspace    = "X-OpenHands-Workspace"
	headerAccess       = "X-OpenHands-Workspace-Access"
	headerConfirmation = "X-OpenHands-Confirmation"
	headerGoal         = "X-OpenHands-Goal"
)

// encode writes the body of the request.
func encode(q Question) ([]byte, error) {
	type part map[string]any
	type message struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	}
	var messages []message
	if q.System != "" {
		messages = append(messages, message{"system", q.System})
	}
	ask := message{"user", q.Text}
	if len(q.Images) > 0 {
		parts := []part{{"type": "text", "text": q.Text}}
		for _, url := range q.Images {
			parts = append(parts, part{"type": "image_url", "image_url": part{"url": url}})
		}
		ask.Content = parts
	}
	return json.Marshal(map[string]any{
		"model": q.Model, "messages": append(messages, ask),
		"stream": true, "stream_options": map[string]bool{"include_usage": true},
	})
}

// request makes the request, the same one each time.
func (a *asking) request(ctx context.Context) (*http.Request, error) {
	req, err := a.c.request(ctx, http.MethodPost, "/v1/chat/completions", bytes.NewReader(a.body))
	if err != nil {
		return nil, err
	}
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "text/event-stream")
	h.Set(headerKey, a.q.Key)
	h.Set(headerPhases, "show")
	if a.q.Conversation != "" {
		h.Set(headerConversation, a.q.Conversation)
	}
	if a.q.Timeout > 0 {
		h.Set(headerTimeout, strconv.FormatFloat(a.q.Timeout.Seconds(), 'f', -1, 64))
	}
	if a.q.Decision != "" {
		h.Set(headerConfirm, string(a.q.Decision))
	}
	if a.q.Details {
		h.Set(headerDetails, "actions")
	}
	if a.q.Confirmation != "" {
		h.Set(headerConfirmation, string(a.q.Confirmation))
	}
	if a.q.Goal != "" {
		h.Set(headerGoal, "UTF-8''"+url.PathEscape(a.q.Goal)) // RFC 8187: headers are ASCII
	}
	if a.q.Workspace != "" {
		h.Set(headerWorkspace, (&url.URL{Path: a.q.Workspace}).EscapedPath())
		if a.q.ReadOnly {
			h.Set(headerAccess, "read")
		}
	}
	return req, nil
}

// unescape is a path in a header, as far as it can be read.
func unescape(path string) string {
	plain, err := url.PathUnescape(path)
	if err != nil {
		return ""
	}
	return plain
}

// names are the parts of a list in a header.
func names(list string) []string {
	var all []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			all = append(all, name)
		}
	}
	return all
}
