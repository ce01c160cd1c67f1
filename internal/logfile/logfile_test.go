package logfile_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/logfile"
)

func open(t *testing.T, path string, opts logfile.Options) *logfile.File {
	t.Helper()
	f, err := logfile.Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func write(t *testing.T, f *logfile.File, text string) {
	t.Helper()
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, path, text string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("%s has %q, %v; want %q", filepath.Base(path), got, err, text)
	}
}

func TestALargeLogIsPutAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "serve.log")
	opened := 0
	f := open(t, path, logfile.Options{Max: 8, Keep: 2, Opened: func(*os.File) { opened++ }})
	for i := range 5 {
		write(t, f, fmt.Sprintf("line %d\n", i))
	}
	want(t, path, "line 4\n")
	want(t, path+".1", "line 3\n")
	want(t, path+".2", "line 2\n")
	if _, err := os.Stat(path + ".3"); err == nil {
		t.Error("a third old file is kept")
	}
	if opened != 5 {
		t.Errorf("%d files were opened", opened)
	}
	write(t, f, "a line that is longer than a file may be\n")
	want(t, path, "a line that is longer than a file may be\n")

	// The next process goes on where this one has ended.
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, open(t, path, logfile.Options{}), "more\n")
	want(t, path, "a line that is longer than a file may be\nmore\n")
}

func TestALogIsPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode bits")
	}
	path := filepath.Join(t.TempDir(), "serve.log")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	f := open(t, path, logfile.Options{Max: 1})
	write(t, f, "one\n")
	write(t, f, "two\n")
	for _, p := range []string{path, path + ".1"} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode = %v, error %v", filepath.Base(p), info.Mode(), err)
		}
	}
}

func TestTheLastLinesReachIntoOlderFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "serve.log")
	f := open(t, path, logfile.Options{Max: 8})
	for i := range 3 {
		write(t, f, fmt.Sprintf("%d\n", 2*i))
		write(t, f, fmt.Sprintf("%d ...\n", 2*i+1))
	}
	for n, text := range map[int]string{0: "", 1: "5 ...\n", 2: "4\n5 ...\n", 3: "3 ...\n4\n5 ...\n", 99: "0\n1 ...\n2\n3 ...\n4\n5 ...\n"} {
		if got, err := logfile.Last(path, n); err != nil || string(got) != text {
			t.Errorf("the last %d: %q, %v; want %q", n, got, err, text)
		}
	}
	write(t, f, "no end")
	if got, err := logfile.Last(path, 1); err != nil || string(got) != "no end" {
		t.Errorf("a line without its end: %q, %v", got, err)
	}
	if got, err := logfile.Since(path, 0, 1); err != nil || string(got) != "no end" {
		t.Errorf("since the beginning: %q, %v", got, err)
	}
	if _, err := logfile.Last(filepath.Join(t.TempDir(), "none"), 1); !os.IsNotExist(err) {
		t.Errorf("without a log: %v", err)
	}
}

// buffer is written by one goroutine and read by another.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.more <- struct{}{}:
	default:
	}
	return b.text.Write(p)
}

func (b *buffer) await(t *testing.T, end string) string {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		b.mu.Lock()
		text := b.text.String()
		b.mu.Unlock()
		if strings.HasSuffix(text, end) {
			return text
		}
		select {
		case <-b.more:
		case <-limit:
			t.Fatalf("%q does not come; there is %q", end, text)
		}
	}
}

func TestALogIsFollowedWhenItIsPutAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "serve.log")
	f := open(t, path, logfile.Options{Max: 20, Keep: 3})
	write(t, f, "before\nfirst\n")
	ctx, cancel := context.WithCancel(t.Context())
	b := &buffer{more: make(chan struct{}, 1)}
	var follow sync.WaitGroup
	follow.Go(func() {
		if err := logfile.Follow(ctx, path, 1, b); ctx.Err() == nil {
			t.Errorf("it ended: %v", err)
		}
	})
	b.await(t, "first\n")
	text := "first\n"
	for i := range 4 {
		line := fmt.Sprintf("and line %d\n", i)
		write(t, f, line)
		text += line
		if got := b.await(t, line); got != text {
			t.Errorf("it wrote %q, want %q", got, text)
		}
	}
	cancel()
	follow.Wait()
}
