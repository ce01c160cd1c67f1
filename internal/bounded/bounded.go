// Package bounded keeps the beginning or the end of what a program prints, which may be
// anything and without an end.
package bounded

import (
	"bytes"
	"sync"
)

// Head keeps the beginning of what is written to it. It is written by one goroutine.
type Head struct {
	Max int // bytes

	// Full is called for each write that does not fit. Its error, if it has one, is that
	// of the write. Without it, what does not fit is forgotten, and no write fails.
	Full func() error

	data []byte
}

// Write implements [io.Writer].
func (h *Head) Write(p []byte) (int, error) {
	n := min(len(p), h.Max-len(h.data))
	h.data = append(h.data, p[:n]...)
	if n < len(p) && h.Full != nil {
		if err := h.Full(); err != nil {
			return n, err
		}
	}
	return len(p), nil
}

// Bytes is what was kept.
func (h *Head) Bytes() []byte { return h.data }

// Tail keeps the end of what is written to it. It is safe for concurrent use. The zero
// Tail keeps nothing.
type Tail struct {
	Max int // bytes

	mu   sync.Mutex
	data []byte
}

// Write implements [io.Writer]. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if over := len(t.data) - t.Max; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

// String is what was kept, as a text without the character that was cut and blanks around it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(bytes.ToValidUTF8(t.data, nil)))
}
