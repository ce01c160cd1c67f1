// Package browsertest drives a real browser in tests. drive.mjs does what it is told
// with playwright-core and Debian's chromium, which scripts/e2e-browser installs;
// a test tells it by Op. It knows no page: what is special to one is an operation
// in a program of the test that calls drive.mjs.
package browsertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience bounds every operation.
const patience = 5 * time.Minute

// Browser is a browser with one page.
type Browser struct {
	t           *testing.T
	in          io.Writer
	answers     chan []byte
	screenshots string
}

// Start starts a browser for the pages of an address, by a program that calls drive.mjs.
// In the directory screenshots, unless it is "", is what the page looked like when an
// operation failed. The browser ends with the test.
func Start(t *testing.T, program, address, screenshots string) *Browser {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("looking for the browser: %v; install Debian's chromium", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "node", program, address, chromium)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := &Browser{t: t, in: in, answers: make(chan []byte), screenshots: screenshots}
	done := make(chan struct{})
	go func() { // ends with the program
		defer close(done)
		defer close(b.answers)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<22)
		for lines.Scan() {
			b.answers <- bytes.Clone(lines.Bytes())
		}
	}()
	t.Cleanup(func() {
		in.Close()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
		}
		cancel()
		_ = cmd.Wait()
	})
	return b
}

// For makes t the test that operations fail from now on.
func (b *Browser) For(t *testing.T) { b.t = t }

// Op makes the browser do something, and decodes what it says into out.
func (b *Browser) Op(name string, args map[string]any, out any) {
	b.t.Helper()
	answer, err := b.try(name, args)
	if err != nil {
		b.Screenshot("failed")
		b.t.Fatal(err)
	}
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			b.t.Fatal(err)
		}
	}
}

// Screenshot keeps what the page looks like, where screenshots are wanted.
func (b *Browser) Screenshot(name string) {
	b.t.Helper()
	if b.screenshots == "" {
		return
	}
	file := filepath.Join(b.screenshots, strings.ReplaceAll(b.t.Name(), "/", "_")+"-"+name+".png")
	if _, err := b.try("screenshot", map[string]any{"file": file}); err != nil {
		b.t.Error(err)
	}
}

func (b *Browser) try(name string, args map[string]any) ([]byte, error) {
	command := map[string]any{"op": name}
	for k, v := range args {
		command[k] = v
	}
	line, err := json.Marshal(command)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if _, err := b.in.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("%s: %w", line, err)
	}
	select {
	case answer, ok := <-b.answers:
		if !ok {
			return nil, fmt.Errorf("%s: the browser's program has ended", line)
		}
		var result struct {
			OK    bool   `json:"ok"`
			Error string `json:"error"`
		}
		if err := json.Unmarshal(answer, &result); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", line, err, answer)
		}
		if !result.OK {
			return nil, fmt.Errorf("%s: %s", line, result.Error)
		}
		return answer, nil
	case <-time.After(patience):
		return nil, fmt.Errorf("%s: no answer within %v", line, patience)
	}
}
