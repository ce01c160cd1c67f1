//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/testkit/pgtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// team is a database and an agent-server for gateways that answer as one.
type team struct {
	t             *testing.T
	pg            *pgtest.Server
	database, url string
	dir           string        // has the home directories
	turns         atomic.Int64  // that the model was asked for
	asked         chan struct{} // gets one for each turn
	release       chan struct{} // one for each turn whose answer may come
	gateways      int
	env           []string // of its commands, beside the usual
}

// newTeam makes a team whose model answers each turn once the test releases it.
func newTeam(t *testing.T) *team {
	t.Helper()
	pg, err := pgtest.New()
	if errors.Is(err, pgtest.ErrMissing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pg.Stop)
	m := &team{t: t, pg: pg, database: pg.Database(t), dir: t.TempDir(), asked: make(chan struct{}, 16), release: make(chan struct{}, 16)}
	server := fakeserver.New(t, fakeserver.Options{Model: func(ctx context.Context, p fakeserver.Prompt, _ func(string)) (fakeserver.Reply, error) {
		m.turns.Add(1)
		m.asked <- struct{}{}
		select {
		case <-m.release:
		case <-ctx.Done():
			return fakeserver.Reply{}, ctx.Err()
		}
		last := p.Messages[len(p.Messages)-1]
		return fakeserver.Reply{Text: "You said: " + last.Content[len(last.Content)-1].Text}, nil
	}})
	server.SaveProfile("mock", fakeserver.Profile{Model: "openai/mock"})
	server.Activate("mock")
	m.url = server.URL
	if out, err := m.command("state", "migrate").CombinedOutput(); err != nil {
		t.Fatalf("the database is not prepared: %v\n%s", err, out)
	}
	return m
}

func (m *team) command(args ...string) *exec.Cmd {
	m.gateways++
	home := filepath.Join(m.dir, strconv.Itoa(m.gateways)) // as on machines of their own
	if err := os.MkdirAll(filepath.Join(home, "run"), 0o700); err != nil {
		m.t.Fatal(err)
	}
	cmd := exec.Command("ohgw", args...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + filepath.Join(home, "run"), "OHGW_STATE=" + m.database, "OHGW_AGENT_SERVER_URL=" + m.url,
		"OHGW_KEY_STORE=file", "OHGW_API_KEYS=sk-test", "GORACE=atexit_sleep_ms=0",
	}
	cmd.Env = append(cmd.Env, m.env...)
	return cmd
}

// member is a gateway of a team.
type member struct {
	m   *team
	cmd *exec.Cmd
	log *bytes.Buffer // complete when the gateway has ended
	url string
}

// start starts another gateway.
func (m *team) start(args ...string) *member {
	m.t.Helper()
	g := &member{m: m, cmd: m.command(append([]string{"serve", "--addr", "127.0.0.1:0", "--json"}, args...)...), log: &bytes.Buffer{}}
	g.cmd.Stderr = g.log
	out, err := g.cmd.StdoutPipe()
	if err == nil {
		err = g.cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = g.end(syscall.SIGKILL) }) // it reports the signal
	var ready struct {
		URL string `json:"base_url"`
	}
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		_ = g.end(syscall.SIGKILL) // it reports the signal
		m.t.Fatalf("the gateway is not ready: %v\n%s", err, g.log)
	}
	g.url = ready.URL
	return g
}

// end ends the gateway by a signal and waits for it. The error is how it ended.
func (g *member) end(by syscall.Signal) error {
	if g.cmd.ProcessState != nil {
		return nil
	}
	_ = g.cmd.Process.Signal(by) // it may have ended
	return g.cmd.Wait()
}

// reply is an answer, or why there is none.
type reply struct {
	status int
	header http.Header
	body   string
	err    error
}

// id is the id of a chat completion.
func (r reply) id() string {
	var c struct{ ID string }
	_ = json.Unmarshal([]byte(r.body), &c) // it is empty then
	return c.ID
}

// ask sends a message under an idempotency key.
func (g *member) ask(key, text string) <-chan reply {
	g.m.t.Helper()
	ctx, cancel := context.WithTimeout(g.m.t.Context(), waittest.Patience)
	body := `{"model":"openhands","messages":[{"role":"user","content":` + strconv.Quote(text) + `}]}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/chat/completions", strings.NewReader(body))
	if err != nil {
		g.m.t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer sk-test", "Content-Type": "application/json", "Idempotency-Key": key} {
		req.Header.Set(name, value)
	}
	came := make(chan reply, 1)
	go func() { // ends with the answer, which has a limit
		defer cancel()
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			came <- reply{err: err}
			return
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		came <- reply{res.StatusCode, res.Header, string(text), err}
	}()
	return came
}

func (m *team) answered(what string, r reply, text string) {
	m.t.Helper()
	if r.err != nil || r.status != http.StatusOK || !strings.Contains(r.body, `"content":"You said: `+text+`"`) {
		m.t.Errorf("the answer of %s = %d %s, error = %v, want that to %q", what, r.status, r.body, r.err, text)
	}
}

// status gets the status of a path of the gateway.
func (g *member) status(path string) int {
	g.m.t.Helper()
	res, err := http.Get(strings.TrimSuffix(g.url, "/v1") + path)
	if err != nil {
		g.m.t.Fatal(err)
	}
	_ = res.Body.Close() // it was read as far as it matters
	return res.StatusCode
}

// await waits until the list of gateways says something.
func (m *team) await(what, says string) {
	m.t.Helper()
	waittest.Until(m.t, waittest.Patience, what, func() (any, bool) {
		out, err := m.command("state", "status", "--json").Output()
		return string(out), err == nil && strings.Contains(string(out), says)
	})
}
