package daemon_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// No request holds its connection with a body that it announces and never
// sends: it is answered, and the connection ends.
func TestBodiesThatNeverComeHoldNoConnection(t *testing.T) {
	t.Parallel()
	const withKey = "Authorization: Bearer " + apitest.Key + "\r\n"
	for name, tc := range map[string]struct {
		line, header string
		status       int
		code         string // "": no error
	}{
		"no key":        {"POST /v1/chat/completions", "", http.StatusUnauthorized, "missing_api_key"},
		"wrong key":     {"POST /v1/chat/completions", "Authorization: Bearer wrong\r\n", http.StatusUnauthorized, "invalid_api_key"},
		"foreign host":  {"POST /v1/chat/completions", "Host: evil.example\r\n", http.StatusForbidden, "forbidden_host"},
		"foreign page":  {"POST /v1/chat/completions", "Origin: https://evil.example\r\n", http.StatusForbidden, "forbidden_origin"},
		"unknown URL":   {"POST /nothing", "", http.StatusNotFound, "unknown_url"},
		"wrong method":  {"DELETE /v1/chat/completions", "", http.StatusMethodNotAllowed, "method_not_allowed"},
		"health":        {"GET /healthz", "", http.StatusOK, ""},
		"models":        {"GET /v1/models", withKey, http.StatusOK, ""},
		"model":         {"GET /v1/models/none", withKey, http.StatusNotFound, "model_not_found"},
		"metrics":       {"GET /metrics", withKey, http.StatusOK, ""},
		"interrupt":     {"POST /v1/conversations/" + apitest.Conversation + "/interrupt", withKey, http.StatusNotFound, "conversation_not_found"},
		"content type":  {"POST /v1/chat/completions", withKey + "Content-Type: text/plain\r\n", http.StatusBadRequest, "unsupported_content_type"},
		"wrong header":  {"POST /v1/chat/completions", withKey + "X-OpenHands-Confirm: maybe\r\n", http.StatusBadRequest, "invalid_value"},
		"root, no /v1":  {"GET /", "", http.StatusOK, ""},
		"HEAD":          {"HEAD /healthz", "", http.StatusOK, ""},
		"expectation":   {"POST /v1/chat/completions", "Expect: 100-continue\r\n", http.StatusUnauthorized, "missing_api_key"},
		"asked to stay": {"POST /v1/chat/completions", "Connection: keep-alive\r\n", http.StatusUnauthorized, "missing_api_key"},
	} {
		for form, body := range map[string]string{
			"length":  "Content-Length: 1000\r\n\r\n{",
			"all":     "Content-Length: 1000\r\n\r\n",
			"large":   "Content-Length: 10000000\r\n\r\n{",
			"chunked": "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"mod\r\n",
			"torn":    "Transfer-Encoding: chunked\r\n\r\n5",
		} {
			t.Run(name+"/"+form, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ln := apitest.NewPipes()
					apitest.ServeOn(t, ln, daemontest.New("default"))
					host := "Host: localhost\r\n"
					if strings.HasPrefix(tc.header, "Host:") {
						host = ""
					}
					began := time.Now()
					_, rest, res := apitest.ExchangeOn(t, ln, tc.line+" HTTP/1.1\r\n"+host+tc.header+body)
					if took := time.Since(began); took > 100*time.Millisecond {
						t.Errorf("answered after %v", took)
					}
					switch {
					case tc.code != "":
						apitest.Envelope(t, res, tc.status, tc.code, map[string]string{"model_not_found": "model", "invalid_value": "X-OpenHands-Confirm", "conversation_not_found": "id"}[tc.code])
					case res.Status != tc.status:
						t.Errorf("status %d, want %d", res.Status, tc.status)
					}
					if !res.Close {
						t.Error("the connection is kept, with half a request on it")
					}
					if _, err := rest.ReadByte(); !errors.Is(err, io.EOF) {
						t.Errorf("the connection is open: %v", err)
					}
					if took := time.Since(began); took > 2*time.Second {
						t.Errorf("the connection ended after %v", took)
					}
				})
			})
		}
	}
}

// A body that the handler did not read, but that has arrived whole, does not
// close the connection.
func TestABodyThatIsThereKeepsTheConnection(t *testing.T) {
	t.Parallel()
	ln := apitest.NewPipes()
	apitest.ServeOn(t, ln, daemontest.New("default"))
	conn, r, res := apitest.ExchangeOn(t, ln, "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
	apitest.Envelope(t, res, http.StatusNotFound, "unknown_url", "")
	if res.Close {
		t.Fatal("the connection is closed")
	}
	go func() { _, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") }()
	again, err := http.ReadResponse(r, nil)
	if err != nil || again.StatusCode != http.StatusOK {
		t.Fatalf("the next answer: %v, %v", again, err)
	}
	_ = again.Body.Close()
}

// A client that sends all of its request before it reads gets the answer.
func TestAClientThatSendsFirstAndReadsThenHasItsAnswer(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	apitest.ServeOn(t, ln, daemontest.New("default"))
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const size = 8 << 20
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", size)
	if n, err := io.WriteString(conn, strings.Repeat(" ", size)); err != nil {
		t.Fatalf("after %d bytes: %v", n, err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != http.StatusUnauthorized {
		t.Fatalf("the answer: %v, %v", res, err)
	}
	_ = res.Body.Close()
}

// A reader that takes nothing holds its connection for the time of one write.
func TestAReaderThatDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]string{"a stream": {apitest.Streamed}, "an answer in one piece": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ln := apitest.NewPipes()
				g := apitest.ServeOn(t, ln, apitest.Script(daemontest.Finish(strings.Repeat("x", 64<<10))))
				conn, err := ln.Dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				body := apitest.Ask("go", more...)
				fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", apitest.Key, len(body), body)
				time.Sleep(35 * time.Second)
				synctest.Wait()
				if _, err := conn.Write([]byte("x")); err == nil {
					t.Error("the connection is open")
				}
				if !strings.Contains(g.Logs.String(), `"path":"/v1/chat/completions"`) {
					t.Error("the request goes on")
				}
			})
		})
	}
}

// Idle connections end, used or not.
func TestIdleConnectionsEnd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		sent  string
		after time.Duration
	}{
		"never used": {"", 5 * time.Second},
		"used":       {"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 2 * time.Minute},
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
				go func() { _, _ = io.WriteString(conn, tc.sent) }()
				if _, err := io.Copy(io.Discard, conn); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took != tc.after {
					t.Errorf("after %v, want %v", took, tc.after)
				}
			})
		})
	}
}

// The sixth path that answers without a key is one too many.
func TestFivePathsNeedNoKey(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New("default"))
	for path, open := range map[string]bool{
		"/": true, "/health": true, "/healthz": true, "/readyz": true, "/v1/health": true,
		"/v1": false, "/v1/": false, "/v1/healthz": false, "/v1/readyz": false, "/v1/v1": false, "//v1//healthz": false,
		"/metrics": false, "/v1/models": false, "/models": false, "/v1/models/openhands": false,
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			want := http.StatusOK
			if !open {
				want = http.StatusUnauthorized
			}
			if path == "/v1/v1" {
				want = http.StatusNotFound
			}
			if res := g.Do(method, path, "", "Authorization", ""); res.Status != want {
				t.Errorf("%s %s: status = %d, want %d", method, path, res.Status, want)
			}
		}
		if res := g.Do(http.MethodGet, path, ""); res.Status != http.StatusOK && path != "/v1/v1" {
			t.Errorf("%s with a key: %d", path, res.Status)
		}
	}
}

// What net/http refuses by itself has OpenAI's form, too.
func TestRequestsThatAreNotHTTPGetAnEnvelope(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		sent   string
		status int
		code   string
	}{
		"headers":     {"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge, "headers_too_large"},
		"encoding":    {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", http.StatusNotImplemented, "malformed_request"},
		"no host":     {"GET / HTTP/1.1\r\n\r\n", http.StatusBadRequest, "malformed_request"},
		"two hosts":   {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", http.StatusBadRequest, "malformed_request"},
		"no request":  {"hello\r\n\r\n", http.StatusBadRequest, "malformed_request"},
		"header":      {"GET / HTTP/1.1\r\nHost: localhost\r\nA B: c\r\n\r\n", http.StatusBadRequest, "malformed_request"},
		"version":     {"GET / HTTP/3.0\r\nHost: localhost\r\n\r\n", http.StatusHTTPVersionNotSupported, "malformed_request"},
		"length":      {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n", http.StatusBadRequest, "malformed_request"},
		"expectation": {"GET / HTTP/1.1\r\nHost: localhost\r\nExpect: tea\r\n\r\n", http.StatusExpectationFailed, "malformed_request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ln := apitest.NewPipes()
			apitest.ServeOn(t, ln, daemontest.New("default"))
			_, rest, res := apitest.ExchangeOn(t, ln, tc.sent)
			apitest.Envelope(t, res, tc.status, tc.code, "")
			if _, err := rest.ReadByte(); !res.Close || err == nil {
				t.Errorf("the connection stays open: %v", err)
			}
		})
	}
}

// An answer that holds the words of such an error arrives as it is.
func TestAnAnswerMayQuoteAnHTTPError(t *testing.T) {
	t.Parallel()
	const plain = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
	text := strings.Repeat(plain+strings.Repeat("x", 61), 300)
	g := apitest.Serve(t, apitest.Script(daemontest.Finish(text)))
	if f := apitest.Parse(t, g.Chat(apitest.Ask("one", apitest.Streamed))); f.Text() != text {
		t.Error("the stream is another")
	}
	if c := apitest.Completed(t, g.Chat(apitest.Ask("two"))); c.Text() != text {
		t.Error("the answer is another")
	}
}

func TestTimeLimitsTooSmallToKeepAreRefused(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("done")))
	for _, v := range []string{"0.0000000001", "0", "-1", "0.0009", "NaN", "x"} {
		apitest.Envelope(t, g.Chat(apitest.Ask("hi"), "X-OpenHands-Timeout", v), http.StatusBadRequest, "invalid_value", "X-OpenHands-Timeout")
	}
	apitest.Completed(t, g.Chat(apitest.Ask("hi"), "X-OpenHands-Timeout", "600.5"))
}

// Whatever clients do, a drain is over soon after the runs and is not an error.
func TestADrainIsNeverAnError(t *testing.T) {
	t.Parallel()
	const head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	utility := `{"model":"openhands_utility","messages":[{"role":"user","content":"hi"}]}`
	for name, tc := range map[string]struct {
		sent string
		most time.Duration
		code string // of the answer; "": none
	}{
		"idle connection": {"", 10 * time.Millisecond, ""}, // net/http looks again after one
		"half a head":     {"GET /heal", 6 * time.Second, ""},
		"arriving body":   {head + "Authorization: Bearer " + apitest.Key + "\r\nContent-Length: 100\r\n\r\n{", 2 * time.Second, "not_ready"},
		"without a key":   {head + "Content-Length: 100\r\n\r\n{", 2 * time.Second, "missing_api_key"},
		"utility call":    {head + fmt.Sprintf("Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", apitest.Key, len(utility), utility), 2 * time.Second, "not_ready"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ln := apitest.NewPipes()
				g := apitest.ServeOn(t, ln, apitest.Script(daemontest.Hang()), func(c *daemon.Config) {
					c.Drain = time.Second
					c.Complete = func(ctx context.Context, _ completions.Prompt) (completions.Completion, error) {
						<-ctx.Done()
						return completions.Completion{}, ctx.Err()
					}
				})
				conn, err := ln.Dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := io.WriteString(conn, tc.sent); err != nil {
					t.Fatal(err)
				}
				answered := make(chan apitest.Response, 1)
				go func() {
					defer close(answered)
					res, err := http.ReadResponse(bufio.NewReader(conn), nil)
					if err == nil {
						body, _ := io.ReadAll(res.Body)
						answered <- apitest.Response{Status: res.StatusCode, Header: res.Header, Body: string(body)}
					}
				}()
				synctest.Wait()
				began := time.Now()
				if err := g.Stop(); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > tc.most {
					t.Errorf("the drain took %v", took)
				}
				res, ok := <-answered
				switch {
				case ok != (tc.code != ""):
					t.Errorf("an answer: %t", ok)
				case ok:
					apitest.FrameError(t, []byte(res.Body), tc.code, "")
				}
			})
		})
	}
}

// A reader that takes nothing more is cut off, and does not delay the drain.
func TestADrainCutsOffAReaderThatDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ln := apitest.NewPipes()
		g := apitest.ServeOn(t, ln, apitest.Script(daemontest.Delta(strings.Repeat("x", 64<<10)), daemontest.Hang()), func(c *daemon.Config) { c.Drain = time.Second })
		conn, err := ln.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		body := apitest.Ask("go", apitest.Streamed)
		fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", apitest.Key, len(body), body)
		synctest.Wait()
		began := time.Now()
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 7*time.Second {
			t.Errorf("the drain took %v", took)
		}
	})
}
