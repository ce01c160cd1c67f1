package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// Run starts a program in a box, passes its output and its errors on to out, and
// waits until it has ended; the end of ctx kills it with its group. p.Files must
// be empty. Of a program that ended, the output of what it left behind is awaited
// for that long. The error is that of the start, ctx's, that of out, or an
// [ExitError].
//
// What the program left in its process group is ended.
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
	var copying sync.WaitGroup
	var written error
	copying.Go(func() { _, written = io.Copy(out, r) })
	stop := context.AfterFunc(ctx, func() { _ = running.Kill() })
	code, err := running.Wait()
	killed := !stop()
	late := time.AfterFunc(patience, func() {
		if r.SetReadDeadline(time.Unix(1, 0)) != nil { // not every system has that for pipes
			_ = r.Close()
		}
	})
	copying.Wait()
	late.Stop()
	err = errors.Join(err, running.Kill())
	switch {
	case killed && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	case code != 0:
		return &ExitError{code}
	case errors.Is(written, os.ErrDeadlineExceeded):
		return nil
	}
	return written
}
