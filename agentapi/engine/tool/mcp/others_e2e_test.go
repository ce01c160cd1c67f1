//go:build e2e

package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// others is where scripts/mcp-servers has installed the servers. Without them the test
// is skipped, and fails in CI only where OHGW_TEST_MCP_SERVERS says that they are there.
func others(t *testing.T) string {
	t.Helper()
	root := os.Getenv("OHGW_MCP_SERVERS_ROOT")
	if root == "" {
		root = "/var/lib/ohgw-mcp-servers"
	}
	if _, err := os.Stat(filepath.Join(root, "installed")); err != nil {
		message := fmt.Sprintf("there are no MCP servers: run scripts/mcp-servers install (%v)", err)
		if os.Getenv("CI") == "true" && os.Getenv("OHGW_TEST_MCP_SERVERS") == "installed" {
			t.Fatal(message)
		}
		t.Skip(message)
	}
	return root
}

// other is one server, and a call whose result has a text.
type other struct {
	pkg, settings    string
	call, args, want string
}

// noBrowser is in the answer of Playwright's server. Each of its tools starts a browser
// first, which would be larger than all servers: the answer is the error that there is
// none.
const noBrowser = "no-browser"

// TestServersOfOthers prints a table of servers that are in use elsewhere: each is
// started, lists its tools and answers a call.
func TestServersOfOthers(t *testing.T) {
	root, dir := others(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("a note"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "-q", "-b", "trunk", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><body><main><h1>A page</h1><p>of words</p></main></body></html>")
	}))
	defer page.Close()
	node := func(name string, args ...string) string {
		return command(t, filepath.Join(root, "npm/node_modules/.bin", name), dir, args...)
	}
	python := func(name string, args ...string) string {
		return command(t, filepath.Join(root, "venv/bin", name), dir, args...)
	}
	http := startEverything(t, root, freePort(t))
	fmt.Println("| server | version | transport | tools | call | result |\n| --- | --- | --- | --- | --- | --- |")
	for _, o := range []other{
		{"@modelcontextprotocol/server-filesystem", node("mcp-server-filesystem", dir), "read_text_file", `{"path":` + strconv.Quote(filepath.Join(dir, "note.txt")) + `}`, "a note"},
		{"@modelcontextprotocol/server-memory", node("mcp-server-memory"), "create_entities", `{"entities":[{"name":"ohgw","entityType":"program","observations":["is a gateway"]}]}`, "is a gateway"},
		{"@modelcontextprotocol/server-sequential-thinking", node("mcp-server-sequential-thinking"), "sequentialthinking", `{"thought":"one","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, `"thoughtNumber": 1`},
		{"@modelcontextprotocol/server-everything", node("mcp-server-everything", "stdio"), "get-resource-reference", `{"resourceType":"Text","resourceId":1}`, "[resource demo://resource/dynamic/text/1, text/plain]"},
		{"@modelcontextprotocol/server-everything", `{"url":"` + http.url + `"}`, "echo", `{"message":"hello"}`, "hello"},
		{"@playwright/mcp", node("playwright-mcp", "--headless", "--executable-path", filepath.Join(dir, "no-browser")), "browser_close", `{}`, noBrowser},
		{"mcp-server-fetch", python("mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips"), "fetch", `{"url":"` + page.URL + `"}`, "of words"},
		{"mcp-server-git", python("mcp-server-git"), "git_status", `{"repo_path":` + strconv.Quote(dir) + `}`, "note.txt"},
		{"mcp-server-time", python("mcp-server-time"), "convert_time", `{"source_timezone":"UTC","time":"12:00","target_timezone":"Asia/Tokyo"}`, "21:00"},
	} {
		c := connect(t, config(`{"srv":`+o.settings+`}`))
		got, isError := call(t, c, o.call, o.args)
		if isError && o.want != noBrowser || !strings.Contains(got, o.want) {
			t.Errorf("%s of %s: %s", o.call, o.pkg, got)
		}
		if len(c.Partial()) > 0 {
			t.Error(c.Partial())
		}
		status := c.Status()[0]
		if status.Reason != "" {
			t.Logf("%s: %s", o.pkg, status.Reason)
		}
		_, got, _ = strings.Cut(got, "|")
		if isError {
			got = "no browser is installed, and each of its tools starts one"
		}
		fmt.Printf("| %s | %s | %s | %d | `%s` | %s |\n", o.pkg, versionOf(t, root, o.pkg), status.Transport, len(status.Tools), o.call, shortened(got))
	}
	restartsWith(t, root, http)
}

// restartsWith restarts a server between two calls.
func restartsWith(t *testing.T, root string, server everything) {
	t.Helper()
	c := connect(t, config(`{"srv":{"url":"`+server.url+`"}}`))
	for range 2 {
		if got, isError := call(t, c, "echo", `{"message":"again"}`); isError || !strings.Contains(got, "again") {
			t.Errorf("after a restart: %s", got)
		}
		server.stop()
		server = startEverything(t, root, server.port)
	}
	if got, isError := call(t, c, "echo", `{"message":"again"}`); isError || !strings.Contains(got, "again") {
		t.Errorf("after a restart: %s", got)
	}
}

func shortened(text string) string {
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
	if letters := []rune(text); len(letters) > 60 {
		text = string(letters[:60]) + "…"
	}
	return text
}

func command(t *testing.T, program, dir string, args ...string) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{"command": program, "args": append([]string{}, args...), "cwd": dir, "env": map[string]string{
		"HOME": dir, "MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// versionOf is the version of an installed package.
func versionOf(t *testing.T, root, pkg string) string {
	t.Helper()
	if data, err := os.ReadFile(filepath.Join(root, "npm/node_modules", pkg, "package.json")); err == nil {
		var described struct{ Version string }
		if err := json.Unmarshal(data, &described); err != nil {
			t.Fatal(err)
		}
		return described.Version
	}
	prefix := strings.ReplaceAll(pkg, "-", "_") + "-"
	found, err := filepath.Glob(filepath.Join(root, "venv/lib/python*/site-packages", prefix+"*.dist-info"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s is installed as %q: %v", pkg, found, err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), prefix), ".dist-info")
}

// everything is server-everything over streamable HTTP.
type everything struct {
	port int
	url  string
	stop func()
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func startEverything(t *testing.T, root string, port int) everything {
	t.Helper()
	cmd := exec.Command(filepath.Join(root, "npm/node_modules/.bin/mcp-server-everything"), "streamableHttp")
	cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port))
	printed, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	up, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(printed)
		for told := false; lines.Scan(); {
			if !told && strings.Contains(lines.Text(), strconv.Itoa(port)) {
				told = true
				close(up)
			}
		}
		_ = cmd.Wait() // it was killed
	}()
	select {
	case <-up:
	case <-ended:
		t.Fatal("server-everything has ended")
	}
	stop := func() { _ = cmd.Process.Kill(); <-ended }
	t.Cleanup(stop)
	return everything{port, fmt.Sprintf("http://127.0.0.1:%d/mcp", port), stop}
}
