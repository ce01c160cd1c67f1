package gate_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/gate"
)

func failing(kind error) error { return &agentapi.Error{Kind: kind, Msg: "A sentence of the backend."} }

// Each line of the table that a single request reaches: status, type, code, and
// whether a client may repeat.
// Queues, drains and streams are in repeats_test.go.
func TestEachFailureHasItsLineOfTheTable(t *testing.T) {
	t.Parallel()
	const (
		invalid = "invalid_request_error"
		limit   = "rate_limit_error"
		server  = "server_error"
	)
	open := func(kind error) func(*daemontest.Backend) {
		return func(b *daemontest.Backend) { b.FailOpen(failing(kind)) }
	}
	send := func(kind error) func(*daemontest.Backend) {
		return func(b *daemontest.Backend) { b.FailSend(failing(kind)) }
	}
	does := func(steps ...daemontest.Step) func(*daemontest.Backend) {
		return func(b *daemontest.Backend) { b.Script = func(string) []daemontest.Step { return steps } }
	}
	for name, tc := range map[string]struct {
		setup  func(*daemontest.Backend)
		body   string // empty: ask("hi")
		header []string

		status            int
		kind, code, param string
		retryAfter        string
		final             bool   // X-Should-Retry: false
		run               string // X-OpenHands-Run-Status
	}{
		"broken JSON":         {body: `{"model"`, status: 400, kind: invalid, code: "invalid_json"},
		"trailing data":       {body: apitest.Ask("hi") + "{}", status: 400, kind: invalid, code: "invalid_json"},
		"text/plain":          {header: []string{"Content-Type", "text/plain"}, status: 400, kind: invalid, code: "unsupported_content_type"},
		"a form":              {header: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 400, kind: invalid, code: "unsupported_content_type"},
		"no content type":     {header: []string{"Content-Type", ""}, status: 400, kind: invalid, code: "unsupported_content_type"},
		"gzip":                {header: []string{"Content-Encoding", "gzip"}, status: 400, kind: invalid, code: "unsupported_content_encoding"},
		"wrong type":          {body: apitest.Messages(`{"role":"user","content":5}`), status: 400, kind: invalid, code: "invalid_type", param: "messages[0].content"},
		"missing":             {body: `{"model":"openhands"}`, status: 400, kind: invalid, code: "missing_required_parameter", param: "messages"},
		"empty array":         {body: apitest.Messages(""), status: 400, kind: invalid, code: "empty_array", param: "messages"},
		"bad role":            {body: apitest.Messages(`{"role":"x"}`), status: 400, kind: invalid, code: "invalid_value", param: "messages[0].role"},
		"no user":             {body: apitest.Messages(`{"role":"system","content":"x"}`), status: 400, kind: invalid, code: "invalid_value", param: "messages"},
		"unsupported value":   {body: apitest.Ask("hi", `"n":2`), status: 400, kind: invalid, code: "unsupported_value", param: "n"},
		"unsupported field":   {body: apitest.Ask("hi", `"logprobs":true`), status: 400, kind: invalid, code: "unsupported_parameter", param: "logprobs"},
		"unsupported part":    {body: apitest.Messages(`{"role":"user","content":[{"type":"file"}]}`), status: 400, kind: invalid, code: "unsupported_content_type", param: "messages[0].content[0]"},
		"NUL":                 {body: apitest.Messages(`{"role":"user","content":"\u0000"}`), status: 400, kind: invalid, code: "invalid_value", param: "messages[0].content"},
		"lone surrogate":      {body: apitest.Messages(`{"role":"user","content":"\ud800"}`), status: 400, kind: invalid, code: "invalid_value", param: "messages[0].content"},
		"too many messages":   {body: apitest.Messages(strings.Repeat(`{"role":"user","content":"x"},`, 2000) + `{"role":"user","content":"x"}`), status: 400, kind: invalid, code: "array_above_max_length", param: "messages"},
		"too long a message":  {body: apitest.Ask(strings.Repeat("x", 1<<20+1)), status: 400, kind: invalid, code: "string_above_max_length", param: "messages[0].content"},
		"negative limit":      {body: apitest.Ask("hi", `"max_tokens":-5`), status: 400, kind: invalid, code: "integer_below_min_value", param: "max_tokens"},
		"bad conversation":    {header: []string{"X-OpenHands-ServerConversation-ID", "42"}, status: 400, kind: invalid, code: "invalid_conversation_id", param: "X-OpenHands-ServerConversation-ID"},
		"a path":              {header: []string{"X-OpenHands-ServerConversation-ID", "../../etc/passwd"}, status: 400, kind: invalid, code: "invalid_conversation_id", param: "X-OpenHands-ServerConversation-ID"},
		"bad key":             {header: []string{"Idempotency-Key", "with space"}, status: 400, kind: invalid, code: "invalid_value", param: "Idempotency-Key"},
		"too long a key":      {header: []string{"Idempotency-Key", strings.Repeat("k", 256)}, status: 400, kind: invalid, code: "invalid_value", param: "Idempotency-Key"},
		"bad timeout":         {header: []string{"X-OpenHands-Timeout", "soon"}, status: 400, kind: invalid, code: "invalid_value", param: "X-OpenHands-Timeout"},
		"zero timeout":        {header: []string{"X-OpenHands-Timeout", "0"}, status: 400, kind: invalid, code: "invalid_value", param: "X-OpenHands-Timeout"},
		"NaN timeout":         {header: []string{"X-OpenHands-Timeout", "NaN"}, status: 400, kind: invalid, code: "invalid_value", param: "X-OpenHands-Timeout"},
		"huge timeout":        {header: []string{"X-OpenHands-Timeout", "1e300"}, status: 400, kind: invalid, code: "invalid_value", param: "X-OpenHands-Timeout"},
		"bad repeat":          {header: []string{"X-OpenHands-Repeat", "please"}, status: 400, kind: invalid, code: "invalid_value", param: "X-OpenHands-Repeat"},
		"bad disconnect":      {header: []string{"X-OpenHands-On-Disconnect", "panic"}, status: 400, kind: invalid, code: "invalid_value", param: "X-OpenHands-On-Disconnect"},
		"bad confirmation":    {header: []string{"X-OpenHands-Confirm", "maybe"}, status: 400, kind: invalid, code: "invalid_value", param: "X-OpenHands-Confirm"},
		"unknown model":       {body: strings.Replace(apitest.Ask("hi"), "openhands_default", "gpt-4o", 1), status: 404, kind: invalid, code: "model_not_found", param: "model"},
		"empty model":         {body: strings.Replace(apitest.Ask("hi"), "openhands_default", "", 1), status: 404, kind: invalid, code: "model_not_found", param: "model"},
		"no key":              {header: []string{"Authorization", ""}, status: 401, kind: invalid, code: "missing_api_key"},
		"wrong key":           {header: []string{"Authorization", "Bearer nope"}, status: 401, kind: invalid, code: "invalid_api_key"},
		"expired key":         {header: []string{"Authorization", "Bearer " + apitest.ExpiredKey}, status: 401, kind: invalid, code: "invalid_api_key"},
		"keys unreadable":     {header: []string{"Authorization", "Bearer " + apitest.BrokenKey}, status: 500, kind: server, code: "internal_error", final: true},
		"profile gone":        {setup: open(agentapi.ErrProfileNotFound), status: 404, kind: invalid, code: "model_not_found", param: "model"},
		"conversation gone":   {setup: open(agentapi.ErrConversationNotFound), status: 404, kind: invalid, code: "conversation_not_found", param: "X-OpenHands-ServerConversation-ID"},
		"unavailable":         {setup: open(agentapi.ErrUnavailable), status: 503, kind: server, code: "agent_server_unavailable", retryAfter: "2"},
		"refused":             {setup: open(agentapi.ErrRefused), status: 502, kind: server, code: "agent_server_error", final: true},
		"our key rejected":    {setup: open(agentapi.ErrUnauthorized), status: 502, kind: server, code: "agent_server_error", final: true},
		"busy":                {setup: open(agentapi.ErrBusy), status: 429, kind: limit, code: "conversation_busy", retryAfter: "4"},
		"unsupported":         {setup: open(agentapi.ErrUnsupported), status: 502, kind: server, code: "agent_server_error", final: true},
		"cannot switch":       {setup: open(agentapi.ErrUnsupported), header: []string{"X-OpenHands-ServerConversation-ID", apitest.Conversation}, status: 409, kind: invalid, code: "model_mismatch", param: "model", final: true},
		"cannot confirm":      {setup: open(agentapi.ErrUnsupported), header: []string{"X-OpenHands-Confirm", "accept"}, status: 400, kind: invalid, code: "unsupported_parameter", param: "X-OpenHands-Confirm"},
		"a bug":               {setup: func(b *daemontest.Backend) { b.FailOpen(errors.New("index out of range")) }, status: 500, kind: server, code: "internal_error", final: true},
		"send unavailable":    {setup: send(agentapi.ErrUnavailable), status: 503, kind: server, code: "agent_server_unavailable", retryAfter: "2"},
		"send too long":       {setup: send(agentapi.ErrTooLong), status: 400, kind: invalid, code: "context_length_exceeded"},
		"send refused":        {setup: send(agentapi.ErrRefused), status: 502, kind: server, code: "agent_server_error", final: true},
		"lost":                {setup: does(daemontest.Say("a"), daemontest.Vanish()), status: 502, kind: server, code: "agent_server_lost", final: true, run: "error"},
		"restarted":           {setup: does(daemontest.Say("a"), daemontest.End(event.Failed)), status: 502, kind: server, code: "agent_server_lost", final: true, run: "error"},
		"failed":              {setup: does(daemontest.Fail("SomeError", "it broke")), status: 500, kind: server, code: "run_error", final: true, run: "error"},
		"no sandbox":          {setup: does(daemontest.Fail(agentapi.CodeSandbox, "no sandbox")), status: 500, kind: server, code: "sandbox_unavailable", final: true, run: "error"},
		"failed, no reason":   {setup: does(daemontest.Fail("SomeError", "")), status: 500, kind: server, code: "run_error", final: true, run: "error"},
		"stuck":               {setup: does(daemontest.End(event.Stuck)), status: 500, kind: server, code: "run_stuck", final: true, run: "stuck"},
		"provider":            {setup: does(daemontest.Fail("LLMRateLimitError", "quota")), status: 502, kind: server, code: "llm_error", final: true, run: "error"},
		"context":             {setup: does(daemontest.Fail("LLMContextWindowExceedError", "too long")), status: 400, kind: invalid, code: "context_length_exceeded", param: "messages", run: "error"},
		"context, underway":   {setup: does(daemontest.Tool("ls"), daemontest.Fail("LLMContextWindowExceedError", "too long")), status: 502, kind: server, code: "context_length_exceeded", final: true, run: "error"},
		"context, later":      {setup: does(daemontest.Say("a"), daemontest.Tool("ls"), daemontest.Tool("id"), daemontest.Fail("LLMContextWindowExceededError", "too long")), status: 502, kind: server, code: "context_length_exceeded", final: true, run: "error"},
		"empty body":          {body: " ", status: 400, kind: invalid, code: "invalid_json"},
		"conversation twice":  {header: []string{"X-OpenHands-ServerConversation-ID", apitest.Conversation + "," + apitest.Conversation}, status: 400, kind: invalid, code: "invalid_conversation_id", param: "X-OpenHands-ServerConversation-ID"},
		"content type broken": {header: []string{"Content-Type", "application/json; charset"}, status: 400, kind: invalid, code: "unsupported_content_type"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := daemontest.New("default")
			if tc.setup != nil {
				tc.setup(b)
			}
			g := apitest.Serve(t, b)
			body := tc.body
			if body == "" {
				body = apitest.Ask("hi")
			}
			res := g.Chat(body, tc.header...)
			e := apitest.Envelope(t, res, tc.status, tc.code, tc.param)
			if e["type"] != any(tc.kind) {
				t.Errorf("type %v, want %q", e["type"], tc.kind)
			}
			xsr := map[bool]string{true: "false"}[tc.final]
			for header, want := range map[string]string{"Retry-After": tc.retryAfter, "X-Should-Retry": xsr, "X-OpenHands-Run-Status": tc.run} {
				if got := res.Header.Get(header); got != want {
					t.Errorf("%s: header = %q, want %q", header, got, want)
				}
			}
			if want := map[bool]string{true: "Bearer"}[tc.status == 401]; res.Header.Get("WWW-Authenticate") != want {
				t.Errorf("WWW-Authenticate: %q", res.Header.Get("WWW-Authenticate"))
			}
			if tc.run == "" && b.Runs() != 0 {
				t.Errorf("%d runs were started", b.Runs())
			}
			if tc.run != "" && !apitest.UUIDForm.MatchString(res.Header.Get("X-OpenHands-ServerConversation-ID")) {
				t.Errorf("headers %v", res.Header)
			}
			apitest.Lacks(t, "the body", res.Body, "index out of range")
			apitest.Lacks(t, "the body", res.Body, "permission denied")
			// And as a stream: the same status before the run, the same code after it began.
			if tc.run == "" || tc.body != "" {
				return
			}
			f := apitest.Parse(t, g.Chat(apitest.Ask("hi", apitest.Streamed), "X-OpenHands-Repeat", "run"))
			apitest.FrameError(t, []byte(f.End), tc.code, tc.param)
		})
	}
}

// A request whose fate is unknown is not one that can be repeated.
func TestAnUncertainStartIsFinal(t *testing.T) {
	t.Parallel()
	b := daemontest.New("default")
	b.FailSend(failing(agentapi.ErrUncertain))
	g := apitest.Serve(t, b)
	g.Client.Timeout = 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answered := make(chan apitest.Response, 1)
	go func() {
		res, err := g.Client.Do(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("hi")).WithContext(ctx))
		if err != nil {
			answered <- apitest.Response{Err: err}
			return
		}
		answered <- g.Finish(res)
	}()
	// The backend says how things are when it was found again.
	apitest.Eventually(t, "the conversation is there", func() bool { return len(b.Opened()) == 1 })
	apitest.Eventually(t, "the answer", func() bool { b.Resync(); return len(answered) == 1 })
	res := <-answered
	apitest.Envelope(t, res, http.StatusBadGateway, "agent_server_error", "")
	if res.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("headers %v", res.Header)
	}
}

func TestARecordThatCannotBeKeptStartsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := apitest.Serve(t, daemontest.New("default"), func(c *daemon.Config) { c.StateDir = dir })
	records := filepath.Join(dir, "idempotency") // a file in its place: every write fails, also for root
	if err := errors.Join(os.RemoveAll(records), os.WriteFile(records, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	apitest.Envelope(t, g.Chat(apitest.Ask("hi"), "Idempotency-Key", "k"), http.StatusInsufficientStorage, "storage_unavailable", "")
	if n := g.Backend.Runs(); n != 0 {
		t.Errorf("%d runs", n)
	}
}

// A body over the limit gets 413 and its connection is closed: the server does
// not read the rest.
func TestALargeBodyIsRefusedAndItsConnectionClosed(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New("default"))
	huge := strings.Repeat("x", 33<<20)
	for name, body := range map[string]io.Reader{
		"announced": strings.NewReader(huge),
		"chunked":   io.MultiReader(strings.NewReader(`{"model":"`), strings.NewReader(huge)),
	} {
		r := g.Request(http.MethodPost, "/v1/chat/completions", "{}")
		r.Body, r.ContentLength = io.NopCloser(body), -1
		if name == "announced" {
			r.ContentLength = int64(len(huge))
		}
		res := g.Finish(g.Send(r))
		e := apitest.Envelope(t, res, http.StatusRequestEntityTooLarge, "request_too_large", "")
		if !strings.Contains(e["message"].(string), "--max-body") || !res.Close {
			t.Errorf("%s: %v, %v", name, e, res.Header)
		}
	}
	if n := g.Backend.Runs(); n != 0 {
		t.Errorf("%d runs", n)
	}
}

// Slow clients hold a connection for a bounded time only.
func TestSlowRequestsAreEnded(t *testing.T) {
	t.Parallel()
	const head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + apitest.Key + "\r\nContent-Type: application/json\r\n"
	for name, tc := range map[string]struct {
		sent   string
		after  time.Duration
		status int // 0: the connection is closed without an answer
	}{
		"head":         {head, 5 * time.Second, 0},
		"body":         {head + "Content-Length: 100\r\n\r\n{\"model\":", 30 * time.Second, http.StatusRequestTimeout},
		"announced":    {head + "Content-Length: 99999999999\r\n\r\n", 0, http.StatusRequestEntityTooLarge},
		"chunked body": {head + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"mod\r\n", 30 * time.Second, http.StatusRequestTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ln := apitest.NewPipes()
				apitest.ServeOn(t, ln, daemontest.New("default"))
				conn, err := ln.Dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				began := time.Now()
				if _, err := io.WriteString(conn, tc.sent); err != nil {
					t.Fatal(err)
				}
				r := bufio.NewReader(conn)
				res, err := http.ReadResponse(r, nil)
				if took := time.Since(began); took != tc.after {
					t.Errorf("after %v, want %v", took, tc.after)
				}
				if tc.status == 0 {
					if err == nil {
						t.Errorf("status %d", res.StatusCode)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(res.Body)
				apitest.Envelope(t, apitest.Response{Status: res.StatusCode, Header: res.Header, Body: string(body)}, tc.status, map[int]string{408: "request_timeout", 413: "request_too_large"}[tc.status], "")
				if !res.Close {
					t.Error("the connection stays open")
				}
			})
		})
	}
}

func TestABodyThatIsCutOffIsNotARequest(t *testing.T) {
	t.Parallel()
	ln := apitest.NewPipes()
	g := apitest.ServeOn(t, ln, daemontest.New("default"))
	conn, err := ln.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", apitest.Key, len(apitest.Ask("hi"))+1)
	fmt.Fprint(conn, apitest.Ask("hi"))
	conn.Close()
	apitest.Eventually(t, "the log has it", func() bool { return strings.Contains(g.Logs.String(), "invalid_json") })
	if n := g.Backend.Runs(); n != 0 {
		t.Errorf("%d runs", n)
	}
}

func TestAPanicIsAnAnswer(t *testing.T) {
	t.Parallel()
	t.Run("before the answer", func(t *testing.T) {
		t.Parallel()
		var armed atomic.Bool
		g := apitest.Serve(t, daemontest.New("default"), func(c *daemon.Config) { c.Tokens = panicking{&armed} })
		armed.Store(true)
		res := g.Chat(apitest.Ask("hi"))
		e := apitest.Envelope(t, res, http.StatusInternalServerError, "internal_error", "")
		if strings.Contains(res.Body, "secret") || !strings.Contains(e["message"].(string), res.Header.Get("X-Request-Id")) || res.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("the error and the headers: %v, %v", e, res.Header)
		}
		if !strings.Contains(g.Logs.String(), `"msg":"panic"`) {
			t.Errorf("log: %s", g.Logs)
		}
		apitest.Completed(t, g.Chat(apitest.Ask("hi"))) // the daemon lives
	})
	t.Run("in a stream", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var armed atomic.Bool
			gate := make(chan struct{})
			g := apitest.Serve(t, apitest.Script(daemontest.Until(gate), daemontest.Delta("hello"), daemontest.Hang()), func(c *daemon.Config) {
				c.Now = func() time.Time {
					if armed.Swap(false) {
						panic("secret")
					}
					return time.Now()
				}
			})
			res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("hi", apitest.Streamed)))
			synctest.Wait()
			armed.Store(true) // for the first text, of which the time is noted
			close(gate)
			f := apitest.Parse(t, g.Finish(res))
			apitest.FrameError(t, []byte(f.End), "internal_error", "")
		})
	})
}

type panicking struct{ armed *atomic.Bool }

func (p panicking) Check(string) (gate.Client, error) {
	if p.armed.Swap(false) {
		panic("secret")
	}
	return gate.Client{ID: "x"}, nil
}

// No line of the log has a key or a word of a prompt.
func TestTheLogHasNoSecretAndNoPrompt(t *testing.T) {
	t.Parallel()
	const prompt, answer, bad = "the-prompt-text", "the-answer-text", "ohgw-wrong-key-987654321"
	b := daemontest.New("default")
	b.Script = func(p string) []daemontest.Step {
		if strings.Contains(p, "fail") {
			return []daemontest.Step{daemontest.Fail("LLMBadRequestError", "cannot do "+prompt)}
		}
		return []daemontest.Step{daemontest.Tool("echo " + answer), daemontest.Finish(answer)}
	}
	g := apitest.Serve(t, b)
	g.Chat(apitest.Ask(prompt))
	g.Chat(apitest.Ask(prompt, apitest.Streamed))
	g.Chat(apitest.Ask(prompt + " fail"))
	g.Chat(apitest.Ask(prompt+" fail", apitest.Streamed), "X-OpenHands-Repeat", "run")
	g.Chat(apitest.Messages(`{"role":"` + prompt + `","content":"x"}`))
	g.Chat(`{"` + prompt + `":` + prompt)
	g.Chat(apitest.Ask(prompt), "Authorization", "Bearer "+bad)
	g.Chat(apitest.Ask(prompt), "Authorization", "", "X-Api-Key", bad)
	g.Chat(apitest.Ask(prompt), "Idempotency-Key", "the-key-of-the-client")
	g.Do(http.MethodGet, "/v1/models?key="+bad, "", "Authorization", "")
	g.Do(http.MethodGet, "/v1/models/x?prompt="+prompt, "")
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	logs := g.Logs.String()
	for _, secret := range []string{prompt, answer, bad, apitest.Key, "the-key-of-the-client"} {
		if strings.Contains(logs, secret) {
			t.Errorf("the log has %q: %s", secret, logs)
		}
	}
	for _, want := range []string{`"request_id":"req_`, `"status":401`, `"status":502`, `"token":"test"`, `"conversation_id":"`, `"model":"openhands_default"`, `"run_status":"finished"`, `"code":"llm_error"`, `"err":"llm_error: LLMBadRequestError"`} {
		if !strings.Contains(logs, want) {
			t.Errorf("the log lacks %s: %s", want, logs)
		}
	}
}

func TestARefusedKeyIsNotEchoed(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New("default"))
	for _, header := range []string{"Authorization", "X-Session-API-Key", "X-Api-Key", "Api-Key"} {
		value := "sk-wrong-" + strings.Repeat("7", 30)
		if header == "Authorization" {
			value = "Bearer " + value
		}
		res := g.Chat(apitest.Ask("hi"), "Authorization", "", header, value)
		apitest.Envelope(t, res, http.StatusUnauthorized, "invalid_api_key", "")
		if strings.Contains(res.Body+fmt.Sprint(res.Header), "7777") {
			t.Errorf("%s: body = %s, header = %v, want no 7777", header, res.Body, res.Header)
		}
	}
}

func TestAClientThatLeavesIsLoggedAsGone(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Hang()))
	ctx, cancel := context.WithCancel(t.Context())
	req := g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("hi")).WithContext(ctx)
	var client sync.WaitGroup
	client.Go(func() {
		if res, err := g.Client.Do(req); err == nil {
			res.Body.Close()
		}
	})
	apitest.Eventually(t, "the prompt runs", func() bool { return g.Backend.Runs() > 0 })
	cancel()
	client.Wait()
	apitest.Eventually(t, "the log has it", func() bool { return strings.Contains(g.Logs.String(), `"status":499`) })
}
