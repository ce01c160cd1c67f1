package agentserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/uuid"
)

func TestSendSaysWhatBecameOfTheMessage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fault func(*testing.T, *world, string)
		want  error // nil: it arrived
	}{
		{"the answer is lost", func(_ *testing.T, w *world, path string) { w.LoseAnswer("POST", path, 1) }, nil},
		{"a proxy gives up after it arrived", func(_ *testing.T, w *world, path string) {
			w.Mask("POST", path, 1, 504, "<h1>Gateway Timeout</h1>")
		}, nil},
		{"the request is lost", func(_ *testing.T, w *world, path string) { w.LoseRequest("POST", path, 1) }, agentapi.ErrUncertain},
		{"the request is lost, and another message comes", func(t *testing.T, w *world, path string) {
			t.Helper()
			w.LoseRequest("POST", path, 1)
			time.AfterFunc(time.Second, func() {
				w.post(t, "/api/conversations"+path, `{"role":"user","content":[{"type":"text","text":"hello"}]}`)
			})
		}, agentapi.ErrUncertain},
		{"a proxy lost the request", func(_ *testing.T, w *world, path string) {
			w.Fail("POST", path, 1, 502, "<h1>Bad Gateway</h1>")
		}, agentapi.ErrUncertain},
		{"the server died with the request", func(_ *testing.T, w *world, path string) {
			w.Before("POST", path, 1, w.Kill)
		}, agentapi.ErrUncertain},
		{"the server died with the request and came back", func(t *testing.T, w *world, path string) {
			t.Helper()
			w.LoseRequest("POST", path, 1)
			time.AfterFunc(time.Second, func() { w.Kill(); w.Restart(t) })
		}, agentapi.ErrUnavailable},
		{"the server was dead before", func(_ *testing.T, w *world, _ string) { w.Kill() }, agentapi.ErrUnavailable},
		{"the server is not ready", func(_ *testing.T, w *world, path string) {
			w.Fail("POST", path, 1, 503, `{"detail":"Internal Server Error","exception":"503: server is in deferred-init state"}`)
		}, agentapi.ErrUnavailable},
		{"the proxy has no server", func(_ *testing.T, w *world, path string) {
			w.Fail("POST", path, 1, 503, "<h1>Service Unavailable</h1>")
		}, agentapi.ErrUnavailable},
		{"the server refuses", func(_ *testing.T, w *world, path string) {
			w.Fail("POST", path, 1, 422, `{"detail":[{"type":"missing","loc":["body","content"],"msg":"Field required"}]}`)
		}, agentapi.ErrRefused},
		{"the server fails", func(_ *testing.T, w *world, path string) {
			w.Fail("POST", path, 1, 500, `{"detail":"Internal Server Error","exception":"MCP server x does not start"}`)
		}, agentapi.ErrRefused},
		{"the key is refused", func(_ *testing.T, w *world, path string) {
			w.Fail("POST", path, 1, 401, `{"detail":"Unauthorized"}`)
		}, agentapi.ErrUnauthorized},
		{"the conversation is gone", func(_ *testing.T, w *world, path string) {
			w.Fail("POST", path, 1, 404, `{"detail":"Conversation not found: x"}`)
		}, agentapi.ErrConversationNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
				time.Sleep(time.Minute) // so that a restart can be told by the uptime
				c := w.open(t)
				tt.fault(t, w, "/"+c.Info().ID+"/events")
				start := time.Now()
				err := c.Send(t.Context(), agentapi.Message{Text: "go"})
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
				if !errors.Is(err, tt.want) {
					t.Fatalf("Send: %v, want %v", err, tt.want)
				}
				if err != nil && !strings.HasSuffix(agentapi.PublicMessage(err, ""), ".") {
					t.Errorf("the sentence is %q", agentapi.PublicMessage(err, ""))
				}
				sent := 0
				for _, call := range w.Calls("POST", "/events") {
					if strings.Contains(call.Body, `"go"`) {
						sent++
					}
				}
				if sent > 1 {
					t.Errorf("the message was sent %d times", sent)
				}
			})
		})
	}
}

// TestTurnEndsWhateverBecomesOfTheMessage is about turn.Run over each of these.
func TestTurnEndsWhateverBecomesOfTheMessage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fault func(*testing.T, *world, string)
		want  error
	}{
		{"the answer is lost", func(_ *testing.T, w *world, path string) { w.LoseAnswer("POST", path, 1) }, nil},
		{"the request is lost", func(_ *testing.T, w *world, path string) { w.LoseRequest("POST", path, 1) }, agentapi.ErrUncertain},
		{"the server dies with the request", func(_ *testing.T, w *world, path string) {
			w.Before("POST", path, 1, w.Kill)
		}, agentapi.ErrLost},
		{"the server freezes with the request", func(_ *testing.T, w *world, path string) {
			w.Before("POST", path, 1, w.Freeze)
		}, agentapi.ErrLost},
		{"the server fails", func(_ *testing.T, w *world, path string) {
			w.Fail("POST", path, 1, 500, `{"detail":"Internal Server Error","exception":"no"}`)
		}, agentapi.ErrRefused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
				c := w.open(t)
				tt.fault(t, w, "/"+c.Info().ID+"/events")
				o := run(t, c)
				if !errors.Is(o.err, tt.want) || o.took > time.Minute {
					t.Errorf("turn %+v, want %v", o, tt.want)
				}
				w.Thaw()
			})
		})
	}
}

func TestSendWaitsForTheToolThatHoldsTheLock(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{tool("", "sleep 600")}
		c := w.open(t)
		if err := c.Send(t.Context(), agentapi.Message{Text: "first"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		start := time.Now()
		if err := c.Send(t.Context(), agentapi.Message{Text: "second"}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 9*time.Minute {
			t.Errorf("the second message was taken after %v", took)
		}
	})
}

func TestSendEndsWithItsContext(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		c := w.open(t)
		w.Freeze()
		defer w.Thaw()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := c.Send(ctx, agentapi.Message{Text: "go"}); !errors.Is(err, agentapi.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Send: %v", err)
		}
	})
}

func TestSameMessageTwiceIsNotTakenForOne(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		c := w.open(t)
		for range 2 {
			if o := run(t, c); o.err != nil {
				t.Fatal(o.err)
			}
		}
		w.LoseRequest("POST", "/events", 1)
		if err := c.Send(t.Context(), agentapi.Message{Text: "go"}); !errors.Is(err, agentapi.ErrUncertain) {
			t.Errorf("Send: %v, want %v: the log has two older messages like it", err, agentapi.ErrUncertain)
		}
	})
}

func TestDecisionWhoseAnswerIsLostCounts(t *testing.T) {
	t.Parallel()
	for _, accept := range []bool{true, false} {
		inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
			w.Configure(func(_, conversation map[string]any) { conversation["confirmation_mode"] = true })
			w.model.script = []thought{tool("", "echo hi"), text("done")}
			c := w.open(t)
			if o := run(t, c); o.Outcome != turn.Waiting {
				t.Fatalf("turn %+v", o)
			}
			w.LoseAnswer("POST", "/respond_to_confirmation", 1)
			if err := c.Decide(t.Context(), agentapi.Decision{Accept: accept, Reason: "no"}); err != nil {
				t.Errorf("Decide(%v): %v", accept, err)
			}
			w.LoseRequest("POST", "/respond_to_confirmation", 1)
			if err := c.Decide(t.Context(), agentapi.Decision{Accept: accept}); !errors.Is(err, agentapi.ErrUncertain) {
				t.Errorf("Decide(%v) that was lost: %v", accept, err)
			}
		})
	}
}

// What another client decided meanwhile, and earlier runs, are not taken for a decision
// that was lost.
func TestDecisionOfSomebodyElseIsNotTakenForOurs(t *testing.T) {
	t.Parallel()
	const reject, accept = `{"accept":false,"reason":"no"}`, `{"accept":true}`
	tests := map[string]struct {
		accept bool
		others []string // what others decide
		want   error
	}{
		"rejected, then a run":             {true, []string{reject, "message"}, agentapi.ErrUncertain},
		"accepted, then another rejected":  {false, []string{accept, reject}, agentapi.ErrUncertain},
		"accepted as well":                 {true, []string{accept}, nil},
		"rejected as well, and then a run": {false, []string{reject, "message"}, nil},
		"nothing":                          {true, nil, agentapi.ErrUncertain},
	}
	for name, tt := range tests {
		for _, watched := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", watched ", watched), func(t *testing.T) {
				t.Parallel()
				inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
					w.Configure(func(_, conversation map[string]any) { conversation["confirmation_mode"] = true })
					w.model.script = []thought{tool("", "echo hi"), tool("", "echo again"), text("done")}
					c := w.open(t)
					if watched { // by a stream whose reader has stopped
						stream, err := c.Watch(t.Context(), "")
						if err != nil {
							t.Fatal(err)
						}
						defer stream.Close()
						if _, err := stream.Next(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					if err := c.Send(t.Context(), agentapi.Message{Text: "go"}); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
					path := "/api/conversations/" + c.Info().ID + "/events"
					var others sync.WaitGroup
					others.Go(func() {
						for _, other := range tt.others {
							time.Sleep(time.Second)
							if other == "message" {
								w.post(t, path, `{"role":"user","content":[{"type":"text","text":"hello"}],"run":true}`)
							} else {
								w.post(t, path+"/respond_to_confirmation", other)
							}
						}
					})
					w.LoseRequest("POST", "/respond_to_confirmation", 1)
					if err := c.Decide(t.Context(), agentapi.Decision{Accept: tt.accept}); !errors.Is(err, tt.want) {
						t.Errorf("the decision: %v, want %v", err, tt.want)
					}
					others.Wait()
				})
			})
		}
	}
}

func TestMessageOfSomebodyElseIsNotTakenForOurs(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		c := w.open(t)
		run(t, c).wantAnswer(t, "ok", "ok")
		w.post(t, "/api/conversations/"+c.Info().ID+"/events", `{"role":"user","content":[{"type":"text","text":"go"}]}`)
		w.LoseRequest("POST", "/events", 1)
		stream, err := c.Watch(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		if err := c.Send(t.Context(), agentapi.Message{Text: "go"}); !errors.Is(err, agentapi.ErrUncertain) {
			t.Errorf("Send: %v, want %v", err, agentapi.ErrUncertain)
		}
	})
}

// TestMessagesMeetNoConnectionThatIsBeingClosed is about the default client.
func TestMessagesMeetNoConnectionThatIsBeingClosed(t *testing.T) {
	t.Parallel()
	server := fakeserver.New(t, fakeserver.Options{Model: instant})
	server.SaveProfile("fast", fakeserver.Profile{Model: "openai/test"})
	b := newBackend(t, server, "")
	c, err := b.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast", Workspace: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Send(t.Context(), agentapi.Message{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/events": "close", "/api/conversations": ""} {
		if got := server.Calls("POST", path)[0].Header.Get("Connection"); got != want {
			t.Errorf("%s came on a connection %q, want %q", path, got, want)
		}
	}
}
