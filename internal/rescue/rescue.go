// Package rescue makes errors of panics, so that one piece of work that breaks
// ends alone and not with the process. Only the goroutine itself can catch its
// panics: each one that calls code of others calls it through [Do].
package rescue

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"

	"github.com/ohgw/ohgw/internal/redact"
	"github.com/ohgw/ohgw/internal/truncate"
)

// maxText bounds what a panic says, in bytes.
const maxText = 1 << 10

// Panic is a panic that was caught.
type Panic struct {
	text  string
	stack []byte
}

// Error says what the panic said, without anything that looks like a key.
func (p *Panic) Error() string { return "panic: " + p.text }

// Stack is where it came from, as the runtime writes it: it has addresses and
// no texts.
func (p *Panic) Stack() string { return string(p.stack) }

// LogValue has both.
func (p *Panic) LogValue() slog.Value { return slog.StringValue(p.Error() + "\n" + p.Stack()) }

// Do calls f. The error is f's, or a *Panic.
func Do(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Panic{text: text(v), stack: debug.Stack()}
		}
	}()
	return f()
}

// Of is the panic that err comes from; nil: it comes from none.
func Of(err error) *Panic {
	p, _ := errors.AsType[*Panic](err)
	return p
}

// text returns what a panic says. Only the runtime's own messages are known to
// quote no other text; all others go through the filter for keys.
func text(v any) string {
	if err, ok := v.(runtime.Error); ok {
		return err.Error()
	}
	return truncate.Bytes(redact.Text(fmt.Sprint(v)), maxText, "…")
}
