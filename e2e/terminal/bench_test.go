//go:build e2e

package terminal_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// median is the one in the middle, in milliseconds.
func median(times []time.Duration) float64 {
	slices.Sort(times)
	return times[len(times)/2].Seconds() * 1000
}

// BenchmarkAsk measures what `ohgw chat -p` adds to the endpoint's own time:
// the same question with it and with a bare request, one after the other.
func BenchmarkAsk(b *testing.B) {
	p := newPerson(b)
	p.env = append(p.env, "OHGW_API_KEYS=key-of-this-test")
	url, _ := p.daemon("127.0.0.1:0", nil)
	ohgw, err := program()
	if err != nil {
		b.Fatal(err)
	}
	var bare, whole, cpu []time.Duration
	for b.Loop() {
		began := time.Now()
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url+"/v1/chat/completions",
			strings.NewReader(`{"model":"openhands","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer key-of-this-test")
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil || !bytes.Contains(body, []byte("[DONE]")) {
			b.Fatalf("the stream: %v: %s", err, body)
		}
		bare = append(bare, time.Since(began))

		began = time.Now()
		cmd := exec.CommandContext(b.Context(), ohgw, "chat", "-p", "hi")
		cmd.Env = p.env
		out, err := cmd.Output()
		if err != nil || string(out) != "You said: hi\n" {
			b.Fatalf("running the program: %v: %s", err, out)
		}
		whole = append(whole, time.Since(began))
		cpu = append(cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(bare), "ms/endpoint")
	b.ReportMetric(median(whole)-median(bare), "ms/added")
	b.ReportMetric(median(cpu), "cpu-ms/ask") // on a busy machine the one to look at
}

// BenchmarkFirstFrame measures from the start of the program to its first
// screen, beside a daemon and with a gateway of its own.
func BenchmarkFirstFrame(b *testing.B) {
	p := newPerson(b)
	p.env = append(p.env, "OHGW_API_KEYS=key-of-this-test", "TERM=xterm-256color")
	url, _ := p.daemon("127.0.0.1:0", nil)
	ohgw, err := program()
	if err != nil {
		b.Fatal(err)
	}
	for name, args := range map[string][]string{"daemon": {"chat", "--url", url}, "own": {"chat", "--demo"}} {
		b.Run(name, func(b *testing.B) {
			var times []time.Duration
			for b.Loop() {
				cmd := exec.CommandContext(b.Context(), ohgw, args...)
				cmd.Env = p.env
				began := time.Now()
				terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
				if err != nil {
					b.Fatal(err)
				}
				var shown []byte
				for buf := make([]byte, 4096); !bytes.Contains(shown, []byte("ask the agent")); {
					n, err := terminal.Read(buf)
					if err != nil {
						b.Fatalf("reading the terminal: %v: %q", err, shown)
					}
					shown = append(shown, buf[:n]...)
				}
				times = append(times, time.Since(began))
				_, _ = terminal.Write([]byte{4})
				_, _ = io.Copy(io.Discard, terminal) // to its end, which some systems call an error
				_ = cmd.Wait()
				_ = terminal.Close()
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(times), "ms/frame")
		})
	}
}

// BenchmarkKeyToScreen measures from a key to its character on a terminal, while
// the agent writes 500 words a second and an opened diff of 600 lines and an
// opened output of 24 KiB are in the chat.
func BenchmarkKeyToScreen(b *testing.B) {
	p := newPerson(b)
	path := p.write("large.txt", "")
	p.llm.On(llmtest.Says("go on"),
		llmtest.Tool("terminal", `{"command": "yes 'a line of output' | head -c 24576"}`),
		llmtest.Tool("file_editor", arguments(b, map[string]any{"command": "insert", "path": path, "insert_line": 0, "new_str": strings.Repeat("a new line of the file\n", 600)})),
		llmtest.Slow(1_000_000, 2*time.Millisecond),
	)
	ohgw, err := program()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), ohgw, "chat", "--workspace", "none", "go on")
	cmd.Env, cmd.Dir = append(p.env, "TERM=xterm-256color"), p.home
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		b.Fatal(err)
	}
	var shown []byte
	buf := make([]byte, 64<<10)
	until := func(text string) {
		b.Helper()
		for !bytes.Contains(shown, []byte(text)) {
			n, err := terminal.Read(buf)
			if err != nil {
				b.Fatalf("reading the terminal: %v: %q", err, shown)
			}
			shown = append(shown, buf[:n]...)
		}
	}
	press := func(key string) {
		b.Helper()
		shown = shown[:0]
		if _, err := terminal.WriteString(key); err != nil {
			b.Fatal(err)
		}
	}
	until("Edit")
	press("\x0f\x0f") // Ctrl+O, twice
	until("writing")
	var times []time.Duration
	keys := []rune("§¶¡¿ßøæåþðđħłŋœŧ")
	for i := 0; b.Loop(); i++ {
		if i%200 == 199 {
			press("\x15") // the input stays small
		}
		key := string(keys[i%len(keys)])
		began := time.Now()
		press(key)
		until(key)
		times = append(times, time.Since(began))
		time.Sleep(7 * time.Millisecond) // as a fast typist, and out of step with the frames
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(times), "ms/key")
	b.ReportMetric(times[len(times)*99/100].Seconds()*1000, "ms-p99/key")
	_ = cmd.Process.Kill()
	_, _ = io.Copy(io.Discard, terminal) // to its end, which some systems call an error
	_ = cmd.Wait()
	_ = terminal.Close()
}
