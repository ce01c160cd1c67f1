//go:build e2e

package differential_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/processtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

const (
	// plainLog keeps an agent-server from drawing a box around each error, which takes it
	// seconds on a busy machine.
	plainLog = "LOG_JSON=true"
	key      = "ohgw-differential-key-0123456789"
	patience = time.Minute
)

// side is a server that is asked.
type side struct {
	name, url, key string
	dir            string            // where it works
	vars           map[string]string // by name, as in the script
	asked          int
}

// TestOhgwAnswersAsAnAgentServer plays one script against a real agent-server and
// against ohgw with its embedded agent.
func TestOhgwAnswersAsAnAgentServer(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	agents := agentservertest.Start(t, plainLog)
	real := newSide(t, "real", agents.URL, agents.Key, llm.URL)
	ours := newSide(t, "ours", startOurs(t), key, llm.URL)
	table := readKnown(t, "testdata/differences.tsv")
	sockets := 0
	for line := range steps(t) {
		if strings.HasPrefix(line, "SOCKET ") {
			sockets++
		}
		a, b := real.play(t, line), ours.play(t, line)
		step := strings.TrimSpace(strings.SplitN(line, " -> ", 2)[0])
		for _, d := range differ("", a, b) {
			if !explained(table, step, d) {
				t.Errorf("step %s:\n\t%s", step, d)
			}
		}
	}
	unused(t, table)
	if real.asked < 300 || sockets < 20 {
		t.Errorf("%d requests and %d sockets, want 300 and 20", real.asked, sockets)
	}
	t.Logf("%d requests, %d sockets, %d rows of differences", real.asked, sockets, len(table))
}

func explained(table []*known, step, difference string) bool {
	place, _, _ := strings.Cut(difference, ": ")
	for _, k := range table {
		if k.step.MatchString(step) && k.place.MatchString(place) {
			k.used = true
			return true
		}
	}
	return false
}

func newSide(t *testing.T, name, url, key, llm string) *side {
	t.Helper()
	dir := t.TempDir()
	repository := filepath.Join(dir, "repository")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", repository},
		{"-C", repository, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "first"},
	} {
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(repository, "new.txt"), []byte("tea\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	writeExtensions(t, dir)
	return &side{name: name, url: url, key: key, dir: dir, vars: map[string]string{"dir": dir, "llm": llm, "key": key}}
}

// writeExtensions makes plugins and skills, some of them bad, and a repository with one of
// each. Both sides have the same commit.
func writeExtensions(t *testing.T, dir string) {
	t.Helper()
	const (
		manifest = `{"name":"%s","version":"2.0.0","description":"A test."}`
		command  = "---\ndescription: Greets.\n---\nSay good morning."
		skill    = "---\nname: %s\ndescription: Does it.\n---\nDo it."
	)
	files := map[string]string{
		"plain/commands/greet.md": command, "torn/.plugin/plugin.json": `{"name":`, "nameless/.plugin/plugin.json": "{}",
		"upper/.plugin/plugin.json": fmt.Sprintf(manifest, "Upper"), "dots/.plugin/plugin.json": fmt.Sprintf(manifest, "../x"),
		"directory/.plugin/plugin.json/x": "", "file": "", "skills/talk/SKILL.md": fmt.Sprintf(skill, "talk"), "skills/wrong/SKILL.md": fmt.Sprintf(skill, "other"),
		"skills/odd/SKILL.md": "---\nname: [\n---\n", "repo/skills/sub/SKILL.md": fmt.Sprintf(skill, "sub"),
		"market/.plugin/marketplace.json":       `{"name":"m","owner":{"name":"o"},"plugins":[{"name":"alpha","source":"./alpha"},{"name":"both","source":"./alpha"},{"name":"gone","source":"./gone"}]}`,
		"other/.claude-plugin/marketplace.json": `{"name":"m","owner":{"name":"o"},"plugins":[{"name":"both","source":"./beta"}]}`, "bad/.plugin/marketplace.json": "{",
		"link/.plugin/plugin.json": fmt.Sprintf(manifest, "link"), "pipe/.plugin/plugin.json": fmt.Sprintf(manifest, "pipe"),
	}
	for at, name := range map[string]string{"good": "good", "market/alpha": "alpha", "repo": "repo", "repo/plugins/inside": "inside"} {
		files[at+"/.plugin/plugin.json"] = fmt.Sprintf(manifest, name)
		files[at+"/commands/greet.md"] = command
	}
	base := filepath.Join(dir, "extensions")
	for name, text := range files {
		file := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"init -q -b main", "add .", "commit -q -m 1", "tag v1"} {
		cmd := exec.CommandContext(t.Context(), "git", strings.Fields("-c user.name=t -c user.email=t@example.com "+args)...)
		cmd.Dir = filepath.Join(base, "repo")
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v %s", args, err, out)
		}
	}
	err := errors.Join(os.Symlink("loop", filepath.Join(base, "link/loop")), syscall.Mkfifo(filepath.Join(base, "pipe/pipe"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
}

// startOurs starts ohgw outside of the sandbox: paths and users are the machine's, as
// they are to an agent-server. The settings are those of its file.
func startOurs(t *testing.T, settings ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "ohgw")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/ohgw/ohgw/cmd/ohgw").CombinedOutput(); err != nil {
		t.Fatalf("build: %v %s", err, out)
	}
	home, address := t.TempDir(), processtest.FreeAddress(t)
	file := filepath.Join(home, ".config", "ohgw", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Join(settings, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program,
		"serve", "--addr", address, "--backend", "embedded", "--native", "--sandbox", "off", "--key-store", "file", "--log-format", "json")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"OHGW_API_KEYS=" + key, "OH_SECRET_KEY=differential-secret-0123456789abcdef", "TMPDIR=" + t.TempDir(),
	}
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		_ = cmd.Wait()                       // its status says nothing here
		if t.Failed() {
			t.Logf("log of ohgw:\n%s", log.String())
		}
	})
	url := "http://" + address
	waittest.Until(t, patience, "ohgw answers", func() (any, bool) {
		resp, err := http.Get(url + "/alive")
		if err != nil {
			return err, false
		}
		_ = resp.Body.Close() // only its status counts
		return resp.Status, resp.StatusCode == http.StatusOK
	})
	return url
}

var variable = regexp.MustCompile(`\$\{(\w+)\}`)

func (s *side) fill(text string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		if v, ok := s.vars[name[2:len(name)-1]]; ok {
			return v
		}
		return name
	})
}

// play makes one step and gives the answer: its status and its normalized body.
func (s *side) play(t *testing.T, line string) any {
	t.Helper()
	line, saves, _ := strings.Cut(line, " -> ")
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "WAIT":
		return s.wait(t, rest)
	case "SOCKET":
		return s.socket(t, rest)
	}
	path, body, _ := strings.Cut(rest, " ")
	status, answer := s.ask(t, verb, s.fill(path), s.fill(body))
	if saves != "" {
		name, place, _ := strings.Cut(saves, "=")
		s.vars[name] = find(answer, place)
	}
	return map[string]any{"status": float64(status), "body": normalized(answer, s.known())}
}

// known are the values of the variables, to be replaced by their names.
func (s *side) known() map[string]string {
	replace := map[string]string{s.url: "URL"}
	for name, v := range s.vars {
		if len(v) > 8 {
			replace[v] = "${" + name + "}"
			replace[strings.ReplaceAll(v, "-", "")] = "${" + name + "}"
		}
	}
	return replace
}

// ask makes a request. A first word of the body such as "X-Expose-Secrets:plaintext" is a header.
func (s *side) ask(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	s.asked++
	headers := map[string]string{"X-Session-API-Key": s.key, "Content-Type": "application/json"}
	for strings.HasPrefix(body, "@") {
		var word string
		word, body, _ = strings.Cut(body[1:], " ")
		name, value, _ := strings.Cut(word, ":")
		headers[name] = value
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("%s: %s %s: %v", s.name, method, path, err)
	}
	defer func() { _ = resp.Body.Close() }() // It was only read.
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// find is the text at a place such as "items.0.id" of a JSON answer.
func find(answer, place string) string {
	var v any
	if json.Unmarshal([]byte(answer), &v) != nil {
		return answer
	}
	for name := range strings.SplitSeq(place, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(x) {
				return ""
			}
			v = x[i]
		}
	}
	text, _ := v.(string)
	return text
}

// wait waits for one of some statuses of a conversation: "ID status|status".
func (s *side) wait(t *testing.T, rest string) any {
	t.Helper()
	id, wanted, _ := strings.Cut(s.fill(rest), " ")
	status := ""
	waittest.Until(t, patience, s.name+": a conversation with the status "+wanted, func() (any, bool) {
		_, answer := s.ask(t, http.MethodGet, "/api/conversations/"+id, "")
		s.asked--
		status = find(answer, "execution_status")
		return answer, strings.Contains("|"+wanted+"|", "|"+status+"|")
	})
	time.Sleep(150 * time.Millisecond) // statistics of the agent-server come late
	return status
}
