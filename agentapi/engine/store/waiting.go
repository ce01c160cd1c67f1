package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// waitingFile has the messages that were accepted and are not in the log yet. It is
// ohgw's own: OpenHands does not read it.
const waitingFile = "ohgw-waiting.json"

// Waiting is a message that was accepted while a step of a run went on, and goes into
// the log when the step is over.
type Waiting struct {
	ID      string          `json:"id"` // of its event
	Content []event.Content `json:"content"`
	Sender  string          `json:"sender,omitempty"`
}

// SaveWaiting stores the messages that wait, in their order. With sync they are on the
// disk when it returns.
func (d *Dir) SaveWaiting(list []Waiting, sync bool) error {
	data, err := plainjson.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode the messages that wait: %w", err)
	}
	if err := d.opts.Files.Write(filepath.Join(d.path, waitingFile), data, sync); err != nil {
		return fmt.Errorf("write the messages that wait: %w", err)
	}
	return nil
}

// Waiting reads the messages that wait and are not in the log. A process that died may
// have written one into the log and not taken it from the list.
func (d *Dir) Waiting() ([]Waiting, error) {
	data, err := os.ReadFile(filepath.Join(d.path, waitingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the messages that wait: %w", err)
	}
	var all, left []Waiting
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, &DamageError{File: waitingFile, Err: err}
	}
	for _, w := range all {
		if !d.Has(w.ID) {
			left = append(left, w)
		}
	}
	return left, nil
}
