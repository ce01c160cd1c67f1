package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/gateway"
)

func TestQuestionGetsItsAnswer(t *testing.T) {
	s := &script{answer: says(gateway.Started{Conversation: "c1"}, gateway.Progress("$ ls\n"), gateway.Text("It is **done**."), finished())}
	talk(t, s, nil, func(c *chat) {
		c.ask("list it")
		c.sees("▌ list it", "· $ ls", "It is done.", "✓ 1 action · 0.0 s · 1,834 → 212 tokens · $0.01", "1.8k → 212", "● ready")
		s.asks(t, 1, gateway.Question{Model: "openhands", Text: "list it", Conversation: "00000001-id", Key: "00000002-id"})
		c.ask("more")
		s.asks(t, 2, gateway.Question{Conversation: "c1", Text: "more"})
		s.joins(t, false)
		if n := len(c.stored); n != 2 {
			t.Fatalf("the conversation was kept %d times", n)
		}
		kept := Conversation{ID: "c1", Title: "list it", Turns: 2, Model: "openhands", Place: "127.0.0.1:6449", Used: c.stored[1].Used}
		if diff := cmp.Diff(kept, c.stored[1]); diff != "" {
			t.Errorf("the conversation that is kept (-want +got):\n%s", diff)
		}
	})
}

func TestNewLineKeysDoNotSend(t *testing.T) {
	s := &script{answer: says(finished())}
	talk(t, s, nil, func(c *chat) {
		c.press("a", "shift+enter", "b", "alt+enter", "c", "ctrl+j", "d", "enter")
		s.asks(t, 1, gateway.Question{Text: "a\nb\nc\nd"})
	})
}

func TestLostConnectionDoublesNothing(t *testing.T) {
	s := &script{answer: func(_ context.Context, _ gateway.Question, say func(gateway.Piece)) error {
		say(gateway.Started{})
		say(gateway.Progress("$ one"))
		say(gateway.Text("the first ha"))
		time.Sleep(time.Second)
		say(gateway.Lost{Attempt: 2, Err: errors.New("eof")})
		time.Sleep(time.Second)
		say(gateway.Started{})
		say(gateway.Progress("$ one"))
		say(gateway.Text("the first half and the second"))
		say(finished())
		return nil
	}}
	talk(t, s, nil, func(c *chat) {
		c.ask("go")
		c.wait(1500 * time.Millisecond)
		c.sees("connection lost, reconnecting (attempt 2)", "the first ha", "◌ reconnecting")
		c.wait(2 * time.Second)
		c.sees("the first half and the second", "✓ 1 action")
		if n := strings.Count(c.screen(), "the first"); n != 1 {
			t.Errorf("the answer is there %d times:\n%s", n, c.screen())
		}
	})
}

func TestEscStopsAndKeepsWhatCame(t *testing.T) {
	var ended error
	s := &script{answer: func(ctx context.Context, _ gateway.Question, say func(gateway.Piece)) error {
		say(gateway.Started{})
		say(gateway.Text("half an answer"))
		<-ctx.Done()
		ended = ctx.Err()
		return ctx.Err()
	}}
	talk(t, s, nil, func(c *chat) {
		c.ask("go")
		c.wait(2 * time.Second)
		c.press("next", "esc")
		c.sees("half an answer", "■ stopped after 2.", "› next")
		c.settle()
		if !errors.Is(ended, context.Canceled) {
			t.Errorf("the question ended with %v", ended)
		}
	})
}

func TestCtrlCStopsThenLeaves(t *testing.T) {
	talk(t, &script{answer: hangs(gateway.Started{})}, nil, func(c *chat) {
		c.ask("go")
		c.press("ctrl+c")
		if c.quit || c.chat.Turn != nil {
			t.Fatalf("quit %v, turn %v", c.quit, c.chat.Turn)
		}
		c.press("ctrl+c")
		c.sees("Ctrl+C again quits")
		c.wait(6 * time.Second)
		c.press("ctrl+c")
		if c.quit {
			t.Fatal("a Ctrl+C long after the other leaves")
		}
		c.press("ctrl+c")
		if !c.quit {
			t.Error("two do not leave")
		}
	})
}

func TestFailureSaysWhatAndNextAndRRetries(t *testing.T) {
	s := &script{answer: fails(&gateway.Error{Kind: gateway.Failed, Message: "the provider refused the key of work"}, gateway.Started{}, gateway.Text("I begin"))}
	talk(t, s, nil, func(c *chat) {
		c.ask("go")
		c.sees("I begin", "✗ The provider refused the key of work", "Press r to send it again")
		s.answer = says(gateway.Started{}, gateway.Text("now it works"), finished())
		c.press("r")
		c.wait(400 * time.Millisecond)
		c.sees("now it works")
		s.asks(t, 2, gateway.Question{Text: "go"})
		s.joins(t, false)
	})
}

func TestLettersOfAWordAreNoKeys(t *testing.T) {
	s := &script{answer: fails(&gateway.Error{Message: "x"}, gateway.Started{})}
	talk(t, s, nil, func(c *chat) {
		c.ask("go")
		c.press("run it")
		if got := c.input.Value(); got != "run it" || len(s.asked) != 1 {
			t.Errorf("the input is %q, asked %d times", got, len(s.asked))
		}
		c.press("ctrl+u", "r", "backspace")
		if got := c.input.Value(); got != "" || len(s.asked) != 1 {
			t.Errorf("after a backspace the input is %q, asked %d times", got, len(s.asked))
		}
		c.press("?", "what")
		if got := c.input.Value(); got != "?what" || c.open != nil {
			t.Errorf("the input is %q", got)
		}
	})
}

func TestWhatWaitsIsDecidedByAKey(t *testing.T) {
	t.Parallel()
	notice := "Confirm this action? of:\n\n- $ rm -rf build\n\nAnswer \"yes\" to let it go on."
	for _, tc := range []struct {
		key, want string
		decision  gateway.Decision
	}{{"y", "yes", gateway.Accept}, {"n", "no", gateway.Reject}} {
		t.Run(tc.want, func(t *testing.T) {
			s := &script{answer: says(gateway.Started{Conversation: "c1"}, gateway.Text("I must clean up.\n\n"+notice),
				gateway.Done{RunStatus: "waiting_for_confirmation", Notice: notice})}
			talk(t, s, nil, func(c *chat) {
				c.ask("go")
				c.sees("Confirm this action?", "$ rm -rf build", "y yes, once", "n no", "I must clean up.")
				c.misses("Answer \"yes\"")
				s.answer = says(gateway.Started{}, finished())
				c.press(tc.key)
				s.asks(t, 1, gateway.Question{})
				c.wait(800 * time.Millisecond)
				s.asks(t, 2, gateway.Question{Text: tc.want, Decision: tc.decision, Conversation: "c1"})
				c.misses("y yes, once")
			})
		})
	}
}

func TestTypedYesWithEnterIsAccepted(t *testing.T) {
	s := &script{answer: says(gateway.Started{}, gateway.Done{RunStatus: "waiting_for_confirmation", Notice: "- $ make"})}
	talk(t, s, nil, func(c *chat) {
		c.ask("go")
		c.press("y", "enter")
		s.asks(t, 2, gateway.Question{Text: "yes"})
		c.wait(time.Second)
		c.press("you stop", "enter")
		if len(s.asked) != 3 || s.asked[2].Text != "you stop" || s.asked[2].Decision != "" {
			t.Errorf("asked %+v", s.asked)
		}
	})
}

func TestUnreachableGatewayIsFoundByItself(t *testing.T) {
	down := true
	s := &script{answer: says(gateway.Started{}, gateway.Text("hello"), finished())}
	s.models = func(context.Context) ([]gateway.Model, error) {
		if down {
			return nil, &gateway.Error{Kind: gateway.Unreachable, Message: "connection refused"}
		}
		return []gateway.Model{{ID: "openhands"}}, nil
	}
	talk(t, s, nil, func(c *chat) {
		c.sees("Nothing answers at 127.0.0.1:6449", "ohgw serve", "○ unreachable")
		c.press("my text", "enter")
		c.sees("› my text", "not sent: there is no model yet")
		down = false
		c.wait(20 * time.Second)
		c.sees("● ready", "› my text")
		c.misses("Nothing answers")
		c.press("enter")
		c.wait(time.Second)
		c.sees("hello")
	})
}

func TestQuestionLostToADeadGatewayIsAskedAgainWithItsKey(t *testing.T) {
	down := false
	s := &script{}
	s.models = func(context.Context) ([]gateway.Model, error) {
		if down {
			return nil, &gateway.Error{Kind: gateway.Unreachable, Message: "connection refused"}
		}
		return []gateway.Model{{ID: "openhands"}}, nil
	}
	s.answer = fails(&gateway.Error{Kind: gateway.Unreachable, Message: "connection reset"}, gateway.Started{}, gateway.Text("half"))
	talk(t, s, nil, func(c *chat) {
		down = true
		c.ask("go")
		c.sees("✗ Connection reset", "never runs twice", "○ unreachable")
		s.answer = says(gateway.Started{Replayed: true}, gateway.Text("half and half"), finished())
		down = false
		c.wait(20 * time.Second)
		c.sees("half and half", "● ready")
		s.asks(t, 2, gateway.Question{})
		s.joins(t, true)
	})
}

func TestWrongKeyAndNoModelsSayWhatHelps(t *testing.T) {
	var list []gateway.Model
	err := error(&gateway.Error{Kind: gateway.Locked, Message: "the key is unknown"})
	s := &script{models: func(context.Context) ([]gateway.Model, error) { return list, err }}
	talk(t, s, nil, func(c *chat) {
		c.sees("The key was rejected", "The key is unknown", "ohgw tokens create chat", "○ key rejected")
		err = nil
		c.press("r")
		c.wait(400 * time.Millisecond)
		c.sees("No model yet", "ohgw profiles add NAME", "ohgw doctor", "○ no models")
		list = []gateway.Model{{ID: "fresh"}}
		c.wait(15 * time.Second)
		c.sees("● ready", "fresh")
	})
}

func TestPlaceInTheQueueIsShown(t *testing.T) {
	talk(t, &script{answer: hangs(gateway.Started{}, gateway.Waiting{Queue: 3})}, nil, func(c *chat) {
		c.ask("go")
		c.sees("waiting in the queue, 3 questions before this one")
	})
}

func TestSilenceIsExplainedAfterFiveSeconds(t *testing.T) {
	s := &script{answer: hangs()}
	s.models = func(ctx context.Context) ([]gateway.Model, error) {
		select {
		case <-ctx.Done():
		case <-time.After(8 * time.Second):
		}
		return []gateway.Model{{ID: "m"}}, ctx.Err()
	}
	talk(t, s, nil, func(c *chat) {
		c.misses("waiting for")
		c.wait(6 * time.Second)
		c.sees("waiting for 127.0.0.1:6449 to list its models")
		c.wait(3 * time.Second)
		c.ask("go")
		c.misses("waiting for")
		c.wait(5 * time.Second)
		c.sees("waiting for 127.0.0.1:6449 to accept the question", "Esc stops")
	})
}

func TestQuestionsWrittenDuringARunWaitAndComeBackWhenItStops(t *testing.T) {
	release := make(chan struct{})
	s := &script{answer: func(ctx context.Context, _ gateway.Question, say func(gateway.Piece)) error {
		say(gateway.Started{})
		select {
		case <-release:
			say(finished())
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	talk(t, s, nil, func(c *chat) {
		release = make(chan struct{})
		c.ask("one")
		c.ask("two")
		c.ask("three")
		c.sees("then: two", "then: three")
		s.asks(t, 1, gateway.Question{})
		release <- struct{}{}
		c.wait(time.Second)
		s.asks(t, 2, gateway.Question{Text: "two"})
		c.press("four", "esc")
		if got := c.input.Value(); got != "three\nfour" {
			t.Errorf("the input is %q", got)
		}
	})
}

func TestQuestionsThatWaitComeBackWhenTheRunFails(t *testing.T) {
	s := &script{answer: func(_ context.Context, _ gateway.Question, say func(gateway.Piece)) error {
		say(gateway.Started{})
		time.Sleep(time.Second)
		return &gateway.Error{Kind: gateway.Failed, Message: "it broke"}
	}}
	talk(t, s, nil, func(c *chat) {
		c.ask("one")
		c.ask("two")
		c.wait(2 * time.Second)
		c.sees("It broke", "› two")
		s.asks(t, 1, gateway.Question{})
	})
}

func TestAnswersCannotCommandTheTerminal(t *testing.T) {
	evil := "a\x1b[2Jb\x1b]52;c;ZXZpbA==\x07c\u202ed\u009b5ne"
	s := &script{answer: says(gateway.Started{Ignored: []string{"x\x1b[3J"}}, gateway.Progress(evil), gateway.Text(evil),
		gateway.Done{Notice: evil, RunStatus: "paused"})}
	s.models = func(context.Context) ([]gateway.Model, error) {
		return []gateway.Model{{ID: "m" + evil, Description: evil}}, nil
	}
	talk(t, s, func(cfg *Config) { cfg.Place.Notice, cfg.Place.Title = evil, evil }, func(c *chat) {
		c.ask("go")
		for _, keys := range [][]string{nil, {"ctrl+p"}} {
			c.press(keys...)
			v := c.View()
			for _, bad := range []string{"\x1b[2J", "\x1b]52", "\u202e", "\u009b", "\x1b[3J", "\x07c"} {
				if strings.Contains(v.Content, bad) || strings.Contains(v.WindowTitle, bad) {
					t.Errorf("%q reaches the terminal", bad)
				}
			}
		}
		c.sees("abcde")
	})
}

func TestLongPasteIsSentWhole(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", 1<<16)
	s := &script{answer: says(finished())}
	talk(t, s, nil, func(c *chat) {
		c.press("see ")
		c.send(tea.PasteMsg{Content: long})
		c.sees("› see [pasted 1.0 MB]")
		c.press("enter")
		if len(s.asked) != 1 || s.asked[0].Text != "see "+long {
			t.Error("what was pasted is not what was asked")
		}
		c.sees("▌ see [pasted 1.0 MB]")
	})
}

func TestPathsOfPicturesBecomePictures(t *testing.T) {
	s := &script{answer: says(finished())}
	talk(t, s, nil, func(c *chat) {
		c.send(tea.PasteMsg{Content: "'/tmp/a shot.PNG' "})
		c.sees("+ /tmp/a shot.PNG · 120 kB")
		c.send(tea.PasteMsg{Content: "/tmp/missing.png"})
		c.sees("› /tmp/missing.png")
		c.press("ctrl+u", "/image ~/b.jpg", "enter", "what?", "enter")
		if len(s.asked) != 1 || len(s.asked[0].Images) != 2 {
			t.Fatalf("asked %+v", s.asked)
		}
		c.sees("▌ + ~/b.jpg · 120 kB")
		c.send(tea.PasteMsg{Content: "x.gif"})
		c.press("backspace")
		c.misses("+ x.gif")
	})
}
