package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// Talk runs a program like [Run], with an input, and with the output and the errors apart: two
// writers, to which it writes at the same time. A program that does not read its input is not
// an error.
func Talk(ctx context.Context, box Box, p Program, input []byte, out, errs io.Writer, patience time.Duration) error {
	var inner, outer [3]*os.File
	defer func() {
		for _, f := range append(inner[:], outer[:]...) {
			if f != nil {
				_ = f.Close()
			}
		}
	}()
	var err error
	if inner[0], outer[0], err = os.Pipe(); err == nil {
		outer[1], inner[1], err = os.Pipe()
	}
	if err == nil {
		outer[2], inner[2], err = os.Pipe()
	}
	if err != nil {
		return err
	}
	p.Files = inner[:]
	running, err := box.Start(ctx, p)
	for i := range inner {
		_ = inner[i].Close()
	}
	if err != nil {
		return err
	}
	var talking sync.WaitGroup
	defer talking.Wait()
	copied := make(chan error, 1)
	talking.Go(func() {
		_, _ = outer[0].Write(input) // it need not read it
		_ = outer[0].Close()
	})
	talking.Go(func() { copied <- copyBoth(outer, out, errs) })
	stop := context.AfterFunc(ctx, func() { _ = running.Kill() })
	code, err := running.Wait()
	killed := !stop()
	_ = outer[0].SetWriteDeadline(time.Unix(1, 0)) // the program reads no more of it
	inTime, written := await(copied, patience)
	err = errors.Join(err, running.Kill())
	if !inTime { // a program in another group holds the output
		_, _ = outer[1].Close(), outer[2].Close()
		written = nil
		<-copied //nolint:errcheck // it was cut off
	}
	return outcome(ctx, killed, code, err, written)
}

// copyBoth copies the output and the errors of a program until both end.
func copyBoth(from [3]*os.File, out, errs io.Writer) error {
	var both sync.WaitGroup
	var outErr, errErr error
	both.Go(func() { _, outErr = io.Copy(out, from[1]) })
	both.Go(func() { _, errErr = io.Copy(errs, from[2]) })
	both.Wait()
	return errors.Join(outErr, errErr)
}
