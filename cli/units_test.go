package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/doctor"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
)

func TestExpiry(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 2*60*60)
	now := time.Date(2026, 11, 21, 15, 0, 0, 0, east)
	tests := []struct {
		text string
		want time.Time
	}{
		{"", time.Time{}},
		{"12h", now.Add(12 * time.Hour)},
		{"30d", time.Date(2026, 12, 21, 15, 0, 0, 0, east)},
		{"2026-11-21", time.Date(2026, 11, 22, 0, 0, 0, 0, east)}, // the whole day, here
		{"2026-11-21T14:00:00Z", time.Date(2026, 11, 21, 16, 0, 0, 0, east)},
	}
	for _, tt := range tests {
		if got, err := expiry(tt.text, now); err != nil || !got.Equal(tt.want) {
			t.Errorf("expiry(%q) = %v, %v; want %v", tt.text, got, err, tt.want)
		}
	}
	for _, text := range []string{"d", "-1d", "1.5d", "soon", "30", "2026-13-01", "2026-11-20", "0", "-1h", "99999999d"} {
		if got, err := expiry(text, now); fault.CodeOf(err) != fault.Usage {
			t.Errorf("expiry(%q) = %v, %v; want a usage error", text, got, err)
		}
	}
}

func TestCleanTakesWhatATerminalWouldObey(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"plain ünïcode …", "plain ünïcode …"},
		{"a\nb\tc\r", "a b c "},
		{"\x1b[31mred\x1b[0m\x07", "[31mred[0m"},
		{"\u009b31mred\x7f", "31mred"},
		{"the key sk-1234567890abcdef is wrong", "the key [redacted] is wrong"},
	}
	for _, tt := range tests {
		if got := clean(tt.text); got != tt.want {
			t.Errorf("clean(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestTableCellsHoldNoSeparators(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	var tab table
	tab.add("a\tb", "c\nd", "")
	if err := tab.write(iostream.New(&b, false, nil)); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "a b\tc d\t\n"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text  string
		width int
		want  []string
	}{
		{"", 30, []string{""}},
		{"one two", 30, []string{"one two"}},
		{"exactly twenty chars", 20, []string{"exactly twenty chars"}},
		{"a word more than twenty", 20, []string{"a word more than", "twenty"}},
		{"äöü äöü äöü äöü äöü äöü", 23, []string{"äöü äöü äöü äöü äöü äöü"}},
		{"narrow terminals get twenty", 3, []string{"narrow terminals get", "twenty"}},
		{"a-word-that-is-longer-than-that then", 20, []string{"a-word-that-is-longer-than-that", "then"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, wrap(tt.text, tt.width)); diff != "" {
			t.Errorf("wrap(%q, %d), -want +got:\n%s", tt.text, tt.width, diff)
		}
	}
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		addr net.Addr
		want string
	}{
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, "http://127.0.0.1:1"},
		{&net.TCPAddr{IP: net.IPv6loopback, Port: 1}, "http://[::1]:1"},
		{&net.TCPAddr{IP: net.IPv4zero, Port: 1}, "http://127.0.0.1:1"},
		{&net.TCPAddr{IP: net.IPv6zero, Port: 1}, "http://127.0.0.1:1"}, // such a socket takes both
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}, "http://192.0.2.1:1"},
	}
	for _, tt := range tests {
		if got := baseURL(tt.addr); got != tt.want {
			t.Errorf("baseURL(%v) = %q, want %q", tt.addr, got, tt.want)
		}
	}
}

func TestOnThisMachine(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]bool{
		"http://127.0.0.1:6449": true, "http://localhost:1": true, "http://[::1]:1": true, "http://127.1.2.3": true,
		"http://0.0.0.0:1": false, "http://192.0.2.1": false, "http://localhost.example": false, "https://gateway.example": false, "://": false,
	} {
		if got := onThisMachine(base); got != want {
			t.Errorf("onThisMachine(%q) = %t", base, got)
		}
	}
}

func TestNetCauseIsTheLastWord(t *testing.T) {
	t.Parallel()
	wrap := func(err error) error {
		return &url.Error{Op: "Get", URL: "http://h/", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
	}
	tests := []struct {
		err  error
		want string
	}{
		{wrap(os.NewSyscallError("connect", syscall.ECONNREFUSED)), syscall.ECONNREFUSED.Error()},
		{wrap(&net.DNSError{Err: "no such host", Name: "h"}), "no such host"},
		{&url.Error{Op: "Get", URL: "http://h/", Err: context.DeadlineExceeded}, "no answer in time"},
		{&url.Error{Op: "Get", URL: "http://h/", Err: errors.New("strange")}, "strange"},
		{io.ErrUnexpectedEOF, "unexpected EOF"},
	}
	for _, tt := range tests {
		if got := netCause(tt.err).Error(); got != tt.want {
			t.Errorf("netCause(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestUsable(t *testing.T) {
	t.Parallel()
	status := func(kind error) agentapi.Status {
		if kind == nil {
			return agentapi.Status{}
		}
		return agentapi.Status{Address: "http://h", Err: &agentapi.Error{Kind: kind, Msg: "The reason.", Err: errors.New("private")}}
	}
	tests := []struct {
		name  string
		kind  error
		named bool
		want  fault.Code
	}{
		{"a healthy server", nil, false, 0},
		{"a named server may come later", agentapi.ErrUnavailable, true, 0},
		{"none was named and none answers", agentapi.ErrUnavailable, false, fault.Unreachable},
		{"something else is at the default address", agentapi.ErrRefused, false, fault.Unreachable},
		{"a key that is not taken, named", agentapi.ErrUnauthorized, true, fault.Credential},
		{"a key that is not taken, found", agentapi.ErrUnauthorized, false, fault.Credential},
		{"something else is at the named address", agentapi.ErrRefused, true, fault.Failed},
		{"too old", agentapi.ErrUnsupported, true, fault.Failed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := usable(t.Context(), status(tt.kind), tt.named)
			if got := fault.CodeOf(err); got != tt.want {
				t.Errorf("usable = %v, code %d, want %d", err, got, tt.want)
			}
			if err == nil {
				return
			}
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Hint == "" || f.Err.Error() != "The reason." || !strings.Contains(f.Msg, "http://h") {
				t.Errorf("usable = %+v", err)
			}
		})
	}
}

func TestFileStampFollowsTheProfiles(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	a := testApp()
	a.Paths = func() (paths.Set, error) { return paths.Set{Home: home, State: filepath.Join(home, "state")}, nil }
	stamp := a.fileStamp("http://127.0.0.1:8000")
	before := stamp()
	if again := stamp(); again != before {
		t.Errorf("nothing changed, and the stamp went from %q to %q", before, again)
	}
	dir := filepath.Join(home, ".openhands", "profiles")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, content := range []string{`{"model":"a"}`, `{"model":"a","api_key":"b"}`} {
		if err := os.WriteFile(filepath.Join(dir, "p.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		after := stamp()
		if after == before {
			t.Errorf("change %d is not seen", i)
		}
		before = after
	}
	keys := secret.NewKeyring(secret.KeyringConfig{Index: filepath.Join(home, "state", keyNamesFile), Backend: secrettest.FileKeyring(t.TempDir())})
	for _, key := range []string{"a key", "another key in its place"} {
		if err := keys.Set(t.Context(), "provider/openai", secret.New(key)); err != nil {
			t.Fatal(err)
		}
		after := stamp()
		if after == before {
			t.Errorf("%s is not seen", key)
		}
		before = after
	}
	if a.fileStamp("http://192.0.2.1:8000") != nil {
		t.Error("files here stand for those of a server elsewhere")
	}
}

func TestReportWithDebugHasTheWholeChain(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	a := &app{Env: &Env{Stderr: iostream.New(&b, false, nil)}}
	err := fmt.Errorf("outer: %w", fault.New("it went wrong", "try again", errors.New("inner")))
	a.report(newVersion(a), nil, err)
	a.debug = true
	a.report(newVersion(a), nil, err)
	a.report(newVersion(a), nil, errors.New("bare"))
	want := `ohgw: it went wrong
  cause: inner
  hint:  try again
ohgw: it went wrong
  cause: outer: it went wrong: inner
  hint:  try again
ohgw: bare
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestABundleHidesWhoseMachineItIs(t *testing.T) {
	t.Parallel()
	a := &app{Env: &Env{
		// As a timer starts it: nobody says who the user is.
		Environ: func() []string {
			return []string{"OHGW_KEY_STORE=keyring", "OHGW_API_KEYS=first-canary, second-canary", "OHGW_AGENT_SERVER_KEY=third-canary"}
		},
		Getenv: func(string) string { return "" },
		Paths:  func() (paths.Set, error) { return paths.Set{Home: filepath.FromSlash("/home/jane")}, nil },
	}}
	text, err := doctor.Bundle([]string{
		"keyring", "first-canary", "<second-canary>", "third-canary", filepath.FromSlash("/home/jane/x"), "/data/jane/y",
	}, a.hidden(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := []string{"keyring", "[redacted]", "<[redacted]>", "[redacted]", filepath.FromSlash("~/x"), "/data/USER/y"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	stopped := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		return ctx
	}
	bySignal := stopped(signalError{syscall.SIGTERM})
	tests := []struct {
		name string
		ctx  context.Context
		err  error
		want fault.Code
	}{
		{"a command that gave up", bySignal, fmt.Errorf("ask: %w", context.Canceled), 143},
		{"one that says why", bySignal, fmt.Errorf("ask: %w", context.Cause(bySignal)), 143},
		{"another failure after the signal", bySignal, io.ErrClosedPipe, 0},
		{"nobody sent a signal", stopped(nil), context.Canceled, 0},
		{"nothing was stopped", t.Context(), context.Canceled, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, ok := interrupted(tt.ctx, tt.err); got != tt.want || ok != (tt.want != 0) {
				t.Errorf("interrupted = %d, %t; want %d", got, ok, tt.want)
			}
		})
	}
}
