package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/gateway"
)

// paper is what a plain chat writes.
type paper struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.Write(b)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}

// onPaper runs a plain chat on the lines of input, one every 30 seconds.
func onPaper(t *testing.T, s *script, change func(*Config), input ...string) string {
	t.Helper()
	var out paper
	synctest.Test(t, func(t *testing.T) {
		in, typed := io.Pipe()
		ids := 0
		cfg := Config{
			Endpoint: s, Now: time.Now, Plain: true, In: in, Out: &out, NewID: func() string { ids++; return strings.Repeat("i", ids) },
			Place: Place{Title: "127.0.0.1:6449"}, Hints: Hints{Unreachable: []string{"ohgw serve"}, Resume: func(id string) string { return "ohgw chat --conversation " + id }},
		}
		if change != nil {
			change(&cfg)
		}
		var typist sync.WaitGroup
		typist.Go(func() {
			for _, line := range input {
				time.Sleep(30 * time.Second)
				_, _ = io.WriteString(typed, line+"\n")
			}
			time.Sleep(30 * time.Second)
			_ = typed.Close()
		})
		if err := Run(t.Context(), cfg); err != nil {
			t.Errorf("Run: %v", err)
		}
		_ = in.Close()
		typist.Wait()
	})
	return out.String()
}

// counts checks how often texts are on the paper.
func counts(t *testing.T, paper string, times map[string]int) {
	t.Helper()
	for text, want := range times {
		if n := strings.Count(paper, text); n != want {
			t.Errorf("%q is written %d times, want %d:\n%s", text, n, want, paper)
		}
	}
}

func TestPlainChatIsReadAloud(t *testing.T) {
	t.Parallel()
	s := &script{answer: says(gateway.Started{}, gateway.Waiting{Queue: 2}, gateway.Progress("$ ls"), gateway.Text("One.\n\nTw"), gateway.Text("o \x1b[31mred."), finished())}
	got := onPaper(t, s, nil, "go on \\", "please", "/quit")
	want := `ohgw chat at 127.0.0.1:6449. Type a question and press Enter; end a line with a backslash to continue on the next. /help lists the commands.
Model: openhands
> Waiting in the queue: 2 before this one.
Working: $ ls
One.

Two red.
Done: 1 action, 0.0 s, 1,834 tokens in, 212 out, $0.01.
> Continue later with: ohgw chat --conversation i
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.asked[0].Text != "go on \nplease" {
		t.Errorf("asked %q", s.asked[0].Text)
	}
}

func TestPlainAnswerThatBeginsAgainIsWrittenOnce(t *testing.T) {
	t.Parallel()
	s := &script{answer: says(gateway.Started{}, gateway.Text("alpha\nbeta\nga"), gateway.Lost{Attempt: 1}, gateway.Started{}, gateway.Text("alpha\n"), gateway.Text("beta\ngamma\n"), finished())}
	got := onPaper(t, s, nil, "go")
	counts(t, got, map[string]int{"alpha": 1, "beta": 1, "gamma": 1, "Connection lost": 1})
}

func TestPlainChatOffersNoModelWithoutAnAgent(t *testing.T) {
	t.Parallel()
	s := &script{answer: says(finished()), models: housekeeper}
	got := onPaper(t, s, nil, "/model", "/model openhands_utility", "go")
	counts(t, got, map[string]int{"Model: openhands\n": 1, "Model: openhands_utility\n": 1, "openhands_utility": 1})
	s.asks(t, 1, gateway.Question{Model: "openhands_utility"})
}

func TestPlainChatSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	calls := 0
	s := &script{answer: func(_ context.Context, _ gateway.Question, say func(gateway.Piece)) error {
		time.Sleep(7 * time.Second)
		say(gateway.Started{})
		return &gateway.Error{Kind: gateway.Failed, Message: "it broke"}
	}}
	s.models = func(context.Context) ([]gateway.Model, error) {
		if calls++; calls < 3 {
			return nil, &gateway.Error{Kind: gateway.Unreachable, Message: "refused"}
		}
		time.Sleep(6 * time.Second)
		return []gateway.Model{{ID: "m"}}, nil
	}
	got := onPaper(t, s, nil, "go", "/retry")
	for _, want := range []string{
		"Nothing answers at 127.0.0.1:6449. Start it (ohgw serve). Trying again automatically.", "Waiting for 127.0.0.1:6449 to list its models.", "Model: m",
		"Waiting for 127.0.0.1:6449.\n", "Error: It broke", "Next: Type /retry to send it again",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not written:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "Nothing answers"); n != 1 {
		t.Errorf("it says %d times that nothing answers", n)
	}
	s.asks(t, 2, gateway.Question{})
	s.joins(t, false)
}

// A gateway gives a sign of life every four seconds, which shows nothing to a person.
func TestPlainChatSaysThatAModelIsAwaited(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first gateway.Piece
		want  []string
	}{
		"a silent one":       {gateway.Waiting{}, []string{"Waiting for the model.\n", "Still waiting for the model, 17 s.\n", "Still waiting for the model, 32 s.\n"}},
		"one that is loaded": {gateway.Phase{Name: "loading"}, []string{"Waiting: loading the model.\n", "Still loading the model, 5.0 s.\n", "Still loading the model, 20 s.\n", "Still loading the model, 35 s.\n"}},
	} {
		s := &script{answer: func(_ context.Context, _ gateway.Question, say func(gateway.Piece)) error {
			say(gateway.Started{})
			say(tt.first)
			for range 10 {
				time.Sleep(4 * time.Second)
				say(gateway.Waiting{})
			}
			say(gateway.Text("Paris."))
			say(finished())
			return nil
		}}
		got := onPaper(t, s, nil, "go")
		for _, want := range tt.want {
			if strings.Count(got, want) != 1 {
				t.Errorf("%s: %q is not there once:\n%s", name, want, got)
			}
		}
		if n := strings.Count(strings.ToLower(got), "the model"); n != len(tt.want) {
			t.Errorf("%s: said %d times what is awaited:\n%s", name, n, got)
		}
	}
}

func TestPlainChatAsksForAYes(t *testing.T) {
	t.Parallel()
	notice := "The agent waits for your confirmation of:\n\n- $ rm -rf build"
	s := &script{answer: says(gateway.Started{}, gateway.Text(notice), gateway.Done{RunStatus: "waiting_for_confirmation", Notice: notice})}
	got := onPaper(t, s, nil, "go", "yes")
	counts(t, got, map[string]int{"- $ rm -rf build": 2, "Type yes, always": 2})
	s.asks(t, 2, gateway.Question{Text: "yes"})
}

func TestCtrlCStopsAPlainAnswer(t *testing.T) {
	t.Parallel()
	var interrupt chan struct{}
	s := &script{answer: func(ctx context.Context, _ gateway.Question, say func(gateway.Piece)) error {
		say(gateway.Started{})
		say(gateway.Text("half"))
		interrupt <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}}
	got := onPaper(t, s, func(cfg *Config) {
		interrupt = make(chan struct{})
		cfg.Interrupt = interrupt
	}, "go")
	if !strings.Contains(got, "half\nStopped after") {
		t.Errorf("written:\n%s", got)
	}
}

func TestPlainCommands(t *testing.T) {
	t.Parallel()
	s := &script{answer: says(gateway.Started{Ignored: []string{"system"}}, gateway.Text("an answer"), finished())}
	var saved, copied string
	got := onPaper(t, s, func(cfg *Config) {
		cfg.Save = func(_ context.Context, path, text string) (string, error) { saved = text; return path, nil }
		cfg.Copy = func(_ context.Context, text string) error { copied = text; return nil }
		cfg.ReadImage = func(_ context.Context, path string) (Image, error) {
			if path == "none" {
				return Image{}, errors.New("there is no such file")
			}
			return Image{Name: path, DataURL: "data:x", Size: 10}, nil
		}
	}, "/model", "/model openhands_work", "/system brief", "/image a.png", "/image none", "go", "/copy", "/save f.md", "/id", "/new", "/resume c-1", "two", "/find x", "/help", "/retry")
	for _, want := range []string{
		"openhands_local: ollama qwen", "Model: openhands_work", "Attached a.png · 10 bytes.", "Picture not attached: there is no such file.", "Ignored here: system",
		"Copied the answer, 9 bytes.", "Saved to f.md.", "New conversation.", "Resumed conversation c-1.", "/find needs a screen.", "/retry: send the last question again",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not written:\n%s", want, got)
		}
	}
	s.asks(t, 3, gateway.Question{Text: "two"})
	if got := s.asked[1].Conversation; got != "c-1" {
		t.Errorf("the second question was asked in %q", got)
	}
	first := s.asked[0]
	if diff := cmp.Diff([]string{"openhands_work", "brief", "data:x"}, append([]string{first.Model, first.System}, first.Images...)); diff != "" {
		t.Errorf("model, system and images of the first question (-want +got):\n%s", diff)
	}
	if copied != "an answer" {
		t.Errorf("copied %q", copied)
	}
	if want := "## You\n\ngo\n\n## openhands_work\n\nan answer\n\n"; saved != want {
		t.Errorf("saved %q, want %q", saved, want)
	}
}

func TestPlainChatEndsWithAWrongKey(t *testing.T) {
	t.Parallel()
	locked := &gateway.Error{Kind: gateway.Locked, Message: "the key is unknown"}
	s := &script{models: func(context.Context) ([]gateway.Model, error) { return nil, locked }}
	err := Run(t.Context(), Config{Endpoint: s, Now: time.Now, NewID: func() string { return "i" }, Plain: true, In: strings.NewReader(""), Out: io.Discard})
	if !errors.Is(err, error(locked)) {
		t.Errorf("Run = %v", err)
	}
}
