package daemon_test

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/boxpool"
	"github.com/ohgw/ohgw/daemon/openhandsapi/live"
	"github.com/ohgw/ohgw/daemon/openhandsapi/logins"
	apiprobes "github.com/ohgw/ohgw/daemon/openhandsapi/probes"
	apisession "github.com/ohgw/ohgw/daemon/openhandsapi/session"
	"github.com/ohgw/ohgw/daemon/openhandsapi/settings"
	"github.com/ohgw/ohgw/daemon/openhandsapi/shell"
)

var update = flag.Bool("update", false, "write docs/routes.tsv again")

// docs/routes.tsv has the routes of both APIs in one list. Who may call a route is what
// comes of requests with keys of several kinds, with a cookie and with nothing.
func TestTheListOfRoutes(t *testing.T) {
	t.Parallel()
	const name = "../docs/routes.tsv"
	lines := []string{"api\tmethod\tpath\twho may call\tsummary"}
	lines = append(lines, ownRoutes(t)...)
	theirs := nativeRoutes(t)
	slices.SortFunc(theirs, func(a, b string) int {
		x, y := strings.Split(a, "\t"), strings.Split(b, "\t")
		return strings.Compare(x[2]+x[1], y[2]+y[1])
	})
	list := strings.Join(append(lines, theirs...), "\n") + "\n"
	if *update {
		if err := os.WriteFile(name, []byte(list), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), list); diff != "" {
		t.Errorf("docs/routes.tsv is not the list of routes; go test ./daemon -run TestTheListOfRoutes -update writes it\n%s", diff)
	}
}

// ownRoutes are the rows of ohgw's own API.
func ownRoutes(t *testing.T) (rows []string) {
	t.Helper()
	closed, open := apitest.Serve(t, daemontest.New()), apitest.Serve(t, daemontest.New(), func(c *daemon.Config) { c.MetricsOpen = true })
	refused := func(g *apitest.Gateway, method, path string) bool {
		return g.Do(method, path, "", "Authorization", "").Status == http.StatusUnauthorized
	}
	summaries := closed.Daemon.Summaries()
	for _, route := range closed.Daemon.Routes() {
		method, pattern, _ := strings.Cut(route, " ")
		path := strings.TrimSuffix(pattern, "{$}")
		if !slices.Contains([]string{"/", "/health", "/healthz", "/readyz", "/metrics"}, path) {
			path = "/v1" + path
		}
		who := "anyone"
		if at := example(path); refused(closed, method, at) {
			who = "with a key"
			if !refused(open, method, at) {
				who = "with a key; anyone with metrics_open"
			}
		}
		rows = append(rows, strings.Join([]string{"ohgw", method, path, who, summaries[pattern]}, "\t"))
	}
	return rows
}

// example is a path that the pattern of a route matches.
func example(pattern string) string {
	return regexp.MustCompile(`\{[^}]*\}`).ReplaceAllStringFunc(pattern, func(name string) string {
		if name == "{$}" {
			return ""
		}
		return "x"
	})
}

// admitted is OpenHands' own API without its answers: they say who got there.
type admitted struct{ *openhandsapi.Handler }

func (admitted) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNoContent)
}

func (admitted) Socket(w http.ResponseWriter, _ *http.Request, has bool, _ func(string) bool) {
	w.WriteHeader(map[bool]int{true: http.StatusNoContent, false: http.StatusAccepted}[has])
}

// nativeRoutes are the rows of OpenHands' own API.
func nativeRoutes(t *testing.T) (rows []string) {
	t.Helper()
	cookies := apisession.New(time.Now)
	native := openhandsapi.Over(openhandsapi.Parts{
		Boxes: boxpool.New(boxpool.Config{}), Logins: logins.New(logins.Config{}), Cookies: cookies, Probes: apiprobes.Config{Now: time.Now},
		Commands: shell.New(shell.Config{Dir: t.TempDir(), Now: time.Now}), Events: live.New(live.Config{Now: time.Now}), Settings: settings.Config{Store: settings.Store{
			Settings: struct{ settings.Values }{}, Servers: struct{ settings.Servers }{}, Secrets: struct{ settings.Secrets }{},
			LLMProfiles: struct{ settings.LLMProfiles }{}, AgentProfiles: struct{ settings.AgentProfiles }{},
			MetaProfiles: struct{ settings.MetaProfiles }{}, Connections: struct{ settings.Connections }{},
		}},
	})
	g := apitest.Serve(t, daemontest.New(), func(c *daemon.Config) { c.Native, c.Tokens = admitted{native}, nativeTokens{} })
	for _, route := range native.List() {
		send := func(header ...string) int { return g.Do(route.Method, example(route.Path), "", header...).Status }
		who := "with a native key"
		switch nothing := send("Authorization", ""); {
		case nothing == http.StatusNoContent:
			who = "anyone"
		case nothing == http.StatusAccepted:
			who += ", also in the first frame"
		case send("Authorization", "", "Cookie", cookieOf(t, cookies)) == http.StatusNoContent:
			who += " or its cookie"
		}
		if status := send("Authorization", "Bearer "+nativeKey); status != http.StatusNoContent {
			t.Errorf("%s %s with a native key: %d", route.Method, route.Path, status)
		}
		if status := send(); who != "anyone" && status != http.StatusForbidden {
			t.Errorf("%s %s with another key: %d", route.Method, route.Path, status)
		}
		rows = append(rows, strings.Join([]string{"OpenHands", route.Method, route.Path, who, route.Summary}, "\t"))
	}
	return rows
}

// cookieOf is a cookie that a client with a native key has made.
func cookieOf(t *testing.T, cookies *apisession.Sessions) string {
	t.Helper()
	r, w := httptest.NewRequestWithContext(t.Context(), http.MethodPost, apisession.Path, nil), httptest.NewRecorder()
	r.Header.Set("X-Session-API-Key", nativeKey)
	if err := cookies.Routes()[0].Handle(w, r); err != nil {
		t.Fatalf("make a cookie: %v", err)
	}
	value, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
	return value
}
