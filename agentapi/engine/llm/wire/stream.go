package wire

import (
	"errors"
	"fmt"
	"io"

	"github.com/ohgw/ohgw/internal/sse"
)

// MaxWhole bounds an answer that comes as one object, in bytes.
const MaxWhole = maxAnswer

// maxFrame bounds one frame of a stream, in bytes.
const maxFrame = maxAnswer

// Frames reads server-sent events one by one into each, until each says that
// the end mark was there. A stream that ends or breaks before that is ErrCut,
// unless each has already seen that the answer is complete and says so in b.
func Frames(r io.Reader, b *Builder, each func(e sse.Event) (end bool, err error)) error {
	frames := sse.NewReader(r, maxFrame)
	for {
		frame, err := frames.Next()
		switch {
		case errors.Is(err, sse.ErrTooLarge):
			return ErrTooLong
		case err != nil && b.Ended:
			return nil // only what is said behind the answer is missing
		case errors.Is(err, io.EOF):
			return ErrCut
		case err != nil:
			return Broken(err)
		}
		end, err := each(frame)
		if err != nil || end {
			return err
		}
		if err := b.Err(); err != nil {
			return err
		}
	}
}

// Broken wraps ErrCut with its cause.
func Broken(cause error) error { return fmt.Errorf("%w: %w", ErrCut, cause) }
