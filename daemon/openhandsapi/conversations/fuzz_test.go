package conversations_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/control"
)

// sound fails a test whose answer is a failure of the server, or no JSON.
func sound(t *testing.T, what string, code int, body string) {
	t.Helper()
	if code >= http.StatusInternalServerError || !json.Valid([]byte(body)) {
		t.Errorf("%s: status = %d, body = %q", what, code, body)
	}
}

// empty removes all conversations, the copies included.
func (a *api) empty() {
	a.t.Helper()
	page, err := a.engine.List(a.t.Context(), control.ListQuery{Limit: 100})
	if err != nil {
		a.t.Fatal(err)
	}
	for _, record := range page.Records {
		if err := a.engine.Remove(a.t.Context(), record.ID); err != nil {
			a.t.Error(err)
		}
	}
}

func FuzzBodies(f *testing.F) {
	data, err := os.ReadFile("testdata/refused.txt")
	if err != nil {
		f.Fatal(err)
	}
	for block := range strings.SplitSeq(string(data), "\n\n") {
		if request := strings.SplitN(strings.SplitN(block, "\n", 2)[0], " ", 3); len(request) == 3 {
			f.Add(strings.NewReplacer("AGENT", agentMember, "WORK", workMember).Replace(request[2]))
		}
	}
	all := newAPI(f)
	f.Fuzz(func(t *testing.T, body string) {
		a := all.forTest(t)
		path, _ := a.begin()
		defer a.empty()
		for _, at := range []string{
			"/events", "/events/respond_to_confirmation", "/secrets", "/confirmation_policy", "/security_analyzer", "/switch_llm",
			"/switch_profile", "/goal", "/fork", "/navigate", "/ask_agent",
		} {
			code, got := a.ask(http.MethodPost, path+at, body)
			sound(t, at+" "+body, code, got)
		}
		code, got := a.ask(http.MethodPatch, path, body)
		sound(t, body, code, got)
		if !strings.Contains(body, "working_dir") { // which would be made
			code, got = a.ask(http.MethodPost, "/api/conversations", body)
			sound(t, body, code, got)
		}
	})
}

func FuzzFilters(f *testing.F) {
	for _, query := range []string{
		"", "limit=1&page_id=e2", "limit=0", "limit=99999999999999999999", "kind=a.b.MessageEvent&source=user&body=H", "sort_order=TIMESTAMP_DESC", "sort_order=x",
		"timestamp__gte=2026-08-22T14:00:03.5Z", "timestamp__lt=2026-08-22T14:00:03%2B02:00", "timestamp__gte=1787416440.12", "timestamp__lt=NaN",
		"timestamp__gte=2026-08-22 14:00", "timestamp__gte=x", "status=idle", "include_skills=maybe", "ids=x", "ids=7f1c0f7e5a3b4d519c430a7d5c2f8b11&ids=", "page_id=%ff",
	} {
		f.Add(query)
	}
	all := newAPI(f)
	f.Fuzz(func(t *testing.T, query string) {
		if _, err := url.ParseQuery(query); err != nil || strings.ContainsAny(query, " #\x00\r\n\t\x7f") {
			return // no query of a request
		}
		a := all.forTest(t)
		path, _ := a.begin()
		defer a.empty()
		a.say(path, "hi")
		for _, at := range []string{path + "/events/search", path + "/events/count", "/api/conversations/search", "/api/conversations/count", "/api/conversations", path} {
			target, err := url.Parse(at + "?" + query)
			if err != nil {
				return
			}
			code, got := a.ask(http.MethodGet, target.String(), "")
			sound(t, target.String(), code, got)
		}
	})
}
