package keyboard

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// escTime is how long a lone Esc may be the beginning of something else.
	escTime = 50 * time.Millisecond
	// answerTime is the same while answers of the terminal are due, dueTime after
	// the start: a slow line may tear them anywhere.
	answerTime = 500 * time.Millisecond
	dueTime    = 10 * time.Second
	// pieceTime is how long the next piece of a sequence may take.
	pieceTime = 3 * time.Second
	// burstTime is how long the next piece of a paste may take.
	burstTime = 50 * time.Millisecond
	// fullRead is what Bubble Tea's buffer has room for: more follows.
	fullRead = 2048
)

// Reader reads what a terminal sends. A sequence comes out of it as a whole or not
// at all, so that a torn answer is neither text nor key. Several lines that come
// at once are a paste.
type Reader struct {
	in  io.Reader
	now func() time.Time

	mu      sync.Mutex
	send    func(tea.Msg)
	began   time.Time
	out     []byte    // for the next Read
	held    []byte    // the beginning of a sequence
	heldAt  time.Time // when its last byte came
	told    bool      // its Esc was sent as a key
	escAt   time.Time // when an Esc was sent as a key
	reports []span    // where out has what is neither text nor key, of the last chunk
	pasting bool      // between brackets
	burst   []byte    // a paste without brackets
	timer   *time.Timer
	turn    int // of the timer
	closed  bool
	wait    sync.WaitGroup // for timers
}

// span is a part of the bytes that go out.
type span struct{ begin, end int }

// NewReader returns what a program should read in the place of in.
func NewReader(in io.Reader, now func() time.Time) *Reader { return &Reader{in: in, now: now} }

// Input is the reader for Bubble Tea, which asks a terminal for more than to read.
func (r *Reader) Input() io.Reader {
	if file, ok := r.in.(*os.File); ok {
		return terminal{file, r}
	}
	return r
}

// terminal is a terminal that is read through a Reader.
type terminal struct {
	*os.File
	reader *Reader
}

func (t terminal) Read(p []byte) (int, error) { return t.reader.Read(p) }

// Bare is the terminal behind an Input, for another program.
func Bare(in io.Reader) io.Reader {
	if t, ok := in.(terminal); ok {
		return t.File
	}
	return in
}

// Start says where messages go that no byte brings: an Esc that is alone, a paste
// without brackets, and the end of the terminal.
func (r *Reader) Start(send func(tea.Msg)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.send, r.began = send, r.now()
}

// Close ends the timers. Nothing may read any more.
func (r *Reader) Close() {
	r.mu.Lock()
	r.closed = true
	r.stop()
	r.mu.Unlock()
	r.wait.Wait()
}

// Read implements [io.Reader]. It may return nothing, and no error.
func (r *Reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	kept := len(r.out)
	r.mu.Unlock()
	if kept == 0 {
		room := max(len(p)/2, 1) // What was held back comes with it.
		n, err := r.in.Read(p[:room])
		r.take(p[:n])
		if err != nil && n == 0 {
			r.gone()
			return 0, io.EOF
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// gone ends the program with its terminal.
func (r *Reader) gone() {
	r.mu.Lock()
	send := r.send
	r.mu.Unlock()
	if send != nil {
		send(tea.QuitMsg{})
	}
}

// take takes in what was read.
func (r *Reader) take(chunk []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(chunk) == 0 {
		return
	}
	defer r.arm()
	r.stop()
	inside, begin := r.pasting, len(r.out)
	r.reports = r.reports[:0]
	if !inside { // The end of a paste may be as late as it likes.
		r.resume(chunk)
	}
	for _, b := range chunk {
		r.step(b)
	}
	r.heldAt = r.now()
	text, reports := r.parts(begin)
	if inside || !r.bursts(text, len(chunk) >= fullRead) {
		r.unburst()
		return
	}
	r.burst = append(r.burst, text...)
	r.out = append(r.out[:begin], reports...)
}

// parts are what a chunk brought from begin on: what was written, and what the
// terminal reports between it.
func (r *Reader) parts(begin int) (text, reports []byte) {
	for _, at := range r.reports {
		text = append(text, r.out[begin:at.begin]...)
		reports = append(reports, r.out[at.begin:at.end]...)
		begin = at.end
	}
	return append(text, r.out[begin:]...), reports
}

// bursts reports whether a text is a paste without brackets, or continues one. follows is
// whether it has more than one read brings.
func (r *Reader) bursts(text []byte, follows bool) bool {
	switch {
	case bytes.ContainsFunc(text, isKey):
		return false
	case len(r.burst) > 0:
		return true
	case follows:
		return len(text) > 0
	}
	first := bytes.TrimLeft(text, "\r\n")
	end := bytes.IndexAny(first, "\r\n")
	return end > 0 && len(bytes.TrimSpace(first[end:])) > 0
}

// isKey reports whether a character comes from a key alone, not from a text.
func isKey(c rune) bool { return c < ' ' && c != '\t' && c != '\r' && c != '\n' || c == 0x7f }

// unburst sends a paste that something else follows.
func (r *Reader) unburst() {
	if text := r.burst; len(text) > 0 && r.send != nil {
		r.burst = nil
		r.send(tea.PasteMsg{Content: string(text)})
	}
}

// resume prepares for a chunk: it may continue a sequence that is late, or whose Esc was
// taken for a key.
func (r *Reader) resume(chunk []byte) {
	now := r.now()
	if len(r.held) == 1 && now.Sub(r.heldAt) > escTime && bytes.IndexByte([]byte("[]P_"), chunk[0]) < 0 {
		// It waited only because answers are due. This is how a key is spelled.
		r.out, r.held = append(r.out, "\x1b[27u"...), nil
	}
	if len(r.held) == 0 && !r.escAt.IsZero() && now.Sub(r.escAt) < pieceTime {
		due := now.Sub(r.began) < dueTime && bytes.IndexByte([]byte("[]P_"), chunk[0]) >= 0
		if due || isRest(chunk) {
			r.held, r.told, r.heldAt = []byte{esc}, true, now
		}
	}
	r.escAt = time.Time{}
	if len(r.held) > 0 && now.Sub(r.heldAt) > pieceTime && !r.completes(chunk) {
		if r.told && len(r.held) < 4 {
			r.out = append(r.out, r.held[1:]...)
		}
		r.held, r.told = nil, false
	}
}

// completes reports whether a late chunk is the rest of what is held back.
func (r *Reader) completes(chunk []byte) bool {
	if len(r.held) < 3 || len(chunk) < 2 && chunk[0] >= ' ' {
		return false
	}
	held := bytes.Clone(r.held)
	for _, b := range chunk {
		switch next(held, b) {
		case goesOn:
			held = append(held, b)
		case complete:
			return true
		case typed, torn:
			return false
		}
	}
	return false
}

var pasteBegins, pasteEnds = []byte("\x1b[200~"), []byte("\x1b[201~")

// step takes in a byte.
func (r *Reader) step(b byte) {
	switch {
	case r.pasting:
		r.pasted(b)
		return
	case len(r.held) == 0 && b == esc:
		r.held = append(r.held, b)
		return
	case len(r.held) == 0:
		r.out = append(r.out, b)
		return
	}
	held := r.held
	switch next(held, b) {
	case goesOn:
		r.held = append(held, b)
	case complete:
		r.held, r.told = nil, false
		begin := len(r.out)
		r.out = append(append(r.out, held...), b)
		if isReport(r.out[begin:]) {
			r.reports = append(r.reports, span{begin, len(r.out)})
		}
		r.pasting = bytes.Equal(append(held, b), pasteBegins)
	case typed:
		if r.told {
			held = held[1:]
		}
		r.held, r.told = nil, false
		r.out = append(r.out, held...)
		r.step(b)
	case torn:
		again := held[len(held)-1] == esc
		r.held, r.told = nil, false
		if again {
			r.step(esc)
		}
		r.step(b)
	}
}

// pasted takes in a byte of a paste between brackets. Its end may be torn, and so may
// an answer in the middle of it: Bubble Tea leaves that out if it is whole.
func (r *Reader) pasted(b byte) {
	held := append(r.held, b)
	switch {
	case bytes.Equal(held, pasteEnds):
		r.out, r.held, r.pasting = append(r.out, held...), nil, false
		return
	case len(held) == 1 && b == esc, bytes.HasPrefix(pasteEnds, held):
		r.held = held
		return
	}
	before := held[:len(held)-1]
	goes := torn
	if len(before) > 0 && mayAnswer(held[1:]) {
		goes = next(before, b)
	}
	switch {
	case goes == goesOn:
		r.held = held
	case goes == complete:
		r.out, r.held = append(r.out, held...), nil
	case len(before) > 1 && before[len(before)-1] == esc: // of the end, perhaps
		r.out, r.held = append(r.out, before[:len(before)-1]...), []byte{esc}
		r.pasted(b)
	case b == esc:
		r.out, r.held = append(r.out, before...), []byte{esc}
	default:
		r.out, r.held = append(r.out, held...), nil
	}
}
