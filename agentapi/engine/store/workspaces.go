package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Workspaces lists the directories in which the conversations below root work. If one
// of them cannot be read, there is an error, and no list: who asks wants to know all.
func Workspaces(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read conversations: %w", err)
	}
	var all []string
	for _, entry := range entries {
		if !isHex(entry.Name()) {
			continue
		}
		file := filepath.Join(root, entry.Name(), stateFile)
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Lstat(filepath.Join(root, entry.Name(), "events")); errors.Is(err, fs.ErrNotExist) {
				continue // It is not a conversation, or was removed meanwhile.
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read conversation: %w", err)
		}
		var state struct {
			Workspace struct {
				Dir string `json:"working_dir"`
			}
		}
		if err := json.Unmarshal(data, &state); err != nil {
			return nil, &DamageError{File: file, Err: err}
		}
		all = append(all, state.Workspace.Dir)
	}
	return all, nil
}
