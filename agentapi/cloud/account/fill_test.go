package account_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
)

// sandboxServer is an app-server with one conversation, and its agent-server.
type sandboxServer struct {
	*httptest.Server

	mu       sync.Mutex
	upload   http.HandlerFunc
	exitCode string
	uploaded string
	commands []string
}

func newSandboxServer(t *testing.T) *sandboxServer {
	t.Helper()
	s := &sandboxServer{exitCode: "0"}
	s.upload = func(w http.ResponseWriter, r *http.Request) {
		in, _, err := r.FormFile("file")
		if err != nil {
			t.Error(err)
			return
		}
		text, _ := io.ReadAll(in)
		s.uploaded = r.URL.Query().Get("path") + " " + string(text)
		reply(w, `{"success":true}`)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/app-conversations":
			reply(w, `[{"id":"0f1e2d3c4b5a69788796a5b4c3d2e1f0","sandbox_id":"Box","sandbox_status":"RUNNING","session_api_key":"box-key",
				"conversation_url":"`+s.URL+`/api/conversations/0f1e2d3c4b5a69788796a5b4c3d2e1f0","tags":{"archiveworkspacepath":"/work's place"}}]`)
		case "/api/file/upload":
			s.upload(w, r)
		case "/api/bash/execute_bash_command":
			command, _ := io.ReadAll(r.Body)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.commands = append(s.commands, string(command))
			reply(w, `{"exit_code":`+s.exitCode+`}`)
		default:
			t.Errorf("unexpected: %s %s", r.Method, r.URL.Path)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func reply(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

const filledID = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"

func TestFillUnpacksWhatHasArrived(t *testing.T) {
	t.Parallel()
	s := newSandboxServer(t)
	if err := newClient(t, s.URL, knownV1).Fill(t.Context(), filledID, strings.NewReader("an archive")); err != nil {
		t.Fatal(err)
	}
	file, text, _ := strings.Cut(s.uploaded, " ")
	if text != "an archive" || !strings.HasPrefix(file, "/tmp/ohgw-") {
		t.Errorf("uploaded %q", s.uploaded)
	}
	if len(s.commands) != 2 || !strings.Contains(s.commands[0], "tar -xzf "+file+` --no-same-owner -C '/work'\\''s place'`) || !strings.Contains(s.commands[1], "rm -f "+file) {
		t.Errorf("commands %q", s.commands)
	}
}

// A failed transfer unpacks nothing, is not repeated, and leaves no archive.
func TestAFailedFillUnpacksNothing(t *testing.T) {
	t.Parallel()
	errRead := errors.New("the disk is broken")
	for name, c := range map[string]struct {
		upload http.HandlerFunc
		body   io.Reader
		want   error
	}{
		"no room": {upload: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"detail":"full"}`, http.StatusInternalServerError)
		}, want: account.ErrUpstream},
		"too large":      {upload: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) }, want: account.ErrRefused},
		"web page":       {upload: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, want: account.ErrWrongEndpoint},
		"cut":            {upload: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, want: account.ErrUpstream},
		"reading breaks": {body: io.MultiReader(strings.NewReader("an"), failing{errRead}), want: errRead},
		"nothing taken":  {upload: func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) }, body: endless{}, want: account.ErrUpstream},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSandboxServer(t)
			var uploads int
			handle := s.upload
			if c.upload != nil {
				handle = c.upload
			}
			s.upload = func(w http.ResponseWriter, r *http.Request) {
				s.mu.Lock()
				uploads++
				s.mu.Unlock()
				if c.body != nil && c.upload == nil {
					_, _ = io.Copy(io.Discard, r.Body)
					return
				}
				handle(w, r)
			}
			body := c.body
			if body == nil {
				body = strings.NewReader("an archive")
			}
			client := newClient(t, s.URL, knownV1, func(o *account.Options) { o.Idle = 200 * time.Millisecond })
			if err := client.Fill(t.Context(), filledID, body); !errors.Is(err, c.want) {
				t.Errorf("it ended with %v", err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if uploads > 1 || len(s.commands) != 1 || !strings.Contains(s.commands[0], "rm -f /tmp/ohgw-") {
				t.Errorf("%d uploads, commands %q", uploads, s.commands)
			}
		})
	}
}

func TestAnArchiveThatCannotBeUnpackedIsRefused(t *testing.T) {
	t.Parallel()
	s := newSandboxServer(t)
	s.exitCode = "2"
	if err := newClient(t, s.URL, knownV1).Fill(t.Context(), filledID, strings.NewReader("an archive")); !errors.Is(err, account.ErrRefused) {
		t.Errorf("it ended with %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
