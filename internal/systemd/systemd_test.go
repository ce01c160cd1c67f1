//go:build !windows

package systemd_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/systemd"
)

func env(vars map[string]string) func(string) string { return func(n string) string { return vars[n] } }

func TestNotifySendsOneDatagram(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "n")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	names := []string{filepath.Join(dir, "s")}
	if abstract() {
		names = append(names, "@ohgw-test-"+strconv.Itoa(os.Getpid()))
	}
	for _, name := range names {
		conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := systemd.Notify(env(map[string]string{"NOTIFY_SOCKET": name}), systemd.Ready, "STATUS=fine"); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100)
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		n, err := conn.Read(buf)
		if err != nil || string(buf[:n]) != "READY=1\nSTATUS=fine" {
			t.Errorf("message = %q, error %v", buf[:n], err)
		}
	}
	if err := systemd.Notify(env(nil), systemd.Ready); err != nil {
		t.Errorf("nobody wants to know: %v", err)
	}
	if err := systemd.Notify(env(map[string]string{"NOTIFY_SOCKET": filepath.Join(dir, "gone")}), systemd.Ready); err == nil {
		t.Error("nobody listens, and nothing says so")
	}
}

// The test binary is started again, as the service manager would.
func TestASocketIsTakenOver(t *testing.T) {
	t.Parallel()
	if os.Getenv("TEST_ACTIVATED") != "" {
		return // see TestMain
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	ln.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TEST_ACTIVATED=1", "LISTEN_FDS=1")
	cmd.ExtraFiles = []*os.File{file}
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + ln.Addr().String()) // it waits in the socket until the program is there
	if err != nil {
		t.Fatalf("asking the socket: %v\n%s", err, out)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err := cmd.Wait(); err != nil || string(body) != "activated" {
		t.Errorf("body = %q, error %v, output\n%s", body, err, out)
	}
}

func TestMain(m *testing.M) {
	if os.Getenv("TEST_ACTIVATED") == "" {
		os.Exit(m.Run())
	}
	ln, err := systemd.Listener(env(map[string]string{"LISTEN_PID": strconv.Itoa(os.Getpid()), "LISTEN_FDS": os.Getenv("LISTEN_FDS")}), os.Getpid())
	if err != nil || ln == nil {
		fmt.Println("no listener:", err)
		os.Exit(1)
	}
	var once sync.Once
	asked := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "activated")
		once.Do(func() { close(asked) })
	})}
	go func() { _ = server.Serve(ln) }()
	<-asked
	_ = server.Shutdown(context.Background()) // waits until the answer is written
	os.Exit(0)
}

func TestSocketsOfOthersAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, vars := range map[string]map[string]string{
		"none":            {},
		"of another":      {"LISTEN_PID": "1", "LISTEN_FDS": "1"},
		"without its pid": {"LISTEN_FDS": "1"},
	} {
		if ln, err := systemd.Listener(env(vars), 4711); ln != nil || err != nil {
			t.Errorf("%s: listener = %v, error %v", name, ln, err)
		}
	}
	for _, n := range []string{"0", "2", "", "x"} {
		if _, err := systemd.Listener(env(map[string]string{"LISTEN_PID": "4711", "LISTEN_FDS": n}), 4711); !errors.Is(err, systemd.ErrSockets) {
			t.Errorf("%q sockets: %v", n, err)
		}
	}
}

func TestAgentsDoNotGetWhatIsForUs(t *testing.T) {
	t.Parallel()
	got := systemd.Clean([]string{"PATH=/bin", "NOTIFY_SOCKET=/x", "LISTEN_FDS=1", "LISTEN_PID=1", "JOURNAL_STREAM=1:2", "LISTEN=mine"})
	if diff := cmp.Diff([]string{"PATH=/bin", "LISTEN=mine"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheJournalIsRecognised(t *testing.T) {
	t.Parallel()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	here := fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	for stream, want := range map[string]bool{"": false, "1:1": false, here: true, "x": false} {
		if got := systemd.InJournal(env(map[string]string{"JOURNAL_STREAM": stream}), f); got != want {
			t.Errorf("%q: InJournal = %t", stream, got)
		}
	}
}

func TestLinesForTheJournalHaveAPriorityAndNoTime(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := slog.New(systemd.NewJournalHandler(&out, slog.HandlerOptions{Level: slog.LevelDebug}, func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(w, o) }))
	log.Debug("a")
	log.With("k", 1).Info("b")
	log.WithGroup("g").Warn("c", "time", "mine")
	log.Error("d")
	want := "<7>msg=a\n<6>msg=b k=1\n<4>msg=c g.time=mine\n<3>msg=d\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	var wg sync.WaitGroup
	out.Reset()
	safe := &lockedWriter{w: &out}
	log = slog.New(systemd.NewJournalHandler(safe, slog.HandlerOptions{}, func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(w, o) }))
	for range 100 {
		wg.Go(func() { log.Info("i") })
		wg.Go(func() { log.Error("e") })
	}
	wg.Wait()
	if strings.Count(out.String(), "<6>msg=i\n") != 100 || strings.Count(out.String(), "<3>msg=e\n") != 100 {
		t.Errorf("lines are mixed up:\n%s", out.String())
	}
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
