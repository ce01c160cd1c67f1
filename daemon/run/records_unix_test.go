//go:build unix

package run_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/daemon/run"
)

// A pipe in the place of a record stands for a disk that does not answer:
// neither the start nor any other request waits for it.
func TestNobodyWaitsForTheRecordOfAnother(t *testing.T) {
	t.Parallel()
	cfg := run.Config{StateDir: t.TempDir()}
	w := &world{t: t, b: newBackend()}
	w.start(cfg)
	a := w.submit(keyed("hi"))
	w.mustRead(a)
	a.Close()
	w.stop()
	pipe := theRecord(t, cfg)
	if err := errors.Join(os.Remove(pipe), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(filepath.Dir(pipe), "00.json"), 0o600); err != nil {
		t.Fatal(err)
	}

	w.start(cfg)
	defer w.stop()
	ended := make(chan error, 1)
	go func() {
		a, err := w.m.Submit(t.Context(), keyed("hi"))
		if err == nil {
			for err == nil {
				_, err = a.Next(t.Context())
			}
			if errors.Is(err, io.EOF) {
				_, err = a.Result()
			}
			a.Close()
		}
		ended <- err
	}()
	// It opens when the request above reads.
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		b := w.submit(ask("hi"))
		w.mustRead(b)
		b.Delivered()
		b.Close()
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, run.ErrInterrupted) {
		t.Errorf("from a record that says nothing: %v", err)
	}
}
