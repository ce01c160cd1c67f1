package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// Call is what one call of a model has used.
type Call struct {
	UsageID    string           `json:"usage_id"`
	Model      string           `json:"model"`
	ResponseID string           `json:"response_id"`
	At         float64          `json:"timestamp"` // seconds since 1970
	Latency    float64          `json:"latency"`   // in seconds
	Cost       float64          `json:"cost,omitempty"`
	Usage      event.TokenUsage `json:"usage"`
}

// callsFile has a line for each call of a model. OpenHands keeps them in the base state,
// which it rewrites with each step; here the file only grows.
const callsFile = "ohgw_calls.jsonl"

// maxCalls is how much of that file is read, in bytes: the newest calls.
const maxCalls = 16 << 20

// AddCalls appends calls. The last line may be lost or torn if the machine dies.
func (d *Dir) AddCalls(calls []Call) error {
	if len(calls) == 0 {
		return nil
	}
	lines := bytes.NewBufferString("\n") // ends a line that was torn
	for _, c := range calls {
		data, err := plainjson.Marshal(c)
		if err != nil {
			return fmt.Errorf("note a call of the model: %w", err)
		}
		lines.Write(append(data, '\n'))
	}
	return appendTo(filepath.Join(d.path, callsFile), lines.Bytes())
}

func appendTo(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, fileMode)
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("note the calls of the model: %w", err)
	}
	return nil
}

// PeekCalls reads the calls of a conversation that may be open anywhere. A line that
// cannot be read is left out.
func PeekCalls(root, id string) ([]Call, error) {
	data, err := newest(filepath.Join(Path(root, id), callsFile))
	if err != nil {
		return nil, err
	}
	var calls []Call
	for line := range bytes.Lines(data) {
		var c Call
		if json.Unmarshal(line, &c) == nil && c.UsageID != "" {
			calls = append(calls, c)
		}
	}
	return calls, nil
}

// newest reads the end of the file of calls; empty if there is none.
func newest(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the calls of the model: %w", err)
	}
	defer func() { _ = f.Close() }() // it was read
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the calls of the model: %w", err)
	}
	data, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxCalls), maxCalls))
	if err != nil {
		return nil, fmt.Errorf("read the calls of the model: %w", err)
	}
	return data, nil
}

// CopyCalls gives a conversation the calls of another one, before its own.
func CopyCalls(root, from, to string) error {
	data, err := newest(filepath.Join(Path(root, from), callsFile))
	if err != nil || len(data) == 0 {
		return err
	}
	return appendTo(filepath.Join(Path(root, to), callsFile), data)
}
