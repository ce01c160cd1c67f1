package moving_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup/moving"
)

// target is an account that conversations are pushed to.
type target struct {
	fail map[string]error // what the next call of a name answers
	lose bool             // the failing call is carried out all the same

	starts int
	there  map[string]bool
	files  map[string]string
	said   []string
	runs   int
	titles []string
}

func newTarget() *target {
	return &target{fail: map[string]error{}, there: map[string]bool{}, files: map[string]string{}}
}

// call carries something out, and says what came of it.
func (a *target) call(name string, do func()) error {
	err := a.fail[name]
	delete(a.fail, name)
	if err == nil || a.lose {
		do()
	}
	return err
}

func (a *target) Get(_ context.Context, id string) (account.Conversation, error) {
	if !a.there[id] {
		return account.Conversation{}, account.ErrNotFound
	}
	return account.Conversation{ID: id}, nil
}

func (a *target) Start(_ context.Context, r account.StartRequest, _ func(account.Progress)) (account.Conversation, error) {
	err := a.call("start", func() { a.starts, a.there[r.ID] = a.starts+1, true })
	return account.Conversation{ID: r.ID}, err
}

func (a *target) Wake(context.Context, string, func(account.Progress)) (account.Runtime, error) {
	return account.Runtime{}, a.call("wake", func() {})
}

func (a *target) Fill(_ context.Context, _ string, archive io.Reader) error {
	if err := a.fail["fill"]; err != nil {
		delete(a.fail, "fill")
		_, _ = io.CopyN(io.Discard, archive, 10) // The connection breaks.
		return err
	}
	z, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	in := tar.NewReader(z)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		a.files[h.Name] = h.Linkname + string(text)
	}
}

func (a *target) Send(_ context.Context, _, text string, _ []string) error {
	return a.call("say", func() { a.said, a.runs = append(a.said, text), a.runs+1 })
}

func (a *target) Note(_ context.Context, _, text string) error {
	return a.call("say", func() { a.said = append(a.said, text) })
}

func (a *target) Events(context.Context, string, account.EventQuery) (account.EventPage, error) {
	var page account.EventPage
	for _, text := range a.said {
		page.Events = append(page.Events, account.Event{Source: "user", Text: text})
	}
	return page, nil
}

func (a *target) Rename(_ context.Context, _, title string) error {
	return a.call("rename", func() { a.titles = append(a.titles, title) })
}

// pushed is a machine with a conversation, and an account.
type pushed struct {
	*world

	to  *target
	now time.Time
}

func newPushed(t *testing.T) *pushed {
	t.Helper()
	w := newWorld(t)
	if _, err := w.pull().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &pushed{w, newTarget(), time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)}
}

func (p *pushed) push(t *testing.T) *moving.Push {
	t.Helper()
	files, err := moving.Scan(t.Context(), p.pull().Workspace, moving.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &moving.Push{
		From: p.engine.Library(), To: p.to, Server: "work", ID: recordedID, Files: files, State: filepath.Join(p.state, "push"),
		Start: account.StartRequest{Title: "A title"}, Now: func() time.Time { return p.now },
		Watch: func(_ string, _ int64, from io.Reader) io.Reader { return from },
	}
}

func TestAPushedConversationHasFilesHistoryAndTitle(t *testing.T) {
	t.Parallel()
	p := newPushed(t)
	push := p.push(t)
	push.Message = "Go on."
	id, err := push.Run(t.Context())
	if err != nil || !p.to.there[id] || p.to.starts != 1 || p.to.runs != 1 {
		t.Fatalf("%q, %v, %d starts, %d runs", id, err, p.to.starts, p.to.runs)
	}
	if p.to.files["sub/a.txt"] != "hi\n" || p.to.files[".git/HEAD"] == "" || p.to.files[".ohgw-history/.gitignore"] != "*\n" {
		t.Errorf("the files are %q", p.to.files)
	}
	for _, want := range []string{"## The user\n\nT: mkdir", "## The agent runs\n\nmkdir", "Done: ok"} {
		if !strings.Contains(p.to.files[moving.HistoryFile], want) || !strings.Contains(p.to.said[0], want) {
			t.Errorf("%q is not in the history %q, or not in the message %q", want, p.to.files[moving.HistoryFile], p.to.said[0])
		}
	}
	if !strings.HasSuffix(p.to.said[0], "\nGo on.") || !cmp.Equal(p.to.titles, []string{"A title"}) {
		t.Errorf("said %q, titles %q", p.to.said, p.to.titles)
	}
	if begun, err := push.Begun(); begun != nil || err != nil {
		t.Errorf("it is remembered as unfinished: %+v, %v", begun, err)
	}
}

func TestWithoutAMessageNothingRuns(t *testing.T) {
	t.Parallel()
	p := newPushed(t)
	push := p.push(t)
	push.Files = nil
	if _, err := push.Run(t.Context()); err != nil || p.to.runs != 0 || len(p.to.said) != 1 || len(p.to.files) != 2 {
		t.Errorf("%v, %d runs, %d messages, files %q", err, p.to.runs, len(p.to.said), p.to.files)
	}
}

// However a push ends, there is one start and one message in the end.
func TestAPushThatBrokeGoesOn(t *testing.T) {
	t.Parallel()
	errBroken := fmt.Errorf("%w: broken", account.ErrUpstream)
	uncertain := fmt.Errorf("%w: broken", account.ErrUncertain)
	for name, c := range map[string]struct {
		step string
		err  error
		lose bool
		wait time.Duration
		left string // the step that is remembered; "": none
	}{
		"start refused":            {step: "start", err: errBroken},
		"start lost, carried out":  {step: "start", err: uncertain, lose: true, left: "start"},
		"start lost":               {step: "start", err: uncertain, wait: 7 * time.Minute, left: "start"},
		"sandbox":                  {step: "wake", err: errBroken, left: "files"},
		"transfer":                 {step: "fill", err: errBroken, left: "files"},
		"message refused":          {step: "say", err: errBroken, left: "files"},
		"message lost, arrived":    {step: "say", err: uncertain, lose: true, left: "say"},
		"message lost, not":        {step: "say", err: uncertain, wait: time.Minute, left: "say"},
		"title":                    {step: "rename", err: errBroken, left: "title"},
		"interrupted in the files": {step: "fill", err: context.Canceled, left: "files"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPushed(t)
			p.to.fail[c.step], p.to.lose = c.err, c.lose
			push := p.push(t)
			push.Message = "Go on."
			_, err := push.Run(t.Context())
			half, unfinished := errors.AsType[*moving.UnfinishedError](err)
			if !errors.Is(err, c.err) || unfinished != (c.left != "") || unfinished && half.Step != c.left {
				t.Fatalf("it ended with %v, %+v", err, half)
			}
			if unfinished {
				if _, err := push.Run(t.Context()); fault.CodeOf(err) != fault.Conflict {
					t.Errorf("a second push without --continue: %v", err)
				}
			}
			p.now, push.Go = p.now.Add(c.wait), unfinished
			if _, err := push.Run(t.Context()); err != nil {
				t.Fatalf("it does not go on: %v", err)
			}
			if p.to.starts != 1 || p.to.runs != 1 || p.to.files["sub/a.txt"] == "" || len(p.to.titles) != 1 {
				t.Errorf("%d starts, %d runs, titles %q, files %q", p.to.starts, p.to.runs, p.to.titles, p.to.files)
			}
		})
	}
}

// A start or a message that may still appear is waited for, not sent again.
func TestWhatMayStillAppearIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"start", "say"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			p := newPushed(t)
			p.to.fail[step] = account.ErrUncertain
			push := p.push(t)
			if _, err := push.Run(t.Context()); !errors.Is(err, account.ErrUncertain) {
				t.Fatal(err)
			}
			starts := p.to.starts
			push.Go = true
			if _, err := push.Run(t.Context()); err == nil || p.to.starts != starts || len(p.to.said) != 0 {
				t.Errorf("%v, %d more starts, %d messages", err, p.to.starts-starts, len(p.to.said))
			}
		})
	}
}

func TestAPushWhoseConversationWasRemovedBeginsAgain(t *testing.T) {
	t.Parallel()
	p := newPushed(t)
	p.to.fail["fill"] = account.ErrUpstream
	push := p.push(t)
	if _, err := push.Run(t.Context()); err == nil {
		t.Fatal("it did not break")
	}
	clear(p.to.there)
	push.Go = true
	if id, err := push.Run(t.Context()); err != nil || p.to.starts != 2 || !p.to.there[id] {
		t.Errorf("%q, %v, %d starts", id, err, p.to.starts)
	}
}

func TestWhatOfAWorkspaceIsSent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links")
	}
	p := newPushed(t)
	dir := p.pull().Workspace
	for name, text := range map[string]string{
		".gitignore": "out/\n*.log\n", "out/big.o": "x", "a.log": "x", "deep/.git/HEAD": "x", ".env": "A=1",
		".git/config": "[remote \"origin\"]\n\turl = https://me:secret-word@example.com/x\n[http]\n\textraheader = Authorization: secret-word\n", "näme": "x",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	large := filepath.Join(dir, "large.bin")
	err := errors.Join(
		os.WriteFile(large, nil, 0o600), os.Truncate(large, moving.MaxFile+1),
		os.Symlink("sub/a.txt", filepath.Join(dir, "inside")), os.Symlink("../../x", filepath.Join(dir, "sub", "outside")), os.Symlink("/etc/passwd", filepath.Join(dir, "absolute")),
	)
	if err != nil {
		t.Fatal(err)
	}
	push := p.push(t)
	got := moving.Files{Ignored: push.Files.Ignored, Large: push.Files.Large, Links: push.Files.Links, Others: push.Files.Others}
	want := moving.Files{Ignored: []string{"a.log", "out/"}, Large: []string{"large.bin"}, Links: []string{"absolute", "sub/outside"}, Others: []string{"deep/.git/"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(moving.Files{}), cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "entries" || p.String() == "dir" }, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
	if _, err := push.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, text := range p.to.files {
		if strings.Contains(text, "secret-word") || strings.HasSuffix(name, "outside") || strings.HasPrefix(name, "out/") {
			t.Errorf("%s was sent: %q", name, text)
		}
	}
	if p.to.files["inside"] != "sub/a.txt" || p.to.files["näme"] != "x" || p.to.files[".env"] == "" || !strings.Contains(p.to.files[".git/config"], "https://example.com/x") {
		t.Errorf("files %q", p.to.files)
	}
}

func TestAFileThatChangesIsNotSent(t *testing.T) {
	t.Parallel()
	p := newPushed(t)
	push := p.push(t)
	if err := os.Remove(filepath.Join(p.pull().Workspace, "sub", "a.txt")); err != nil {
		t.Fatal(err)
	}
	_, err := push.Run(t.Context())
	if _, unfinished := errors.AsType[*moving.UnfinishedError](err); !unfinished || !strings.Contains(err.Error(), "a file of the workspace changed while it was sent: sub/a.txt") {
		t.Errorf("it ended with %v", err)
	}
}
