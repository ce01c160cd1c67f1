package file_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/file"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// Agents that share a workspace edit one file at the same time, by any of its names and
// with both tools: each edit that was reported is in the file.
func TestEditsOfSeveralAgentsAreAllKept(t *testing.T) {
	t.Parallel()
	const agents, edits = 6, 10
	dir := t.TempDir()
	var lines []string
	for i := range agents * edits {
		lines = append(lines, fmt.Sprintf("line %d.", i))
	}
	path := filepath.Join(dir, "f.txt")
	write(t, path, strings.Join(lines, "\n")+"\n")
	if err := os.Symlink("f.txt", filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	names := []string{"f.txt", "link.txt"}
	var wg sync.WaitGroup
	for agent := range agents {
		wg.Go(func() {
			e, p := editor(t, file.Config{Dir: dir}), patcher(t, dir, nil)
			for i := range edits {
				old, name := fmt.Sprintf("line %d.", agent*edits+i), names[(agent+i)%len(names)]
				switch agent % 3 {
				case 0:
					done := apply(t, p, "*** Update File: "+name+"\n@@\n-"+old+"\n+"+old+" changed")
					if done.IsError {
						t.Errorf("text = %s", done.Text)
					}
				case 1:
					s := run(t, e, map[string]any{"command": "str_replace", "path": filepath.Join(dir, name), "old_str": old + "\n", "new_str": old + " changed\n"})
					if s.IsError {
						t.Errorf("text = %s", s.Text)
					}
				case 2:
					s := run(t, e, map[string]any{"command": "insert", "path": filepath.Join(dir, name), "insert_line": 0, "new_str": old + " changed"})
					if s.IsError {
						t.Errorf("text = %s", s.Text)
					}
				}
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), " changed\n"); n != agents*edits {
		t.Errorf("%d edits are in the file, and %d were reported", n, agents*edits)
	}
}

// between changes a file as a program does, once it was read.
type between struct {
	sandbox.Streams
	once   *sync.Once
	change func()
}

func (b between) Read(real string, limit int64) ([]byte, fs.FileInfo, error) {
	data, info, err := b.Streams.Read(real, limit)
	b.once.Do(b.change)
	return data, info, err
}

func TestAFileThatAProgramChangedMeanwhileIsNotReplaced(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(t *testing.T, dir string, files sandbox.Streams) (bool, string){
		"str_replace": func(t *testing.T, dir string, files sandbox.Streams) (bool, string) {
			s := run(t, editor(t, file.Config{Dir: dir, Files: files}), map[string]any{"command": "str_replace", "path": filepath.Join(dir, "f.txt"), "old_str": "one", "new_str": "1"})
			return s.IsError, s.Text
		},
		"insert": func(t *testing.T, dir string, files sandbox.Streams) (bool, string) {
			s := run(t, editor(t, file.Config{Dir: dir, Files: files}), map[string]any{"command": "insert", "path": filepath.Join(dir, "f.txt"), "insert_line": 1, "new_str": "1"})
			return s.IsError, s.Text
		},
		"a patch": func(t *testing.T, dir string, files sandbox.Streams) (bool, string) {
			done := apply(t, patcher(t, dir, files), "*** Update File: f.txt\n@@\n-one\n+1")
			return done.IsError, done.Text
		},
		"a patch that deletes": func(t *testing.T, dir string, files sandbox.Streams) (bool, string) {
			done := apply(t, patcher(t, dir, files), "*** Delete File: f.txt")
			return done.IsError, done.Text
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "f.txt")
			write(t, path, "one\ntwo\n")
			own, ok := sandbox.Unconfined().(sandbox.Streams)
			if !ok {
				t.Fatal("no streams")
			}
			files := between{own, new(sync.Once), func() { write(t, path, "one\n2\n") }} // as long as before
			if refused, text := edit(t, dir, files); !refused || !strings.Contains(text, "another program has changed") {
				t.Errorf("the edit was refused: %v: %s", refused, text)
			}
			if data, err := os.ReadFile(path); err != nil || string(data) != "one\n2\n" {
				t.Errorf("the file has %q, %v", data, err)
			}
		})
	}
}

// hanging is a file system that does not answer.
type hanging struct {
	sandbox.Streams
	gate chan struct{}
}

func (h hanging) Replace(string, []byte, fs.FileInfo) error {
	<-h.gate
	return nil
}

func TestWhoWaitsForAFileCanBeStopped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f.txt"), "one\n")
	args, err := json.Marshal(map[string]any{"command": "str_replace", "path": filepath.Join(dir, "f.txt"), "old_str": "one", "new_str": "1"})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		own, ok := sandbox.Unconfined().(sandbox.Streams)
		if !ok {
			t.Fatal("no streams")
		}
		gate := make(chan struct{})
		first := editor(t, file.Config{Dir: dir, Files: hanging{own, gate}})
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = first.Run(t.Context(), tool.Call{Args: args}) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := editor(t, file.Config{Dir: dir}).Run(ctx, tool.Call{Args: args}); err == nil || ctx.Err() == nil {
			t.Errorf("the second edit ended with %v", err)
		}
		close(gate)
		wg.Wait()
	})
}
