package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/cli"
	"github.com/ohgw/ohgw/cli/clitest"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/testkit/proxytest"
)

// flow is a machine with model servers, of which each remembers what it was sent.
type flow struct {
	t         *testing.T
	app       *clitest.App
	variables map[string]string
	base      string // OpenHands' files
	hosts     []*flowHost
	keys      []flowKey
}

// flowHost is a model server that refuses every key.
type flowHost struct {
	url  string
	mu   sync.Mutex
	seen []string // headers and body of each request
}

// flowKey is a key, and the host that it was stored for.
type flowKey struct {
	text string
	host *flowHost // nil: for none of them
}

func newFlow(t *testing.T, hosts int) *flow {
	t.Helper()
	f := &flow{t: t, base: filepath.Join(t.TempDir(), "oh")}
	f.variables = map[string]string{
		"OH_PERSISTENCE_DIR": f.base, "TERM": "xterm", "OHGW_SANDBOX_MODE": "off", "OHGW_BACKEND": "embedded", "PATH": os.Getenv("PATH"),
		"OHGW_ADDR": "127.0.0.1:1", // no daemon of this machine
	}
	f.app = clitest.New(t, f.variables)
	for range hosts {
		f.hosts = append(f.hosts, newFlowHost(t, "127.0.0.1:0", nil))
	}
	return f
}

// newFlowHost is a model server at an address. next answers; nil: every request is
// refused.
func newFlowHost(t *testing.T, address string, next http.Handler) *flowHost {
	t.Helper()
	h := &flowHost{}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what was sent before an error counts, too
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.mu.Lock()
		h.seen = append(h.seen, fmt.Sprint(r.URL, r.Header, string(body)))
		h.mu.Unlock()
		if next != nil {
			next.ServeHTTP(w, r)
			return
		}
		http.Error(w, `{"error":{"message":"no","code":"invalid_api_key"}}`, http.StatusUnauthorized)
	}))
	_ = s.Listener.Close() // another one takes its place
	s.Listener = ln
	s.Start()
	t.Cleanup(s.Close)
	h.url = s.URL
	return h
}

// got is how many requests had a key.
func (h *flowHost) got(key string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, text := range h.seen {
		if strings.Contains(text, key) {
			n++
		}
	}
	return n
}

// passTo passes requests on to a server.
func passTo(t *testing.T, to string) http.Handler {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return proxytest.Duplex(httputil.NewSingleHostReverseProxy(u))
}

// run runs a command line. The test does not fail if the command does: what it sends
// counts.
func (f *flow) run(stdin string, args ...string) int {
	f.t.Helper()
	f.app.Out.Reset()
	f.app.Err.Reset()
	f.app.Stdin = strings.NewReader(stdin)
	return cli.Run(context.WithoutCancel(f.t.Context()), f.app.Env, args)
}

// must runs a command line that works.
func (f *flow) must(stdin string, args ...string) {
	f.t.Helper()
	if code := f.run(stdin, args...); code != 0 {
		f.t.Fatalf("arguments %v: exit code %d\n%s", args, code, f.app.Err.String())
	}
}

// newKey is a key for a host.
func (f *flow) newKey(host *flowHost) string {
	k := flowKey{text: fmt.Sprintf("sk-key-%d-of-%s", len(f.keys), strings.ReplaceAll(f.t.Name(), "/", "-")), host: host}
	f.keys = append(f.keys, k)
	return k.text
}

// addWork adds the profile work for a host, with a new key for it.
func (f *flow) addWork(host *flowHost, flags ...string) {
	f.t.Helper()
	args := []string{"profiles", "add", "work", "--provider", "openai", "--model", "m", "--base-url", host.url, "--no-check", "--key-from", "stdin"}
	f.must(f.newKey(host), append(args, flags...)...)
}

// use does everything that could send the key of a profile.
func (f *flow) use(name string) {
	f.t.Helper()
	f.run("", "profiles", "check", "--live", name)
	f.run("", "profiles", "use", name)
	f.run("", "doctor")
	f.run("", "chat", "-p", "--model", name, "hello")
	f.run("", "keys", "status")
}

// astray counts the keys that hosts were sent for which they were not stored.
func (f *flow) astray() int {
	f.t.Helper()
	n := 0
	for _, k := range f.keys {
		for _, h := range f.hosts {
			if sent := h.got(k.text); sent > 0 && h != k.host {
				f.t.Errorf("%s was sent to %s %d times", k.text, h.url, sent)
				n += sent
			}
		}
	}
	return n
}

// path is a file of OpenHands.
func (f *flow) path(rel string) string { return filepath.Join(f.base, filepath.FromSlash(rel)) }

func (f *flow) write(rel string, content any) {
	f.t.Helper()
	data, err := json.Marshal(content)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(f.path(rel)), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(f.path(rel), data, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// member is a member of a profile.
func (f *flow) member(name, member string) any {
	f.t.Helper()
	data, err := os.ReadFile(f.path("profiles/" + name + ".json"))
	if err != nil {
		f.t.Fatal(err)
	}
	var content map[string]any
	if err := json.Unmarshal(data, &content); err != nil {
		f.t.Fatal(err)
	}
	return content[member]
}

// edit changes members of a profile as an editor does.
func (f *flow) edit(name string, members map[string]any) {
	f.t.Helper()
	at := "profiles/" + name + ".json"
	data, err := os.ReadFile(f.path(at))
	if err != nil {
		f.t.Fatal(err)
	}
	var content map[string]any
	if err := json.Unmarshal(data, &content); err != nil {
		f.t.Fatal(err)
	}
	for member, value := range members {
		content[member] = value
	}
	f.write(at, content)
}

// connection writes the only provider connection.
func (f *flow) connection(url string) {
	f.write("provider-connections/provider_connections.json", map[string]any{
		"schema_version": 1, "connections": []any{map[string]any{"id": "c1", "name": "c", "provider": "openai", "base_url": url}},
	})
}

// ways are the ways to give the profile work, which is at host a and has a key there,
// the host b.
func ways() map[string]func(f *flow, a, b string) {
	return map[string]func(f *flow, a, b string){
		"profiles add --replace": func(f *flow, _, b string) {
			f.run("", "profiles", "add", "work", "--replace", "--provider", "openai", "--model", "m", "--base-url", b, "--no-check")
		},
		"profiles add --replace, checked": func(f *flow, _, b string) {
			f.run("", "profiles", "add", "work", "--replace", "--provider", "openai", "--model", "m", "--base-url", b)
		},
		"profiles add --replace with another provider": func(f *flow, _, b string) {
			f.variables["ANTHROPIC_API_BASE"] = b
			f.run("", "profiles", "add", "work", "--replace", "--provider", "anthropic", "--model", "claude-sonnet-4-5")
			f.edit("work", map[string]any{"model": "anthropic/claude-sonnet-4-5", "base_url": nil})
		},
		"profiles add --from-file": func(f *flow, _, b string) {
			f.run(`{"model":"openai/m","base_url":"`+b+`"}`, "profiles", "add", "work", "--replace", "--from-file", "-")
		},
		"profiles add --from-settings": func(f *flow, _, b string) {
			f.write("settings.json", map[string]any{"schema_version": 1, "agent_settings": map[string]any{"llm": map[string]any{"model": "openai/m", "base_url": b}}})
			f.run("", "profiles", "add", "work", "--replace", "--from-settings")
		},
		"an editor": func(f *flow, _, b string) { f.edit("work", map[string]any{"base_url": b + "/v1"}) },
		"an editor, Ollama": func(f *flow, _, b string) {
			f.edit("work", map[string]any{"model": "ollama/m", "base_url": nil, "ollama_base_url": b})
		},
		"an editor, Bedrock": func(f *flow, _, b string) {
			f.edit("work", map[string]any{"model": "bedrock/m", "base_url": nil, "aws_bedrock_runtime_endpoint": b})
		},
		"an editor, vLLM": func(f *flow, _, b string) {
			f.variables["HOSTED_VLLM_API_BASE"] = b
			f.edit("work", map[string]any{"model": "hosted_vllm/m", "base_url": nil})
		},
		"a variable": func(f *flow, _, b string) {
			f.variables["OPENAI_BASE_URL"] = b
			f.edit("work", map[string]any{"base_url": nil})
		},
		"an old variable": func(f *flow, _, b string) {
			f.variables["OPENAI_API_BASE"] = b
			f.edit("work", map[string]any{"base_url": ""})
		},
		"a provider connection": func(f *flow, _, b string) {
			f.connection(b)
			f.edit("work", map[string]any{"base_url": nil, "provider_connection_id": "c1"})
		},
		"a changed provider connection": func(f *flow, a, b string) {
			f.connection(a)
			f.edit("work", map[string]any{"base_url": nil, "provider_connection_id": "c1"})
			f.use("work")
			f.connection(b)
		},
		"rename, then an editor": func(f *flow, _, b string) {
			f.run("", "profiles", "rename", "work", "other")
			f.edit("other", map[string]any{"base_url": b})
			f.use("other")
			f.run("", "profiles", "rename", "other", "work")
		},
		"another profile takes the name": func(f *flow, _, b string) {
			f.run("", "profiles", "add", "other", "--provider", "openai", "--model", "m", "--base-url", b, "--no-check")
			if err := os.Remove(f.path("profiles/work.json")); err != nil {
				f.t.Fatal(err)
			}
			f.run("", "profiles", "rename", "other", "work")
		},
		"remove and add": func(f *flow, _, b string) {
			f.run("", "profiles", "remove", "work", "--yes")
			f.run("", "profiles", "add", "work", "--provider", "openai", "--model", "m", "--base-url", b, "--no-check")
		},
		"migrate": func(f *flow, _, b string) {
			f.edit("work", map[string]any{"base_url": b, "schema_version": 0})
			f.run("", "profiles", "migrate", "--yes")
			f.run("", "profiles", "migrate", "--to", "1.58.2", "--yes")
		},
		"keys import": func(f *flow, _, b string) {
			f.edit("work", map[string]any{"base_url": b})
			f.run("", "keys", "import")
		},
	}
}

// serve runs a daemon with OpenHands' own API, and gives its URL.
func (f *flow) serve() string {
	f.t.Helper()
	f.variables["OHGW_API_KEYS"], f.variables["OHGW_API_KEY"] = flowToken, flowToken
	ready := &readyLine{url: make(chan string, 1)}
	env := *f.app.Env
	env.Stdin, env.Stdout, env.Stderr = strings.NewReader(""), iostream.New(io.Discard, false, nil), iostream.New(ready, false, nil)
	ctx, stop := context.WithCancel(context.WithoutCancel(f.t.Context()))
	ended := make(chan int, 1)
	go func() { ended <- cli.Run(ctx, &env, []string{"serve", "--native", "--addr", "127.0.0.1:0"}) }()
	f.t.Cleanup(func() {
		stop()
		<-ended
	})
	select {
	case at := <-ready.url:
		return at
	case code := <-ended:
		ended <- code
		f.t.Fatalf("serve: exit code %d\n%s", code, ready.text.String())
		return ""
	}
}

const flowToken = "token-of-the-flow"

// readyLine takes the URL out of what serve says. Writes come from one process.
type readyLine struct {
	mu   sync.Mutex
	text strings.Builder
	said bool
	url  chan string
}

func (r *readyLine) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text.Write(p)
	if _, rest, found := strings.Cut(r.text.String(), "ready at "); found && !r.said {
		if at, _, whole := strings.Cut(rest, "/v1;"); whole {
			r.url <- at
			r.said = true
		}
	}
	return len(p), nil
}

// ask sends a request to OpenHands' own API.
func (f *flow) ask(method, at string, body any, header ...string) map[string]any {
	f.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		f.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(f.t.Context(), method, at, bytes.NewReader(data))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("X-Session-API-Key", flowToken)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := f.app.HTTP.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode >= 300 {
		f.t.Fatalf("%s %s: status = %s, answer %v, error %v", method, at, resp.Status, answer, err)
	}
	return answer
}

// OpenHands' own API changes profiles, too.
func TestNoRouteOfTheAPITakesAKeyAlong(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]func(f *flow, api, b string){
		"a profile saved without a key": func(f *flow, api, b string) {
			f.ask(http.MethodPost, api+"/api/profiles/work", map[string]any{"llm": map[string]any{"model": "openai/m", "base_url": b}})
		},
		"a profile with a mask for a key": func(f *flow, api, b string) {
			f.ask(http.MethodPost, api+"/api/profiles/work", map[string]any{"llm": map[string]any{"model": "openai/m", "base_url": b, "api_key": "**********"}})
		},
		"a profile sent back with its key": func(f *flow, api, b string) {
			llm := f.ask(http.MethodGet, api+"/api/profiles/work", nil, "X-Expose-Secrets", "plaintext")["config"].(map[string]any)
			llm["base_url"] = b
			f.ask(http.MethodPost, api+"/api/profiles/work", map[string]any{"llm": llm})
		},
		"a profile sent back with its encrypted key": func(f *flow, api, b string) {
			llm := f.ask(http.MethodGet, api+"/api/profiles/work", nil, "X-Expose-Secrets", "encrypted")["config"].(map[string]any)
			llm["base_url"] = b
			f.ask(http.MethodPost, api+"/api/profiles/work", map[string]any{"llm": llm})
		},
		"another profile that is renamed": func(f *flow, api, b string) {
			f.ask(http.MethodPost, api+"/api/profiles/other", map[string]any{"llm": map[string]any{"model": "openai/m", "base_url": b}})
			if err := os.Remove(f.path("profiles/work.json")); err != nil {
				f.t.Fatal(err)
			}
			f.ask(http.MethodPost, api+"/api/profiles/other/rename", map[string]any{"new_name": "work"})
		},
		"a try of the profile at another host": func(f *flow, api, b string) {
			f.ask(http.MethodPost, api+"/api/profiles/work/validate", map[string]any{"llm": map[string]any{"model": "openai/m", "base_url": b}})
		},
	} {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, of an older ohgw %v", name, old), func(t *testing.T) {
				t.Parallel()
				f := newFlow(t, 2)
				a, b := f.hosts[0], f.hosts[1]
				f.addWork(a)
				if old {
					f.forgetHosts()
				}
				way(f, f.serve(), b.url)
				f.use("work")
				if n := f.astray(); n != 0 {
					t.Errorf("%d keys astray", n)
				}
			})
		}
	}
}

// forgetHosts makes the keys those of an older ohgw.
func (f *flow) forgetHosts() {
	f.t.Helper()
	dirs, err := f.app.Paths()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dirs.State, "key-names-hosts.json")); err != nil {
		f.t.Fatal(err)
	}
}

func TestNoWayToAnotherHostTakesTheKeyAlong(t *testing.T) {
	t.Parallel()
	for name, way := range ways() {
		for _, used := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, used before %v", name, used), func(t *testing.T) {
				t.Parallel()
				f := newFlow(t, 2)
				a, b := f.hosts[0], f.hosts[1]
				f.addWork(a)
				if used {
					f.use("work")
					if a.got(f.keys[0].text) == 0 {
						t.Fatalf("the host of the key does not get it:\n%s", f.app.Err.String())
					}
				}
				way(f, a.url, b.url)
				f.use("work")
				if n := f.astray(); n != 0 {
					t.Fatalf("%d keys astray", n)
				}
				// The new host gets the key that was stored for it.
				if strings.HasPrefix(name, "profiles add") && f.member("work", "base_url") == a.url { // which was refused
					f.addWork(b, "--replace")
				} else {
					f.must(f.newKey(b), "keys", "set", "work", "--replace")
				}
				f.use("work")
				f.astray()
				if strings.Contains(name, "Bedrock") {
					return // whose requests are signed
				}
				if b.got(f.keys[1].text) == 0 {
					t.Errorf("the host does not get its own key:\n%s", f.app.Err.String())
				}
			})
		}
	}
}

// Keys of an older ohgw belong to the host of their first use.
func TestAKeyWithoutAHostStaysWithItsFirstOne(t *testing.T) {
	t.Parallel()
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFlow(t, 2)
			a, b := f.hosts[0], f.hosts[1]
			f.addWork(a)
			f.forgetHosts()
			f.run("", "chat", "-p", "--model", "work", "hello")
			way(f, a.url, b.url)
			f.use("work")
			if n := f.astray(); n != 0 || a.got(f.keys[0].text) == 0 {
				t.Fatalf("%d keys astray, %d at home", n, a.got(f.keys[0].text))
			}
		})
	}
}

// A machine on which the profile's host changes in random ways. Each new key is for the
// host of that time.
func TestRandomChangesSendNoKeyAstray(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			f := newFlow(t, 3)
			at := f.hosts[0]
			f.addWork(at)
			for range 8 {
				next := f.hosts[random.IntN(len(f.hosts))]
				step := random.IntN(5)
				switch step {
				case 0:
					f.edit("work", map[string]any{"base_url": next.url, "provider_connection_id": nil})
				case 1:
					f.connection(next.url)
					f.edit("work", map[string]any{"base_url": nil, "provider_connection_id": "c1"})
				case 2:
					delete(f.variables, "OPENAI_API_BASE")
					f.variables["OPENAI_BASE_URL"] = next.url
					f.edit("work", map[string]any{"base_url": nil, "provider_connection_id": nil})
				case 3:
					if f.run("", "profiles", "add", "work", "--replace", "--provider", "openai", "--model", "m", "--base-url", next.url, "--no-check") != 0 {
						next = at // which was refused
					}
				case 4:
					f.must(f.newKey(at), "keys", "set", "work", "--replace")
					next = at
				}
				at = next
				f.run("", "profiles", "check", "--live", "work")
				if n := f.astray(); n != 0 {
					t.Fatalf("step %d: %d keys astray", step, n)
				}
			}
		})
	}
}

// A server that was found gets no key, by any command; one that was named gets it.
func TestAServerThatWasFoundGetsNoKey(t *testing.T) {
	t.Parallel()
	for name, adopt := range map[string]func(f *flow, at string){
		"found": func(f *flow, at string) {
			f.app.Usual = func(string) string { return strings.TrimPrefix(at, "http://") }
		},
		"found, with the key of a model": func(f *flow, at string) {
			f.app.Usual = func(string) string { return strings.TrimPrefix(at, "http://") }
			f.variables["OHGW_AGENT_SERVER_LLM_KEY"] = "sk-key-of-a-variable"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFlow(t, 0)
			f.variables["OHGW_BACKEND"] = "auto"
			delete(f.variables, "OHGW_SANDBOX_MODE")
			fake := fakeserver.New(t, fakeserver.Options{})
			fake.SaveProfile("work", fakeserver.Profile{Model: "openai/m"})
			fake.Activate("work")
			server := newFlowHost(t, "127.0.0.1:0", passTo(t, fake.URL))
			f.hosts = append(f.hosts, server)
			adopt(f, server.url)
			f.must(f.newKey(nil), "profiles", "add", "work", "--provider", "openai", "--model", "m", "--no-check", "--key-from", "stdin")
			f.must(f.newKey(nil), "keys", "set", "provider:openai")
			f.keys = append(f.keys, flowKey{text: "sk-key-of-a-variable"})
			for _, args := range [][]string{{"chat", "-p", "--model", "work", "hello"}, {"doctor"}, {"models"}, {"status"}, {"conversations", "list"}, {}} {
				f.run("", args...)
			}
			if server.got("") == 0 {
				t.Fatal("nobody asked the server")
			}
			if n := f.astray(); n != 0 {
				t.Fatalf("%d keys astray", n)
			}
			f.keys[0].host = server
			f.variables["OHGW_AGENT_SERVER_URL"] = server.url
			f.run("", "chat", "-p", "--model", "work", "hello")
			if f.astray(); server.got(f.keys[0].text) == 0 {
				t.Errorf("the server does not get the key once it is named:\n%s", f.app.Err.String())
			}
		})
	}
}

// A key in a variable goes to its provider, to this machine, and nowhere else.
func TestAVariableIsReadForItsProviderOnly(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		provider, variable string
		elsewhere          bool // the host is not this machine for ohgw
		want               bool
	}{
		"this machine":                      {provider: "openai", variable: "OPENAI_API_KEY", want: true},
		"another machine":                   {provider: "openai", variable: "OPENAI_API_KEY", elsewhere: true},
		"another machine, Anthropic":        {provider: "anthropic", variable: "ANTHROPIC_API_KEY", elsewhere: true},
		"another provider":                  {provider: "anthropic", variable: "OPENAI_API_KEY"},
		"another provider, another machine": {provider: "openai", variable: "ANTHROPIC_API_KEY", elsewhere: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFlow(t, 0)
			address := "127.0.0.1:0"
			if tt.elsewhere {
				address = otherAddress(t) + ":0"
			}
			h := newFlowHost(t, address, nil)
			f.hosts = []*flowHost{h}
			key := f.newKey(nil)
			f.variables[tt.variable] = key
			f.must("", "profiles", "add", "work", "--provider", tt.provider, "--model", "claude-sonnet-4-5", "--base-url", h.url, "--no-check")
			f.use("work")
			if tt.want {
				f.keys[0].host = h
			}
			f.astray()
			if got := h.got(key); (got > 0) != tt.want {
				t.Errorf("the key was sent %d times", got)
			}
		})
	}
}

// otherAddress is an address of this machine beside loopback.
func otherAddress(t *testing.T) string {
	t.Helper()
	list, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no network")
	return ""
}

// What is not a key is not sent, and is named at once.
func TestAVariableWithoutAKeyIsNotSent(t *testing.T) {
	t.Parallel()
	for name, around := range map[string][2]string{
		"a scheme": {"Bearer ", ""}, "a line break": {"sk-\n", ""}, "a byte order mark": {"\ufeff", ""}, "two words": {"", " two"}, "a control character": {"", "\x07"},
	} {
		for provider, variable := range map[string]string{"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "lm_studio": "LM_STUDIO_API_KEY"} {
			t.Run(name+", "+provider, func(t *testing.T) {
				t.Parallel()
				f := newFlow(t, 1)
				key := f.newKey(nil)
				f.variables[variable] = around[0] + key + around[1]
				f.must("", "profiles", "add", "work", "--provider", provider, "--model", "claude-sonnet-4-5", "--base-url", f.hosts[0].url, "--no-check")
				for _, args := range [][]string{{"profiles", "check", "--live", "work"}, {"chat", "-p", "--model", "work", "hello"}} {
					code := f.run("", args...)
					out := f.app.Out.String() + f.app.Err.String()
					if code == 0 || !strings.Contains(out, variable) || strings.Contains(out, key) {
						t.Errorf("arguments %v: exit code %d\n%s", args, code, out)
					}
				}
				if n := f.hosts[0].got(""); n != 0 {
					t.Errorf("%d requests were sent", n)
				}
			})
		}
	}
}
