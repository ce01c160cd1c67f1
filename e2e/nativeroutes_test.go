//go:build e2e

package e2e_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
)

// TestTheRoutesAreThoseOfTheNewestAgentServer compares the list of routes with the document
// of a real server. A route that came or went there is a decision here.
func TestTheRoutesAreThoseOfTheNewestAgentServer(t *testing.T) {
	t.Parallel()
	server := agentservertest.Start(t)
	var doc struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	server.Call(t, http.MethodGet, "/openapi.json", nil, &doc)
	served := map[string]bool{}
	for path, methods := range doc.Paths {
		for method := range methods {
			served[strings.ToUpper(method)+"\t"+path] = true
		}
	}
	routes, err := os.ReadFile("../daemon/openhandsapi/testdata/routes.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(routes)) {
		line = strings.TrimSpace(line)
		if !served[line] && !strings.HasPrefix(line, "WS\t") {
			t.Errorf("the agent-server does not have %s any more", line)
		}
		delete(served, line)
	}
	for route := range served {
		t.Errorf("the list lacks %s", route)
	}
}

// TestEveryRouteOfAnAgentServerIsAnswered looks for the routes of an agent-server 1.58.2
// in the document of the embedded engine: each is served, or answers why it is not.
func TestEveryRouteOfAnAgentServerIsAnswered(t *testing.T) {
	t.Parallel()
	g := serveEmbedded(t, racyProgram(t), "http://127.0.0.1:1", "--native", "--sandbox", "off")
	res, err := http.Get(g.URL + "/openapi.json")
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
	routes, err := os.ReadFile("../daemon/openhandsapi/testdata/routes.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(routes)) {
		method, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if route := method + " " + parameter.ReplaceAllString(path, "{}"); method != "WS" && !strings.HasPrefix(path, "/v1/") && !strings.HasPrefix(path, "/app-backends/") && !answered[route] {
			t.Errorf("nobody answers %s", route)
		}
	}
}
