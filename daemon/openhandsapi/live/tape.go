package live

import (
	"sync"
)

const (
	// maxLag and maxBytes bound what a conversation keeps for the slowest of its sockets,
	// in frames and in bytes.
	maxLag   = 4096
	maxBytes = 64 << 20
	// maxBatch is how many frames a socket writes at once.
	maxBatch = 256
)

// frame is an event as it goes to every socket. The id is empty for one that the log
// does not have.
type frame struct {
	id   string
	seq  int // of the session's socket: the number of an event of the log
	data []byte
}

// tape has the last frames of a conversation. Each socket reads it at its own pace: a
// socket that is too slow misses some frames, and no socket waits for another.
type tape struct {
	lag int // how many frames it keeps

	mu     sync.Mutex
	frames []frame
	first  int // the number of frames[0]
	bytes  int
	more   chan struct{} // closed with the next frame, and at the end
	err    error         // the end
}

func newTape(lag int) *tape { return &tape{lag: lag, more: make(chan struct{})} }

// add appends a frame and forgets the oldest ones.
func (t *tape) add(f frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frames = append(t.frames, f)
	t.bytes += len(f.data)
	drop := 0
	for len(t.frames)-drop > t.lag || t.bytes > maxBytes && len(t.frames)-drop > 1 {
		t.bytes -= len(t.frames[drop].data)
		t.frames[drop].data = nil
		drop++
	}
	t.frames = t.frames[drop:] // append moves it to a new place from time to time
	t.first += drop
	t.wake()
}

// end ends the tape with err for all readers. Only the first error counts.
func (t *tape) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
		t.wake()
	}
}

func (t *tape) wake() {
	close(t.more)
	t.more = make(chan struct{})
}

// position is the number of the next frame.
func (t *tape) position() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.first + len(t.frames)
}

// read appends the frames from a position on to a batch. If there are none, more tells
// when there are; if they are gone, it is errSlow.
func (t *tape) read(from int, batch []frame) (got []frame, more <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch i := from - t.first; {
	case i < 0:
		return nil, nil, errSlow
	case i < len(t.frames):
		return append(batch, t.frames[i:min(len(t.frames), i+maxBatch)]...), nil, nil
	}
	return batch, t.more, t.err
}
