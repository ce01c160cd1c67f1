package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/providertest"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/daemon/gate"
)

// childVariable makes the test binary the gateway that is traced.
const childVariable = "OHGW_DAEMON_TEST_CHILD"

// childConfig is where the traced gateway keeps its files, and the server of the test.
type childConfig struct{ Dir, Model, URL string }

// child serves a gateway with the embedded agent, and tells the server of the test its
// address.
func child(config string) error {
	var c childConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	to, err := url.Parse(c.URL)
	if err != nil {
		return err
	}
	_, d, err := embedded(c.Dir, c.Model, 1, toServer{to})
	if err != nil {
		return err
	}
	var listen net.ListenConfig
	ln, err := listen.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		res, err := http.Post(c.URL+"/address", "text/plain", strings.NewReader(ln.Addr().String()))
		if err != nil {
			panic(err)
		}
		_ = res.Body.Close() // It is empty.
	}()
	return d.Serve(context.Background(), ln)
}

// toServer sends what is meant for a provider to the server of the test.
type toServer struct{ url *url.URL }

func (s toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.URL.Path, r.Host = s.url.Scheme, s.url.Host, "/llm", s.url.Host
	return http.DefaultTransport.RoundTrip(r)
}

// embedded is a gateway with the embedded agent over a directory, as process pid.
func embedded(dir, model string, pid int, provider http.RoundTripper) (*engine.Backend, *daemon.Daemon, error) {
	cfg := enginetest.Engine("", enginetest.NewProfiles("default", "test"))
	cfg.Dir, cfg.Files = filepath.Join(dir, "conversations"), enginetest.Disk{}
	cfg.Holder.PID, cfg.Holder.Alive = pid, func(other int) bool { return other == pid }
	cfg.NewModel = func(_ engine.Profile, usage string) (llm.Model, error) {
		p, err := llm.ParseProfile([]byte(`{"model":"` + model + `","api_key":"k","num_retries":1,"retry_min_wait":0,"retry_max_wait":0}`))
		if err != nil {
			return nil, err
		}
		return llm.New(llm.Config{Profile: p, UsageID: usage, HTTP: &http.Client{Transport: provider}})
	}
	backend := engine.New(cfg)
	d, err := daemon.New(daemon.Config{
		Config: gate.Config{
			Backend: backend, InProcess: true, Tokens: apitest.Tokens{},
			StateDir: filepath.Join(dir, "state"), WorkspaceRoot: filepath.Join(dir, "workspaces"),
		},
		Options:   completions.Options{AnswerOnly: true},
		BackendID: "embedded", Version: "9.9.9", Drain: -1,
	})
	if err != nil {
		return nil, nil, errors.Join(err, backend.Close())
	}
	return backend, d, nil
}

// asked finds the messages of the test in a request.
var asked = regexp.MustCompile(`message \d+\.`)

// question is the last message in a request to a provider.
func question(body []byte) string {
	all := asked.FindAll(body, -1)
	if len(all) == 0 {
		return "nothing"
	}
	return strings.TrimSuffix(string(all[len(all)-1]), ".")
}

// answerTo is the payloads of the answer to a question: a text that names it.
func answerTo(a providertest.Adapter, body []byte) []string {
	out := make([]string, len(a.Text))
	for i, p := range a.Text {
		out[i] = strings.ReplaceAll(p, "Done.", "Done with "+question(body)+".")
	}
	return out
}

// answers are what a provider says: calls of a tool, texts that name the question, and
// odd bytes in both.
func answers(a providertest.Adapter, seed uint64) func(n int, body []byte) (int, string, []byte) {
	const patience = 30 // requests, of which some are odd
	tool := strings.NewReplacer(`"look"`, `"think"`, `"at"`, `"thought"`, `\"at\"`, `\"thought\"`)
	return func(n int, body []byte) (int, string, []byte) {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		payloads := answerTo(a, body)
		if n < patience && n%2 == 1 {
			payloads = make([]string, len(a.Calls))
			for i, p := range a.Calls {
				payloads[i] = tool.Replace(p)
			}
			if seed%2 == 0 || rng.IntN(2) == 0 {
				payloads = renamed(payloads, n)
			}
		}
		if n < patience && rng.IntN(3) == 0 {
			payloads = providertest.Spoil(rng, payloads)
		}
		return http.StatusOK, a.Kind, a.Frames(payloads)
	}
}

// renamed are calls with ids of their own.
func renamed(payloads []string, n int) []string {
	out := make([]string, len(payloads))
	for i, p := range payloads {
		out[i] = strings.NewReplacer("call_a", fmt.Sprint("call_a", n), "call_b", fmt.Sprint("call_b", n), "toolu_", fmt.Sprint("toolu_", n), "tooluse_", fmt.Sprint("tooluse_", n)).Replace(p)
	}
	return out
}

// askOnce sends one request of a history to a gateway.
func askOnce(ctx context.Context, c *http.Client, base string, q asking) (reply, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+q.path, bytes.NewReader([]byte(q.body)))
	if err != nil {
		return reply{}, err
	}
	r.Header.Set("Authorization", "Bearer "+apitest.Key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-OpenHands-ServerConversation-ID", apitest.Conversation)
	if q.key != "" {
		r.Header.Set("Idempotency-Key", q.key)
	}
	res, err := c.Do(r)
	if err != nil {
		return reply{}, err
	}
	return readReply(res)
}

// end stops a gateway of embedded, which serves no more.
func end(cancel context.CancelFunc, served <-chan error, d *daemon.Daemon, b *engine.Backend) error {
	cancel()
	select {
	case err := <-served:
		return errors.Join(err, d.Close(), b.Close())
	case <-time.After(time.Minute):
		return errors.New("the gateway does not end")
	}
}
