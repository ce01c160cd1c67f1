package agentserver_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/uuid"
)

// TestARefusalNamesTheVersion lets servers refuse what ohgw sends.
func TestARefusalNamesTheVersion(t *testing.T) {
	t.Parallel()
	const tested = "ohgw was tested with 1.21.0 to 1.58.2"
	tests := []struct {
		version string
		want    []string
	}{
		{"1.58.2", []string{"It is version 1.58.2", tested, "See its log"}},
		{"1.47.3", []string{"It is version 1.47.3", tested, "See its log"}},
		{"1.58.3", []string{"It is version 1.58.3", tested, "Upgrade ohgw", "pip install openhands-agent-server==1.58.2"}},
		{"1.73.0rc2", []string{"It is version 1.73.0rc2", tested, "Upgrade ohgw"}},
		{"v2.0.0", []string{"It is version v2.0.0", tested, "Upgrade ohgw"}},
		{"2031.2.14", []string{"It is version 2031.2.14", tested, "Upgrade ohgw"}},
		{"1.20.1", []string{"It is version 1.20.1", tested, "Update it: pip install openhands-agent-server==1.58.2"}},
	}
	for _, tt := range tests {
		t.Run(tt.version, func(t *testing.T) {
			t.Parallel()
			inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
				for _, status := range []int{422, 500} {
					w.Fail("GET", "/server_info", -1, 200, fmt.Sprintf(`{"version":%q,"uptime":9}`, tt.version))
					w.Fail("POST", "/events", 1, status, `{"detail":"Extra inputs are not permitted: run"}`)
					c := w.openAt(t, tt.version)
					err := c.Send(t.Context(), agentapi.Message{Text: "go"})
					wantWords(t, err, agentapi.ErrRefused, append(tt.want, "Extra inputs are not permitted")...)
					time.Sleep(time.Minute) // the server is asked again
					w.Heal()
				}
			})
		})
	}
}

// openAt opens a conversation of another client, which a server of any version has.
func (w *world) openAt(t *testing.T, version string) agentapi.Conversation {
	t.Helper()
	c, err := w.backend.Open(t.Context(), agentapi.OpenRequest{ID: w.foreign(t, "openai/test"), Existing: true})
	if err != nil {
		t.Fatalf("%s: %v", version, err)
	}
	return c
}

func wantWords(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("error %v, want %v", err, kind)
	}
	msg := agentapi.PublicMessage(err, "")
	for _, word := range words {
		if !strings.Contains(msg, word) {
			t.Errorf("the sentence is %q, without %q", msg, word)
		}
	}
}

// TestANewerServerWorksIfItCan: nothing is refused because of a number.
func TestANewerServerWorksIfItCan(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.59.0", "1.212.7.dev3", "3.0.0", "2031.2.14"} {
		inBubble(t, fakeserver.Options{Version: version}, func(t *testing.T, w *world) {
			if st := w.backend.Status(t.Context()); st.Err != nil || st.Version != version || len(st.Missing) != 0 {
				t.Errorf("Status() = %+v", st)
			}
			run(t, w.open(t)).wantAnswer(t, "ok", "ok")
		})
	}
}

// TestAServerThatDoesNotTellItsVersion is used where its SDK tells one, and refused
// with what to do where nothing does.
func TestAServerThatDoesNotTellItsVersion(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.Fail("GET", "/server_info", -1, 200, `{"version":"unknown","sdk_version":"1.58.1","uptime":9}`)
		if st := w.backend.Status(t.Context()); st.Err != nil {
			t.Errorf("with the version of its SDK: %v", st.Err)
		}
		run(t, w.open(t)).wantAnswer(t, "ok", "ok")
	})
	tests := map[string]struct {
		status int
		body   string
		kind   error
		words  []string
	}{
		"no page":         {404, `{"detail":"Not Found"}`, agentapi.ErrRefused, []string{"has no /server_info", "curl http://"}},
		"a page of nginx": {404, `<html>404</html>`, agentapi.ErrRefused, []string{"has no /server_info", "curl http://"}},
		"another method":  {405, `{"detail":"Method Not Allowed"}`, agentapi.ErrRefused, []string{"has no /server_info", "curl http://"}},
		"unknown":         {200, `{"version":"unknown","sdk_version":"unknown","uptime":1}`, agentapi.ErrUnsupported, []string{`version "unknown"`, "pip install"}},
		"nothing":         {200, `{"uptime":1,"title":"OpenHands Agent Server"}`, agentapi.ErrUnsupported, []string{`version ""`, "pip install"}},
		"a long story":    {200, fmt.Sprintf(`{"version":%q}`, strings.Repeat("no ", 1000)), agentapi.ErrUnsupported, []string{"no no", "…", "pip install"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
				w.Fail("GET", "/server_info", -1, tt.status, tt.body)
				words := append(tt.words, "ohgw was tested with 1.21.0 to 1.58.2")
				wantWords(t, w.backend.Status(t.Context()).Err, tt.kind, words...)
				for range 2 { // the second time from memory
					_, err := w.backend.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast", Workspace: "/w"})
					wantWords(t, err, tt.kind, words...)
					if n := len(agentapi.PublicMessage(err, "")); n > 400 {
						t.Errorf("the sentence has %d bytes", n)
					}
				}
				if n := len(w.Calls("POST", "/api/conversations")); n != 0 {
					t.Error("a conversation was tried")
				}
			})
		})
	}
}

// TestARunSurvivesAPageThatIsAwayForAMoment: a server that starts again behind a
// proxy has no /server_info at first.
func TestARunSurvivesAPageThatIsAwayForAMoment(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.model.script = []thought{slowly("one two three four five", time.Second)}
		cut := once(func() {
			w.Fail("GET", "/server_info", 3, 404, "<h1>nginx</h1>")
			w.Cut()
		})
		o := <-begin(t, w.open(t), func(u turn.Update) {
			if u.Kind == turn.Text {
				cut(u)
			}
		})
		if o.err != nil || o.Answer != "one two three four five" {
			t.Errorf("turn %+v", o)
		}
	})
}
