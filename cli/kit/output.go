package kit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/ohgw/ohgw/internal/plainjson"
)

// ErrReaderGone says that the reader of stdout has gone. It is not reported as a failure.
var ErrReaderGone = errors.New("the reader of the output is gone")

// ExitError ends ohgw with the exit code of a program that it has run. Nothing is
// printed: the program did that.
type ExitError struct{ Code int }

// Error is the code.
func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// Put writes to stdout.
func Put(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	switch {
	case errors.Is(err, syscall.EPIPE):
		return ErrReaderGone
	case err != nil:
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// TimeOrNull is a time in JSON: null for the zero time.
func TimeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// TimeText is t for a table: for people, in their time zone, to the minute.
func (a *App) TimeText(t time.Time) string {
	if a.Stdout.TTY() {
		return t.In(a.Now().Location()).Format("2006-01-02 15:04")
	}
	return t.UTC().Format(time.RFC3339)
}

// PrintJSON writes v as the one document of a command.
func (a *App) PrintJSON(v any) error {
	text, err := plainjson.Indent(v, "", "  ")
	if err == nil {
		_, err = a.Stdout.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// PrintRaw writes a JSON document from outside as the one of a command, indented.
func (a *App) PrintRaw(raw []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(raw), "", "  "); err != nil {
		return fmt.Errorf("print answer: %w", err)
	}
	b.WriteByte('\n')
	return WriteText(a.Stdout, b.String())
}

// Note prints a message that is not data to the user; not with --quiet.
func (a *App) Note(format string, args ...any) {
	if !a.Quiet {
		a.Tell(fmt.Sprintf(format, args...))
	}
}

// slow is how long something may take before the person is told about it.
const slow = time.Second

// TellLate writes a note when something takes long, unless done was called before.
func (a *App) TellLate(text string) (done func()) {
	var mu sync.Mutex
	over := false
	timer := time.AfterFunc(slow, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			a.Note("%s", text)
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		over = true
	}
}

// Detail writes a note for those who want to know more, with --verbose or --debug.
func (a *App) Detail(format string, args ...any) {
	if a.Verbose || a.Debug {
		a.Note(format, args...)
	}
}

// Hint writes a note that is for a person at a terminal only.
func (a *App) Hint(format string, args ...any) {
	if a.Stderr.TTY() && !a.JSON {
		a.Note(format, args...)
	}
}

// WriteText writes a text, with an error that says that it was output.
func WriteText(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// WriteJSONLine writes v on one line.
func WriteJSONLine(w io.Writer, v any) {
	_ = plainjson.Write(w, v) // The output itself failed: the error cannot be shown.
}
