//go:build e2e && unix

package scale_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reply is what one attempt brought.
type reply struct {
	text, code, conversation, run string
	status                        int
	retryAfter                    string
	begun                         bool // text came
	firstByte                     time.Time
	err                           error
	again                         bool // another attempt may help
}

// post makes one attempt.
func post(ctx context.Context, base string, a ask, attempt int) (r reply) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(a.try, oneTry))
	defer cancel()
	body, err := json.Marshal(map[string]any{"model": "openhands_scripted", "stream": a.stream, "messages": []any{map[string]any{"role": "user", "content": a.text}}})
	if err != nil {
		return reply{err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", strings.NewReader(string(body)))
	if err != nil {
		return reply{err: err}
	}
	req.Header.Set("Authorization", "Bearer "+cmp.Or(a.token, gatewayKey))
	req.Header.Set("Content-Type", "application/json")
	if a.mode == keyed {
		req.Header.Set("Idempotency-Key", a.key)
	} else {
		req.Header.Set("X-Stainless-Retry-Count", strconv.Itoa(attempt))
	}
	if a.conversation != "" {
		req.Header.Set("X-OpenHands-ServerConversation-ID", a.conversation)
	}
	if a.chat != "" {
		req.Header.Set("X-OpenWebUI-Chat-Id", a.chat)
	}
	res, err := plain.Do(req)
	if err != nil {
		return reply{err: err, code: "no connection", again: true}
	}
	defer res.Body.Close()
	r = reply{status: res.StatusCode, again: shouldRepeat(res), retryAfter: res.Header.Get("Retry-After"), conversation: res.Header.Get("X-OpenHands-ServerConversation-ID"), run: res.Header.Get("X-OpenHands-Run-Status")}
	if a.stream && res.StatusCode == http.StatusOK {
		r.readStream(res.Body)
	} else {
		r.readWhole(res.Body)
	}
	if r.err == nil && r.text != a.want {
		r.err = fmt.Errorf("the answer is %q", r.text)
	}
	return r
}

type apiError struct{ Code, Message string }

// shouldRepeat decides as the libraries of OpenAI do whether another attempt may help.
func shouldRepeat(res *http.Response) bool {
	switch res.Header.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	return slices.Contains([]int{http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests}, res.StatusCode) || res.StatusCode >= http.StatusInternalServerError
}

// failed notes an error of the API.
func (r *reply) failed(e *apiError) {
	r.code, r.err = e.Code, fmt.Errorf("%d %s: %s", r.status, e.Code, e.Message)
	// A stream that has begun ends with the error. Then the person repeats it.
	r.again = r.again || r.status == http.StatusOK && (e.Code == "not_ready" || strings.HasPrefix(e.Code, "agent_server_"))
}

func (r *reply) readWhole(body io.Reader) {
	var in struct {
		Error   *apiError
		Choices []struct{ Message struct{ Content string } }
	}
	data, err := io.ReadAll(body)
	if err == nil {
		err = json.Unmarshal(data, &in)
	}
	switch {
	case err != nil:
		r.err, r.code, r.again = err, "cut off", true
	case in.Error != nil:
		r.failed(in.Error)
	case len(in.Choices) == 1:
		r.text = in.Choices[0].Message.Content
	default:
		r.err = fmt.Errorf("%d without an answer: %s", r.status, data)
	}
}

func (r *reply) readStream(body io.Reader) {
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if r.firstByte.IsZero() {
			r.firstByte = time.Now()
		}
		if data == "[DONE]" {
			return
		}
		var in struct {
			Error   *apiError
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &in); err != nil {
			r.err = fmt.Errorf("a frame: %w", err)
			return
		}
		if in.Error != nil {
			r.failed(in.Error)
			return
		}
		for _, c := range in.Choices {
			r.text += c.Delta.Content
			r.begun = r.begun || c.Delta.Content != ""
		}
	}
	r.err, r.code, r.again = errors.New("the stream is cut off"), "cut off", true
}
