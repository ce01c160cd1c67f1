package chats

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
)

// keepFor is how long a chat is remembered after its last message. Its
// conversations stay where they are.
const keepFor = 180 * 24 * time.Hour

// keepTemps is how long a temporary file may be there that was not renamed: its
// process died.
const keepTemps = time.Hour

// recordVersion is the version of the files this package reads and writes.
const recordVersion = 1

// record is a chat on disk.
type record struct {
	Version int `json:"version"`
	// Whole: a request of the chat had a history, so its client sends one.
	Whole    bool      `json:"whole,omitempty"`
	Branches []*branch `json:"branches"`
}

// branch is a conversation of a chat. Chats of UIs are trees: going back to an
// earlier message makes a branch, and the user may return to the old one.
type branch struct {
	Conversation string `json:"conversation_id"`
	// Workspace is where the conversation works; empty while nobody knows.
	Workspace string    `json:"workspace,omitempty"`
	Used      time.Time `json:"used"`
	Turns     []Turn    `json:"turns"`
}

// store is one file for each chat: what is written is small, a crash loses at
// most what was being written, and nothing has to be read when the gateway
// starts. The name of a file is the chat's key.
type store struct{ dir string }

func (s store) path(key string) string { return filepath.Join(s.dir, key[:2], key+".json") }

// load reads a chat; an unknown one is empty. A file that cannot be read is as
// good as none: the chat begins anew, with what its transcript shows.
func (s store) load(key string) (record, error) {
	if s.dir == "" {
		return record{}, nil
	}
	data, err := os.ReadFile(s.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("read chat: %w", err)
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil || r.Version != recordVersion {
		return record{}, fmt.Errorf("read chat %s: not a chat of this version", key[:8])
	}
	return r, nil
}

// save writes what of a chat is certain.
func (s store) save(key string, r record) error {
	if s.dir == "" {
		return nil
	}
	kept := record{Version: recordVersion, Whole: r.Whole}
	for _, b := range r.Branches {
		certain := *b
		certain.Turns = make([]Turn, 0, len(b.Turns))
		for _, t := range b.Turns {
			if !t.waits {
				certain.Turns = append(certain.Turns, t)
			}
		}
		kept.Branches = append(kept.Branches, &certain)
	}
	data, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("encode chat: %w", err)
	}
	path := s.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make directory of chats: %w", err)
	}
	return atomicfile.Write(path, data, atomicfile.Options{})
}

// sweep forgets chats that nobody has used for long.
func (s store) sweep(now time.Time, stop func() bool) error {
	shards, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list chats: %w", err)
	}
	for _, shard := range shards {
		if stop() {
			return nil
		}
		dir := filepath.Join(s.dir, shard.Name())
		files, err := os.ReadDir(dir)
		if err != nil {
			continue // not a directory, or gone
		}
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				continue // gone
			}
			age := now.Sub(info.ModTime())
			cutOff := atomicfile.IsTemp(f.Name()) && age >= keepTemps
			if !cutOff && (!strings.HasSuffix(f.Name(), ".json") || age < keepFor) {
				continue
			}
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
				return fmt.Errorf("forget chat: %w", err)
			}
		}
	}
	return nil
}
