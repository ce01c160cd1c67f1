package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/ohgw/ohgw/internal/bounded"
)

// Run starts a program in a box, passes its output and its errors on to out, and
// waits until it has ended; the end of ctx kills it with its group. p.Files must
// be empty. What the program left in its group may go on for the time of patience
// as long as it holds the output, and is ended then. The error is that of the
// start, ctx's, that of out, or an [ExitError].
func Run(ctx context.Context, box Box, p Program, out io.Writer, patience time.Duration) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	p.Files = []*os.File{nil, w, w}
	running, err := box.Start(ctx, p)
	_ = w.Close()
	if err != nil {
		return err
	}
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(out, r)
		copied <- err
	}()
	stop := context.AfterFunc(ctx, func() { _ = running.Kill() })
	code, err := running.Wait()
	killed := !stop()
	inTime, written := await(copied, patience)
	err = errors.Join(err, running.Kill())
	if !inTime {
		written = finish(r, copied)
	}
	return outcome(ctx, killed, code, err, written)
}

// outcome returns the error of a program that has ended: ctx's where that killed it, its own,
// that of its exit code, or written, that of its output.
func outcome(ctx context.Context, killed bool, code int, err, written error) error {
	switch {
	case killed && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	case code != 0:
		return &ExitError{code}
	}
	return written
}

// maxAnswer bounds what ask returns, in bytes.
const maxAnswer = 1 << 20

// ask runs a program in a box of its own, and returns the beginning of what it prints.
// The end of ctx ends it, with what it started.
func ask(ctx context.Context, box Box, p Program) ([]byte, error) {
	defer func() { _ = box.Close() }()
	out := bounded.Head{Max: maxAnswer}
	err := Run(ctx, box, p, &out, time.Second)
	return out.Bytes(), err
}

// lastWords is how long output is read that a program in another group holds.
const lastWords = time.Second

// finish reads what is left of an output, and then no more.
func finish(r *os.File, copied <-chan error) error {
	inTime, written := await(copied, lastWords)
	if inTime {
		return written
	}
	if r.SetReadDeadline(time.Unix(1, 0)) != nil { // not every system has that for pipes
		_ = r.Close()
	}
	if written = <-copied; errors.Is(written, os.ErrDeadlineExceeded) || errors.Is(written, os.ErrClosed) {
		return nil
	}
	return written
}

func await(copied <-chan error, limit time.Duration) (inTime bool, err error) {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case err = <-copied:
		return true, err
	case <-late.C:
		return false, nil
	}
}
