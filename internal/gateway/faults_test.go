package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/internal/gateway"
)

const (
	head   = `data: {"choices":[{"delta":{"role":"assistant","content":""}}]}` + "\n\n"
	finish = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
)

func content(text string) string {
	return fmt.Sprintf(`data: {"choices":[{"delta":{"content":%q}}]}`+"\n\n", text)
}

// stream answers with these bytes.
func stream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-OpenHands-ServerConversation-ID", conversation)
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

// asked is what a handler saw of the questions.
type asked struct {
	keys, bodies, conversations []string
	stops                       int
}

// note keeps a request; it reports whether it was a question.
func (a *asked) note(r *http.Request) bool {
	if strings.HasSuffix(r.URL.Path, "/interrupt") {
		a.stops++
		return false
	}
	body, _ := io.ReadAll(r.Body)
	a.keys = append(a.keys, r.Header.Get("Idempotency-Key"))
	a.bodies = append(a.bodies, string(body))
	a.conversations = append(a.conversations, r.Header.Get("X-OpenHands-ServerConversation-ID"))
	return true
}

func TestALostConnectionIsReplacedByTheSameRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		var saw asked
		n.handle(t, func(w http.ResponseWriter, r *http.Request) {
			if !saw.note(r) {
				return
			}
			if len(saw.keys) < 3 {
				stream(w, head+content("The tests"))
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("X-OpenHands-Replayed", "true")
			stream(w, head+content("The tests pass.")+finish)
		})
		a := ask(t.Context(), n.client(t), gateway.Question{Text: "do they?"})
		if a.err != nil || a.text != "The tests pass." || saw.stops != 0 {
			t.Errorf("text = %q, error %v, %d stops", a.text, a.err, saw.stops)
		}
		if diff := cmp.Diff([]string{"Started", "Text", "Lost", "Started", "Text", "Lost", "Started", "Text", "Done"}, a.order); diff != "" {
			t.Error(diff)
		}
		if len(a.lost) != 2 || a.lost[0].Attempt != 1 || a.lost[1].Attempt != 2 || a.lost[0].Err == nil || !a.started[2].Replayed {
			t.Errorf("lost %+v, started %+v", a.lost, a.started)
		}
		for _, list := range [][]string{saw.keys, saw.bodies, saw.conversations} {
			if len(list) != 3 || list[0] != list[1] || list[1] != list[2] {
				t.Errorf("not the same request: %q", list)
			}
		}
		if saw.keys[0] == "" || saw.conversations[0] != "" {
			t.Errorf("keys %q, conversations %q", saw.keys, saw.conversations)
		}
	})
}

func TestALostConnectionRunsNothingTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Say("So far."), daemontest.Wait(10*time.Second), daemontest.Tool("make"), daemontest.Finish("done"))
		c, n := start(t, b)
		go func() {
			time.Sleep(3 * time.Second)
			n.cut(true)
			time.Sleep(2 * time.Second)
			n.cut(false)
		}()
		a := ask(t.Context(), c, gateway.Question{})
		if a.err != nil || a.text != "So far.\n\ndone" || len(a.lost) == 0 || !a.started[1].Replayed {
			t.Errorf("answer = %+v", a)
		}
		if b.Runs() != 1 || b.Interrupts() != 0 {
			t.Errorf("%d runs, %d interrupts", b.Runs(), b.Interrupts())
		}
	})
}

func TestALostGatewayIsGivenUpAfterAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, n := start(t, script(daemontest.Hang()))
		time.AfterFunc(time.Second, func() { n.cut(true) })
		began := time.Now()
		a := ask(t.Context(), c, gateway.Question{})
		e := wantError(t, a.err, gateway.Unreachable)
		if e.Err == nil || e.Conversation != a.started[0].Conversation {
			t.Errorf("error = %+v", e)
		}
		if took := time.Since(began); took < 30*time.Second || took > 90*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestAConnectionThatAlwaysBreaksIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		var saw asked
		n.handle(t, func(w http.ResponseWriter, r *http.Request) {
			if saw.note(r) {
				stream(w, head+content("x"))
				panic(http.ErrAbortHandler)
			}
		})
		a := ask(t.Context(), n.client(t), gateway.Question{})
		_ = wantError(t, a.err, gateway.Unreachable)
		if len(saw.keys) > 20 {
			t.Errorf("asked %d times", len(saw.keys))
		}
	})
}

func TestAHungGatewayIsNoticed(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{"at once": "", "in the middle": head + content("So far.")} {
		synctest.Test(t, func(t *testing.T) {
			n := newNetwork()
			var saw asked
			n.handle(t, func(w http.ResponseWriter, r *http.Request) {
				if !saw.note(r) {
					return
				}
				if before != "" {
					stream(w, before)
				}
				<-r.Context().Done()
			})
			began := time.Now()
			a := ask(t.Context(), n.client(t), gateway.Question{})
			_ = wantError(t, a.err, gateway.Unreachable)
			if len(a.lost) < 2 || time.Since(began) > 10*time.Minute {
				t.Errorf("%s: lost %d times, %s", name, len(a.lost), time.Since(began))
			}
		})
	}
}

func TestASlowReaderIsNoSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		n.handle(t, func(w http.ResponseWriter, _ *http.Request) {
			for _, part := range []string{head, content("a"), content("b"), finish} {
				stream(w, part) // one write each, so that no buffer has it all
			}
		})
		var text string
		for p, err := range n.client(t).Ask(t.Context(), gateway.Question{Model: "m", Text: "hi"}) {
			if err != nil {
				t.Fatal(err)
			}
			switch p := p.(type) {
			case gateway.Lost:
				t.Fatal("lost: ", p.Err)
			case gateway.Started:
				time.Sleep(time.Hour)
			case gateway.Text:
				time.Sleep(time.Hour)
				text += string(p)
			}
		}
		if text != "ab" {
			t.Errorf("text = %q", text)
		}
	})
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	n := newNetwork()
	n.cut(true)
	c := n.client(t)
	a := ask(t.Context(), c, gateway.Question{})
	_ = wantError(t, a.err, gateway.Unreachable)
	_, err := c.Models(t.Context())
	_ = wantError(t, err, gateway.Unreachable)
	if len(a.lost) > 0 || n.dials != 2 {
		t.Errorf("lost %d times, %d connections", len(a.lost), n.dials)
	}
	bad := gateway.New(gateway.Config{URL: "::", HTTP: http.DefaultClient, Now: time.Now, NewKey: func() string { return "k" }})
	_ = wantError(t, ask(t.Context(), bad, gateway.Question{}).err, gateway.Unreachable)
}

func TestStrangersAreKnown(t *testing.T) {
	t.Parallel()
	page := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	const html = "<html><title>Welcome</title></html>"
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		kind    gateway.Kind
		says    string
	}{
		"web page":      {page(200, "text/html; charset=utf-8", html), gateway.Stranger, "a web page"},
		"not found":     {page(404, "text/html", html), gateway.Stranger, "404"},
		"redirect":      {page(302, "text/html", html), gateway.Stranger, "302"},
		"proxy":         {page(502, "text/html", html), gateway.Unreachable, "502"},
		"other JSON":    {page(500, "application/json", `{"detail":"x"}`), gateway.Stranger, "application/json"},
		"plain JSON":    {page(200, "application/json", `{"choices":[]}`), gateway.Stranger, "application/json"},
		"odd envelope":  {page(400, "application/json", `{"error":"no"}`), gateway.Stranger, "400"},
		"no kind":       {page(200, "?", ""), gateway.Stranger, "something"},
		"no JSON":       {page(200, "text/event-stream", "data: hello\n\n"), gateway.Stranger, "malformed stream"},
		"wrong types":   {page(200, "text/event-stream", `data: {"choices":"x"}`+"\n\n"), gateway.Stranger, "malformed stream"},
		"end too early": {page(200, "text/event-stream", head+"data: [DONE]\n\n"), gateway.Stranger, "malformed stream"},
		"long line":     {page(200, "text/event-stream", "data: "+strings.Repeat("x", 10<<20)+"\n\n"), gateway.Stranger, "malformed stream"},
		"endless event": {page(200, "text/event-stream", strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 10<<10)+"\n"), gateway.Stranger, "malformed stream"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork()
			n.handle(t, tc.handler)
			c := n.client(t, func(c *gateway.Config) {
				c.HTTP.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			})
			a := ask(t.Context(), c, gateway.Question{})
			e := wantError(t, a.err, tc.kind)
			if !strings.Contains(e.Message, tc.says) || strings.Contains(e.Message, "Welcome") || len(a.lost) > 0 {
				t.Errorf("message = %q, lost %d times", e.Message, len(a.lost))
			}
		})
	}
}

func TestTheListOfAStrangerIsRefused(t *testing.T) {
	t.Parallel()
	n := newNetwork()
	n.handle(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
	_, err := n.client(t).Models(t.Context())
	_ = wantError(t, err, gateway.Stranger)
}

func TestAModelWithoutAnAgentIsTold(t *testing.T) {
	t.Parallel()
	n := newNetwork()
	n.handle(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"id":"a","ohgw":{"kind":"agent"}},{"id":"b","ohgw":{"kind":"llm"}},{"id":"c"},{"id":"d","ohgw":null}]}`)
	})
	models, err := n.client(t).Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plain := map[string]bool{}
	for _, m := range models {
		plain[m.ID] = m.Plain
	}
	if diff := cmp.Diff(map[string]bool{"a": false, "b": true, "c": false, "d": false}, plain); diff != "" {
		t.Error(diff)
	}
}

func TestAStreamIsReadAsOthersWriteIt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body     string
		text     string
		progress []string
	}{
		"no DONE":           {strings.TrimSuffix(head+content("a")+finish, "data: [DONE]\n\n"), "a", nil},
		"CRLF and comments": {strings.ReplaceAll(": hi\n\n"+head+": ping\n"+content("a")+finish, "\n", "\r\n"), "a", nil},
		"invalid UTF-8":     {head + "data: {\"choices\":[{\"delta\":{\"content\":\"a\xff\xfeb\"}}]}\n\n" + finish, "a\uFFFD\uFFFDb", nil},
		"nulls":             {head + `data: {"choices":[{"delta":{"content":null,"reasoning_content":null},"finish_reason":null}],"usage":null,"error":null}` + "\n\n" + finish, "", nil},
		"unknown fields":    {head + `data: {"x":1,"choices":[{"index":0,"delta":{"content":"a","y":[]}}]}` + "\n\n" + finish, "a", nil},
		"no choices":        {head + `data: {"choices":[]}` + "\n\n" + content("a") + finish, "a", nil},
		"both at once":      {`data: {"choices":[{"delta":{"content":"a","reasoning_content":"think"}}]}` + "\n\n" + finish, "a", []string{"think"}},
		"reasoning in pieces": {
			reasoning("think ") + reasoning("hard\n\nthen ") + reasoning("act") + content("a") + reasoning("again") + finish, "a", []string{"think hard", "then act", "again"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork()
			n.handle(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, tc.body) })
			a := ask(t.Context(), n.client(t), gateway.Question{})
			if a.err != nil || a.text != tc.text || a.done == nil || a.done.Finish != "stop" || a.done.RunStatus != "finished" || a.done.Usage.Cost != nil {
				t.Errorf("text = %q, error %v, end %+v", a.text, a.err, a.done)
			}
			if diff := cmp.Diff(tc.progress, a.progress); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func reasoning(text string) string {
	return fmt.Sprintf(`data: {"choices":[{"delta":{"reasoning_content":%q}}]}`+"\n\n", text)
}

func TestAStreamCutInAFrameIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		var saw asked
		n.handle(t, func(w http.ResponseWriter, r *http.Request) {
			whole := head + content("The answer.") + finish
			if saw.note(r); len(saw.keys) == 1 {
				stream(w, whole[:len(head)+20]) // a clean end of the body, in the middle of a frame
				return
			}
			stream(w, whole)
		})
		if a := ask(t.Context(), n.client(t), gateway.Question{}); a.err != nil || a.text != "The answer." || len(a.lost) != 1 {
			t.Errorf("answer = %+v", a)
		}
	})
}

func TestAGatewayThatComesBackIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		var saw asked
		n.handle(t, func(w http.ResponseWriter, r *http.Request) {
			switch saw.note(r); len(saw.keys) {
			case 1:
				stream(w, head)
				panic(http.ErrAbortHandler)
			case 2:
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = io.WriteString(w, `{"error":{"message":"Shutting down.","code":"not_ready"}}`)
			default:
				stream(w, head+content("done")+finish)
			}
		})
		if a := ask(t.Context(), n.client(t), gateway.Question{}); a.err != nil || a.text != "done" || len(a.lost) != 2 {
			t.Errorf("answer = %+v", a)
		}
	})
}

func TestTheErrorOfTheContextIsItsCause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		var saw asked
		n.handle(t, func(_ http.ResponseWriter, r *http.Request) {
			if saw.note(r) {
				<-r.Context().Done()
			}
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("Ctrl-C")
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if a := ask(ctx, n.client(t), gateway.Question{Conversation: conversation}); !errors.Is(a.err, cause) || saw.stops != 1 {
			t.Errorf("the question ended with: %v, %d stops", a.err, saw.stops)
		}
	})
}

func FuzzAStreamOfAnything(f *testing.F) {
	for _, body := range []string{head + content("a") + finish, "data: {}\n\n", reasoning("a\nb"), `data: {"error":{"message":"x"}}` + "\n\n", "\xff: \r\r", `data: {"choices":[{"delta":{}}],"ohgw":{"queue":-1,"run_status":"paused","text_before":-9,"waiting":[{}]}}` + "\n\n"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		pieces, err := gateway.ReadStream(body)
		for i, p := range pieces {
			switch p := p.(type) {
			case gateway.Done:
				if i != len(pieces)-1 || err != nil || p.TextBefore < 0 {
					t.Errorf("a Done in the middle, or odd: %+v, %v", p, err)
				}
			case gateway.Progress:
				if strings.ContainsAny(string(p), "\n") || p == "" {
					t.Errorf("no line: %q", p)
				}
			case gateway.Text:
				if p == "" {
					t.Error("an empty text")
				}
			case gateway.Waiting:
				if p.Queue < 0 {
					t.Errorf("place %d", p.Queue)
				}
			}
		}
		if err == nil && (len(pieces) == 0 || fmt.Sprintf("%T", pieces[len(pieces)-1]) != "gateway.Done") {
			t.Error("an end without a Done")
		}
	})
}
