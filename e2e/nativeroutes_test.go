//go:build e2e

package e2e_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestEveryRouteOfAnAgentServerIsAnswered looks for the routes of an agent-server 1.43.1
// in the document of the embedded engine: each is served, or answers why it is not.
func TestEveryRouteOfAnAgentServerIsAnswered(t *testing.T) {
	t.Parallel()
	g := serveEmbedded(t, racyProgram(t), "http://127.0.0.1:1", "--native", "--sandbox", "off")
	res, err := http.Get(g.URL + "/openapi.json") //nolint:noctx // the daemon ends with the test
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }() // It was only read.
	var doc struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.NewDecoder(res.Body).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	parameter := regexp.MustCompile(`\{\w+\}`)
	answered := map[string]bool{ // those of the daemon itself, and of the document, which does not name itself
		"GET /": true, "GET /health": true, "GET /docs": true, "GET /redoc": true, "GET /openapi.json": true,
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			answered[strings.ToUpper(method)+" "+parameter.ReplaceAllString(path, "{}")] = true
		}
	}
	routes, err := os.ReadFile("../daemon/native/testdata/routes.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(routes)) {
		method, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if route := method + " " + parameter.ReplaceAllString(path, "{}"); method != "WS" && !strings.HasPrefix(path, "/v1/") && !answered[route] {
			t.Errorf("nobody answers %s", route)
		}
	}
}

// TestEveryRouteIsServedOrInTheTable sends a request to every route of an agent-server:
// those in the table of docs/native.md answer 501 as it says, and no other one does.
func TestEveryRouteIsServedOrInTheTable(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/native.md")
	if err != nil {
		t.Fatal(err)
	}
	parameter := regexp.MustCompile(`\{\w+\}`)
	table := map[string]string{} // the reasons
	for _, row := range regexp.MustCompile("(?m)^\\| `([A-Z]+ /api/[^`]+)` \\| (.+) \\|$").FindAllStringSubmatch(string(doc), -1) {
		table[parameter.ReplaceAllString(row[1], someID)] = row[2]
	}
	g := serveEmbedded(t, racyProgram(t), "http://127.0.0.1:1", "--native", "--sandbox", "off")
	for _, r := range agentServerRoutes(t) {
		name := r.method + " " + r.path
		why, missing := table[name]
		delete(table, name)
		if r.header != nil || r.path == "/api/init" {
			continue // sockets have tests of their own, and init is a 404 where nothing is to be done
		}
		res := send(t, r.method, g.URL+r.path, "{}", "Content-Type", "application/json", "X-Session-API-Key", gatewayKey)
		body := bodyOf(t, res)
		if missing {
			want := `{"detail":"Internal Server Error","exception":"501: ohgw does not serve this: ` + why + `."}`
			if res.StatusCode != http.StatusNotImplemented || body != want {
				t.Errorf("%s: %d %s\nwant 501 %s", name, res.StatusCode, body, want)
			}
			continue
		}
		unknown := res.StatusCode == http.StatusNotFound && !strings.Contains(r.path, someID)
		if unknown || res.StatusCode == http.StatusNotImplemented || res.StatusCode == http.StatusMethodNotAllowed {
			t.Errorf("%s is not served: %d %s", name, res.StatusCode, body)
		}
	}
	for name := range table {
		t.Errorf("the table has %s, which an agent-server has not", name)
	}
}
