package agentserver_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
)

const sentence = "one two three four five six seven eight nine ten"

func TestStreamSurvivesABrokenConnection(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{slowly(sentence, 100*time.Millisecond)}
		o := <-begin(t, w.open(t), once(w.Cut))
		o.wantAnswer(t, sentence, sentence)
	})
}

func TestStreamSurvivesAConnectionThatBreaksAtEveryFrame(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 24; n++ {
		inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
			w.model.script = []thought{tool("Looking.", "echo hi"), text("one two three")}
			broken := false
			w.OnFrame(func(i int, _ event.Event) fakeserver.Fate {
				if i == n && !broken {
					broken = true
					return fakeserver.Break
				}
				return fakeserver.Send
			})
			run(t, w.open(t)).wantAnswer(t, "one two three", "Looking.\n\none two three")
		})
	}
}

func TestWhatHappenedWhileNobodyListenedIsDelivered(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{slowly("first ", time.Second), tool("", "sleep 1"), text("last")}
		w.model.script[0] = tool("first", "sleep 2")
		c := w.open(t)
		o := <-begin(t, c, once(func() {
			w.Fail("GET", c.Info().ID, 6, 503, `{"detail":"x"}`) // sockets and descriptions
			w.Cut()
		}))
		o.wantAnswer(t, "last", "first\n\nlast")
		if o.Actions != 2 {
			t.Errorf("%d actions, want 2", o.Actions)
		}
	})
}

func TestSlowSubscriptionLosesNothing(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{tool("first", "sleep 1"), tool("second", "sleep 1"), text("last")}
		o := <-begin(t, w.open(t), once(func() {
			w.SlowSubscribe(1500 * time.Millisecond)
			w.Cut()
		}))
		o.wantAnswer(t, "last", "first\n\nsecond\n\nlast")
	})
}

func TestFrameThatNeverCameIsFetched(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.58.2", "1.43.1", "1.30.0"} {
		inBubble(t, fakeserver.Options{Version: version}, func(t *testing.T, w *world) {
			w.model.script = []thought{text("the answer")}
			w.OnFrame(func(_ int, e event.Event) fakeserver.Fate {
				if isAgentMessage(e) {
					return fakeserver.Skip
				}
				return fakeserver.Send
			})
			run(t, w.open(t)).wantAnswer(t, "the answer", "the answer")
		})
	}
}

func TestSnapshotThatNeverCameIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, skip := range map[string]func(n int) bool{
		"the first": func(n int) bool { return n == 1 },
		"all":       func(int) bool { return true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
				w.model.script = []thought{tool("first", "echo hi"), text("last")}
				snapshots := 0
				w.OnFrame(func(_ int, e event.Event) fakeserver.Fate {
					if isSnapshot(e) {
						snapshots++
						if skip(snapshots) {
							return fakeserver.Skip
						}
					}
					return fakeserver.Send
				})
				o := run(t, w.open(t))
				o.wantAnswer(t, "last", "first\n\nlast")
				if o.took > 10*time.Second {
					t.Errorf("it took %v", o.took)
				}
			})
		})
	}
}

func TestConversationThatRunsAToolIsBusyAtOnce(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{tool("working", "sleep 3600"), text("done")}
		c := w.open(t)
		second := make(chan (<-chan outcome), 1)
		first := begin(t, c, once(func() { second <- begin(t, c, nil) }))
		busy := <-<-second
		if o := <-first; o.err != nil || o.Answer != "done" {
			t.Errorf("the first turn: %+v", o)
		}
		if !errors.Is(busy.err, agentapi.ErrBusy) || busy.took > 10*time.Second {
			t.Errorf("the second turn after %v: %v", busy.took, busy.err)
		}
	})
}

func TestSnapshotThatIsOvertakenEndsNothing(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{slowly(sentence, 100*time.Millisecond)}
		w.OnFrame(func(n int, e event.Event) fakeserver.Fate {
			if state, ok, _ := e.FullState(); ok && state.Status == event.Paused {
				return fakeserver.Late
			}
			return fakeserver.Send
		})
		c := w.open(t)
		res, err := turn.Run(t.Context(), c, turn.Input{
			Message: agentapi.Message{Text: "go"},
			// The snapshot of this interrupt comes when the run has begun.
			Ready: func(turn.Baseline) error {
				err := c.Interrupt(t.Context())
				time.Sleep(time.Millisecond) // no two time stamps are the same
				return err
			},
			Emit: func(turn.Update) {},
		})
		if err != nil || res.Outcome != turn.Finished || res.Answer != sentence {
			t.Errorf("turn %+v, %v", res, err)
		}
	})
}

func TestFrozenServerIsLost(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{slowly(sentence, 100*time.Millisecond)}
		o := <-begin(t, w.open(t), once(w.Freeze))
		if !errors.Is(o.err, agentapi.ErrLost) || !strings.HasPrefix(sentence, o.text) || o.text == "" {
			t.Errorf("turn %+v", o)
		}
		if o.took > 45*time.Second {
			t.Errorf("it was noticed after %v", o.took)
		}
		w.Thaw()
	})
}

func TestServerThatThawsInTimeIsNotLost(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{slowly(sentence, 100*time.Millisecond)}
		o := <-begin(t, w.open(t), once(func() {
			w.Freeze()
			time.AfterFunc(15*time.Second, w.Thaw)
		}))
		o.wantAnswer(t, sentence, sentence)
	})
}

func TestSlowServerIsNotTakenForADeadOne(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{slowly(sentence, 100*time.Millisecond)}
		o := <-begin(t, w.open(t), once(func() {
			w.SetLatency(6 * time.Second)
			w.Cut()
		}))
		o.wantAnswer(t, sentence, sentence)
	})
}

func TestDeadServerIsLostSoon(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{slowly(sentence, 100*time.Millisecond)}
		o := <-begin(t, w.open(t), once(w.Kill))
		if !errors.Is(o.err, agentapi.ErrLost) || o.text == "" {
			t.Errorf("turn %+v", o)
		}
		if o.took > 10*time.Second {
			t.Errorf("it was noticed after %v", o.took)
		}
	})
}

func TestRestartedServerTellsWhatItsLogHas(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script []thought
		down   time.Duration // from the first update to the kill, no client listens
		check  func(*testing.T, outcome)
	}{
		{"a run that was over", []thought{tool("first", "echo hi"), text("the answer")}, time.Second, func(t *testing.T, o outcome) {
			t.Helper()
			o.wantAnswer(t, "the answer", "first\n\nthe answer")
		}},
		{"a run that went on", []thought{tool("first", "sleep 3600")}, time.Second, func(t *testing.T, o outcome) {
			t.Helper()
			if o.err != nil || o.Outcome != turn.Failed || o.Cause == nil || o.Cause.Kind != turn.CauseLost {
				t.Errorf("turn %+v", o)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
				w.model.script = slices.Clone(tt.script) // for each socket its own
				w.model.script[0] = tool("first", "sleep 1")
				if len(tt.script) == 1 {
					w.model.script[0] = tool("first", "sleep 3600")
				}
				time.Sleep(time.Minute) // so that a restart can be told by the uptime
				o := <-begin(t, w.open(t), once(func() {
					w.Fail("GET", "/server_info", 1000, 503, `{}`)
					w.Cut()
					time.AfterFunc(4*time.Second, func() {
						w.Kill()
						w.Restart(t)
						w.Heal()
					})
				}))
				tt.check(t, o)
			})
		})
	}
}

func TestRunThatARestartForgotIsLost(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		time.Sleep(time.Minute)
		c := w.open(t)
		stream, err := c.Watch(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		if e, err := stream.Next(t.Context()); err != nil || !isSnapshot(e) {
			t.Fatalf("first event %v, %v", e.Kind(), err)
		}
		w.Kill()
		time.Sleep(3 * time.Second)
		w.Restart(t)
		if e, err := stream.Next(t.Context()); err != nil || !isSnapshot(e) {
			t.Fatalf("event after the restart %v, %v", e.Kind(), err)
		}
		for range 2 {
			if _, err := stream.Next(t.Context()); !errors.Is(err, agentapi.ErrLost) {
				t.Errorf("error %v, want %v", err, agentapi.ErrLost)
			}
		}
	})
}

func TestWithoutASocketTheServerIsPolled(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.58.2", "1.43.1", "1.30.0"} {
		inBubble(t, fakeserver.Options{Version: version}, func(t *testing.T, w *world) {
			c := w.open(t)
			w.noSockets(c.Info().ID, 1000)
			for range 2 {
				w.model.script = []thought{tool("first", "sleep 5"), text("the answer")}
				o := run(t, c)
				o.wantAnswer(t, "the answer", "first\n\nthe answer")
				if o.Usage.PromptTokens != 200 || o.took > 20*time.Second {
					t.Errorf("usage %+v after %v", o.Usage, o.took)
				}
			}
		})
	}
}

func TestPollingNoticesADeadServer(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		c := w.open(t)
		w.noSockets(c.Info().ID, 1000)
		w.model.script = []thought{tool("first", "sleep 60")}
		o := <-begin(t, c, once(w.Kill))
		if !errors.Is(o.err, agentapi.ErrLost) || o.took > 30*time.Second {
			t.Errorf("turn %+v", o)
		}
	})
}

func TestPollingEndsWhenASocketCanBeHad(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		c := w.open(t)
		w.noSockets(c.Info().ID, 1)
		w.model.script = []thought{tool("first", "sleep 40"), slowly(sentence, time.Second)}
		o := run(t, c)
		o.wantAnswer(t, sentence, "first\n\n"+sentence)
		if n := len(w.Calls("GET", "/sockets/events/"+c.Info().ID)); n != 1 {
			t.Errorf("%d sockets were opened, want 1", n)
		}
	})
}

func TestSocketsAreLimitedByTheServer(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		c := w.open(t)
		for range 50 {
			stream, err := c.Watch(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			if _, err := stream.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if o := run(t, c); !errors.Is(o.err, agentapi.ErrUnavailable) || o.took > 15*time.Second {
			t.Errorf("turn %+v", o)
		}
	})
}

func TestLargeEventsAreRead(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		big := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB
		w.model.script = []thought{text(big)}
		o := run(t, w.open(t))
		if o.err != nil || o.Answer != big {
			t.Errorf("answer of %d bytes, want %d; %v", len(o.Answer), len(big), o.err)
		}
	})
}

func TestLongReplaysAreReadByPage(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		for range 120 {
			w.model.script = append(w.model.script, tool("", "echo hi"))
		}
		w.model.script = append(w.model.script, text("done"))
		c := w.open(t)
		run(t, c).wantAnswer(t, "done", "done")
		stream, err := c.Watch(t.Context(), agentapi.FromStart)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		var got []string
		for snapshots := 0; snapshots < 2; {
			e, err := stream.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if isSnapshot(e) {
				snapshots++
				continue
			}
			got = append(got, e.ID)
		}
		log := w.Log(c.Info().ID)
		if len(got) != len(log) {
			t.Fatalf("%d events, the log has %d", len(got), len(log))
		}
		for i, e := range log {
			if got[i] != e.ID {
				t.Fatalf("event %d is %s, want %s", i, got[i], e.ID)
			}
		}
	})
}

func TestWatchNeedsTheKey(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.58.2", "1.43.1", "1.21.0"} {
		inBubble(t, fakeserver.Options{Version: version, Key: "sk-session"}, func(t *testing.T, w *world) {
			key := "sk-session"
			client := w.Client()
			defer client.CloseIdleConnections()
			b, err := agentserver.New(agentserver.Config{
				URL: w.URL, HTTP: client, Key: func() string { return key }, LLM: &agentserver.LLM{Profile: "fast", Model: "openai/own"},
			})
			if err != nil {
				t.Fatal(err)
			}
			w.backend = b
			c := w.open(t)
			run(t, c).wantAnswer(t, "ok", "ok")
			key = "sk-wrong"
			if o := run(t, c); !errors.Is(o.err, agentapi.ErrUnauthorized) || strings.Contains(o.err.Error(), "sk-") || o.took > time.Second {
				t.Errorf("version %s: %v after %v", version, o.err, o.took)
			}
		})
	}
}

func TestConversationThatIsDeletedEndsItsStream(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{tool("first", "echo hi"), slowly(sentence, time.Hour)}
		c := w.open(t)
		over := begin(t, c, nil)
		time.Sleep(time.Minute)
		// Whatever is said of it now comes after the sockets were let go.
		w.OnFrame(func(int, event.Event) fakeserver.Fate { return fakeserver.Skip })
		w.remove(t, c.Info().ID)
		if o := <-over; !errors.Is(o.err, agentapi.ErrLost) || o.took > 3*time.Minute {
			t.Errorf("turn %+v", o)
		}
	})
}

// The longest patience is a minute: that of a start.
func TestStepLongerThanEveryPatienceIsNotTakenForTheEnd(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{text("before"), slowly("the answer", 2*time.Minute)}
		c := w.open(t)
		run(t, c).wantAnswer(t, "before", "before")
		o := <-begin(t, c, nil)
		o.wantAnswer(t, "the answer", "the answer")
		// The same, with a connection that breaks while nothing is to be seen,
		// and no snapshot of the new one: the state over REST is that of before.
		w.model.script = []thought{slowly("again", 2*time.Minute)}
		time.AfterFunc(time.Minute, func() {
			w.OnFrame(func(n int, e event.Event) fakeserver.Fate {
				if n == 1 && isSnapshot(e) {
					return fakeserver.Skip
				}
				return fakeserver.Send
			})
			w.Cut()
		})
		run(t, c).wantAnswer(t, "again", "again")
	})
}

func TestStateThatIsOlderThanTheLogIsNoEnd(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{text("before"), slowly("the answer", 2*time.Minute)}
		c := w.open(t)
		run(t, c).wantAnswer(t, "before", "before")
		stale := w.native(t, "GET", "/api/conversations/"+c.Info().ID, "")
		// All there is now is a state over REST that is not kept up to date.
		w.noSockets(c.Info().ID, 1000)
		w.Fail("GET", "/api/conversations/"+c.Info().ID, 100, 200, stale)
		run(t, c).wantAnswer(t, "the answer", "the answer")
	})
}

func TestMoreThanIsKeptBeforeALateSnapshotIsRead(t *testing.T) {
	t.Parallel()
	inBubbles(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		long := strings.Repeat("word ", 3000) + "end"
		w.model.script = []thought{slowly(long, 20*time.Millisecond)}
		c := w.open(t)
		w.OnFrame(func(_ int, e event.Event) fakeserver.Fate {
			if isSnapshot(e) {
				return fakeserver.Skip
			}
			return fakeserver.Send
		})
		first, err := c.Watch(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		w.Fail("GET", c.Info().ID, 80, 503, `{"detail":"x"}`) // the server says nothing over REST for more than a minute
		synctest.Wait()                                       // until the socket is registered: what comes before is not for it
		if err := c.Send(t.Context(), agentapi.Message{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		seen, messages := map[string]int{}, 0
		for {
			e, err := first.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if e.Persisted() {
				seen[e.ID]++
			}
			if _, ok := e.Body.(*event.Message); ok {
				messages++
			}
			if s, ok, _ := e.FullState(); ok && s.Status == event.Finished && len(seen) > 0 {
				break
			}
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("event %s came %d times", id, n)
			}
		}
		if messages != 2 {
			t.Errorf("%d messages came, want the user's and the agent's", messages)
		}
	})
}
