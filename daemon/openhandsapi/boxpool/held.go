package boxpool

import (
	"errors"
	"sync"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// held is the box of a workspace.
type held struct {
	sandbox.Box

	workspace string
	users     int
	used      int // the number of the newest use

	mu    sync.Mutex
	files map[string]sandbox.Streams // by the directory to which they are confined; "": to no directory
}

// maxConfined is how many directories of one box have access of their own.
const maxConfined = 16

// streams opens the files of the box once, and then returns what is open.
func (h *held) streams(confined string) (sandbox.Streams, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if found := h.files[confined]; found != nil {
		return found, nil
	}
	if len(h.files) > maxConfined {
		return nil, errors.New("too many directories of one workspace are served at the same time")
	}
	dir := confined
	if dir == "" {
		dir = h.workspace
	}
	files, err := sandbox.StreamsOf(h.Box, dir, confined != "")
	if err == nil {
		h.files[confined] = files
	}
	return files, err
}

// Close ends what runs in the box.
func (h *held) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, files := range h.files {
		errs = append(errs, files.Close())
	}
	return errors.Join(append(errs, h.Box.Close())...)
}
