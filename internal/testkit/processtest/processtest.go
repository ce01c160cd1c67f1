// Package processtest runs programs for tests: servers that answer HTTP, and helpers
// that say something and then wait until the test is over.
package processtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Server is a running program that serves HTTP. Its output goes to a file.
type Server struct {
	Cmd    *exec.Cmd
	log    string
	exited chan error
}

// Start starts cmd, whose output is added to the file log.
func Start(cmd *exec.Cmd, log string) (*Server, error) {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", cmd.Path, err)
	}
	defer f.Close()
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	s := &Server{Cmd: cmd, log: log, exited: make(chan error, 1)}
	go func() { s.exited <- cmd.Wait() }() // ends with the process
	return s, nil
}

// Await waits until url answers 200. The error has the end of the log.
func (s *Server) Await(ctx context.Context, url string, patience time.Duration) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if ok(ctx, client, url) {
			return nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case err := <-s.exited:
			s.exited <- err
			return fmt.Errorf("%s ended: %w\n%s", s.Cmd.Path, err, s.Tail())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer within %v\n%s", s.Cmd.Path, patience, s.Tail())
		}
	}
}

func ok(ctx context.Context, client *http.Client, url string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	res, err := client.Do(r)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// End sends a signal and waits for the end. The error is that of the process,
// or that it did not end and was killed.
func (s *Server) End(signal os.Signal, patience time.Duration) error {
	_ = s.Cmd.Process.Signal(signal) // it may have ended
	select {
	case err := <-s.exited:
		return err
	case <-time.After(patience):
		_ = s.Cmd.Process.Kill()
		return fmt.Errorf("%s did not end within %v of %v: %w\n%s", s.Cmd.Path, patience, signal, <-s.exited, s.Tail())
	}
}

// Tail is the end of the log.
func (s *Server) Tail() string {
	const most = 6000
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}

// FreeAddress is a loopback address whose port was free a moment ago. Systems give none
// of these ports to a connection, nor to who asks for any port: the program that is to
// have it can take half a minute until it listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	const first, last = 10_000, 29_999
	for range 100 {
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(last-first+1)))
		if err != nil {
			continue // it is taken
		}
		defer ln.Close()
		return ln.Addr().String()
	}
	t.Fatalf("no port between %d and %d is free", first, last)
	return ""
}

// Hold starts cmd and waits until it writes something or closes its standard
// output; said is what it wrote first. It gets the end of its standard input when
// the test is over, and must end then.
func Hold(t testing.TB, cmd *exec.Cmd) (said string) {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait() // a test may have killed it
	})
	buf := make([]byte, 4096)
	n, err := stdout.Read(buf)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return string(buf[:n])
}
