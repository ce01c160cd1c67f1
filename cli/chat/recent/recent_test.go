package recent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/tui"
)

func TestRecentConversationsAreTheLatestFirst(t *testing.T) {
	t.Parallel()
	r := &File{path: filepath.Join(t.TempDir(), "chat", "recent.jsonl")}
	if list, err := r.List(t.Context()); err != nil || list != nil {
		t.Errorf("without a file: %v, %v", list, err)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var want []tui.Conversation
	for i := range maxRecent + 5 {
		c := tui.Conversation{ID: uuid.New(), Model: "m", Title: fmt.Sprint("question ", i), Place: "here", Turns: 1, Used: now.Add(time.Duration(i) * time.Minute)}
		if err := r.Remember(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		want = append([]tui.Conversation{c}, want...)
	}
	again := want[3]
	again.Turns, again.Used = 2, now.Add(24*time.Hour)
	if err := r.Remember(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	want = append([]tui.Conversation{again}, slices.Delete(want, 3, 4)...)[:maxRecent]
	got, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(r.path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestAConversationKeepsWhatItBeganWith(t *testing.T) {
	t.Parallel()
	r := &File{path: filepath.Join(t.TempDir(), "recent.jsonl")}
	id := uuid.New()
	for i, title := range []string{"", "first", "second"} {
		c := tui.Conversation{ID: id, Model: "m" + title, Title: title, Turns: 1, Used: time.Unix(int64(i), 0).UTC()}
		if err := r.Remember(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	got, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []tui.Conversation{{ID: id, Model: "msecond", Title: "first", Turns: 3, Used: time.Unix(2, 0).UTC()}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRecentConversationsSurviveWhatIsNotTheirs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "recent.jsonl")
	const known = `{"id":"0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e","title":"known","turns":1,"used":"2026-11-21T12:00:00Z"}`
	if err := os.WriteFile(path, []byte("\x00\xff\n{}\n[1]\n"+known+"\n{\"id\":\"x\"}\n{\"id\":"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &File{path: path}
	if list, err := r.List(t.Context()); err != nil || len(list) != 1 || list[0].Title != "known" {
		t.Errorf("list = %+v, error %v", list, err)
	}
	long := tui.Conversation{ID: uuid.New(), Title: "\x1b[2Ja\nb" + strings.Repeat("é", maxTitle), Used: time.Unix(1, 0)}
	if err := r.Remember(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	list, err := r.List(t.Context())
	if err != nil || len(list) != 2 || len(list[1].Title) > maxTitle || !strings.HasPrefix(list[1].Title, "[2Ja bé") || !strings.HasSuffix(list[1].Title, "é") {
		t.Errorf("list = %+v, error %v", list, err)
	}
}

func TestSeveralChatsRememberAtTheSameTime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "recent.jsonl")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { // each as another process would: with a file of its own
			r := &File{path: path}
			if err := r.Remember(context.Background(), tui.Conversation{ID: uuid.New(), Used: time.Unix(1, 0)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := (&File{path: path}).List(t.Context()); err != nil || len(list) != 20 {
		t.Errorf("%d remembered, %v", len(list), err)
	}
}
