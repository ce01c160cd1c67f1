//go:build e2e_canvas

package canvas_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// trouble is something that went wrong in the page.
type trouble struct {
	Kind   string // page, console, answer, request
	Status int
	Method string
	URL    string
	Text   string
}

func (t trouble) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s: %s %s %d %s", t.Kind, t.Method, t.URL, t.Status, t.Text))
}

// expected are the answers of 400 and more that have a reason.
var expected = []struct {
	method, path string // the path may be a beginning, with * at its end
	status       int
	reason       string
}{
	{"*", "/api/automation/*", http.StatusNotFound, "automations are a server of their own, which an agent-server does not have either"},
	{"GET", "/api/llm/balance", http.StatusNotFound, "an agent-server does not have it either"},
	{"GET", "/api/file/download", http.StatusNotFound, "the planner asks for a PLAN.md that no agent has written"},
}

func (t trouble) expected() bool {
	at, err := url.Parse(t.URL)
	if err != nil || t.Kind != "answer" {
		return false
	}
	for _, e := range expected {
		begin, any := strings.CutSuffix(e.path, "*")
		if (e.method == "*" || e.method == t.Method) && e.status == t.Status &&
			(at.Path == e.path || any && strings.HasPrefix(at.Path, begin)) {
			return true
		}
	}
	return false
}

// troubles are those without a reason since the last time.
func (w *world) troubles() []trouble {
	var all struct{ Troubles []trouble }
	w.browser.Op("troubles", nil, &all)
	var left []trouble
	for _, t := range all.Troubles {
		if !t.expected() {
			left = append(left, t)
		}
	}
	return left
}

func (w *world) quiet(t *testing.T) {
	t.Helper()
	for _, trouble := range w.troubles() {
		t.Error(trouble)
	}
}
