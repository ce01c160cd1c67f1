package cli

import (
	"encoding/json"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret/secrettest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/setup/modelcheck"
)

const liveCanary = "CANARY-live-0123456789-of-a-key"

// liveWorld is the world of a user with these profiles and no stored keys.
type liveWorld struct {
	env            *kit.Env
	stdout, stderr strings.Builder
}

func newLiveWorld(t *testing.T, profiles map[string]string) *liveWorld {
	t.Helper()
	top := t.TempDir()
	w := &liveWorld{}
	env := map[string]string{"OH_PERSISTENCE_DIR": filepath.Join(top, "oh"), "TERM": "xterm"}
	w.env = &kit.Env{
		Stdin: strings.NewReader(""), Stdout: iostream.New(&w.stdout, false, nil), Stderr: iostream.New(&w.stderr, false, nil),
		Getenv: func(name string) string { return env[name] }, Now: time.Now, Getwd: os.Getwd,
		Paths: func() (paths.Set, error) {
			return paths.Set{Home: top, Config: filepath.Join(top, "config"), State: filepath.Join(top, "state"), Runtime: filepath.Join(top, "run")}, nil
		},
		Keyring: secrettest.FileKeyring(filepath.Join(top, "keyring")),
	}
	dir := filepath.Join(top, "oh", "profiles")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range profiles {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// run runs a command line, which must end with the code.
func (w *liveWorld) run(t *testing.T, code fault.Code, args ...string) {
	t.Helper()
	if got := Run(t.Context(), w.env, args); got != int(code) {
		t.Errorf("ohgw %s ends with %d, want %d:\n%s%s", strings.Join(args, " "), got, code, &w.stdout, &w.stderr)
	}
}

// liveReport is what is read of the report.
type liveReport struct {
	Problems []profile.Problem   `json:"problems"`
	Live     []modelcheck.Result `json:"live"`
}

func (w *liveWorld) report(t *testing.T) liveReport {
	t.Helper()
	var report liveReport
	if err := json.Unmarshal([]byte(w.stdout.String()), &report); err != nil {
		t.Fatalf("reading the output as JSON: %v in\n%s", err, &w.stdout)
	}
	return report
}

// closedPort returns an address on which no process listens.
func closedPort(t *testing.T) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	return ln.Addr().String()
}

func TestALiveCheckTellsFailuresApart(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t)
	body := func(status int, text string) llmtest.Reply { return llmtest.Reply{Status: status, Body: text} }
	answers := map[string]struct {
		reply  llmtest.Reply
		want   modelcheck.Outcome
		repair string // part of it
	}{
		"good":   {llmtest.Text("yes"), modelcheck.Answered, ""},
		"key":    {body(401, `{"error":{"message":"Incorrect API key provided: `+liveCanary+`","code":"invalid_api_key"}}`), modelcheck.KeyRefused, "ohgw keys set key"},
		"model":  {body(404, `{"error":{"message":"The model 'x' does not exist or you do not have access to it.","code":"model_not_found"}}`), modelcheck.ModelUnknown, "ohgw profiles add model --replace"},
		"quota":  {body(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}`), modelcheck.OutOfQuota, "ohgw keys set quota"},
		"rate":   {body(429, `{"error":{"message":"Rate limit reached","type":"rate_limit_exceeded"}}`), modelcheck.TooOften, "ohgw profiles check --live rate"},
		"down":   {body(503, `{"error":{"message":"overloaded"}}`), modelcheck.BrokenDown, "ohgw profiles check --live down"},
		"loads":  {body(503, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`), modelcheck.TimedOut, "--timeout 2s"},
		"option": {body(400, `{"error":{"message":"Unsupported parameter: 'seed'"}}`), modelcheck.Refused, "ohgw profiles show option"},
		"page":   {body(404, `<html>Nothing here</html>`), modelcheck.WrongAddress, "ohgw profiles show page"},
		"hang":   {llmtest.Reply{End: llmtest.Hang}, modelcheck.TimedOut, "--timeout 2s"},
	}
	profiles := map[string]string{
		"small":  `{"model": "openai/small", "base_url": "` + server.URL + `", "api_key": "` + liveCanary + `", "max_input_tokens": 9}`,
		"gone":   `{"model": "openai/gone", "base_url": "http://` + closedPort(t) + `", "api_key": "` + liveCanary + `"}`,
		"none":   `{"model": "anthropic/claude-sonnet-4-5"}`,
		"vertex": `{"model": "vertex_ai/gemini-2.5-pro"}`,
		"broken": `{"model":`,
	}
	want := map[string]modelcheck.Outcome{"small": modelcheck.WindowSmall, "gone": modelcheck.Unreachable, "none": modelcheck.KeyMissing, "vertex": modelcheck.NotAsked, "broken": modelcheck.NotLoaded}
	repairs := map[string]string{"small": "profiles add small", "gone": "profiles add gone --replace", "none": "ohgw keys set none", "vertex": "litellm_proxy/", "broken": "profiles check broken"}
	for name, a := range answers {
		server.On(llmtest.Model(name), a.reply)
		profiles[name] = `{"model": "openai/` + name + `", "base_url": "` + server.URL + `", "api_key": "` + liveCanary + `", "reasoning_effort": "high", "num_retries": 5}`
		want[name], repairs[name] = a.want, a.repair
	}
	// Only those that never answer get a short time: a healthy one must not be late on a
	// machine that is busy.
	late := []string{"hang", "loads"}
	w := newLiveWorld(t, profiles)
	w.run(t, fault.Unreachable, append([]string{"profiles", "check", "--live", "--timeout", "1s", "--json", "--debug"}, late...)...)
	lateReport, said := w.report(t), w.stdout.String()
	w.stdout.Reset()
	inTime := slices.DeleteFunc(slices.Sorted(maps.Keys(want)), func(name string) bool { return slices.Contains(late, name) })
	w.run(t, fault.Partly, append([]string{"profiles", "check", "--live", "--json", "--debug"}, inTime...)...)

	report := w.report(t)
	said += w.stdout.String() + w.stderr.String()
	live := slices.Concat(report.Live, lateReport.Live)
	got := map[string]modelcheck.Outcome{}
	for _, r := range live {
		got[r.Profile] = r.Outcome
		if !strings.Contains(r.Repair, repairs[r.Profile]) || (r.Outcome == modelcheck.Answered) != (r.Repair == "") {
			t.Errorf("the repair of %s is %q, want one with %q", r.Profile, r.Repair, repairs[r.Profile])
		}
		problems := 0
		for _, p := range slices.Concat(report.Problems, lateReport.Problems) {
			if p.Profile == r.Profile && p.Severity == r.Outcome.Severity() {
				problems++
			}
		}
		if (r.Outcome == modelcheck.Answered) != (problems == 0) {
			t.Errorf("%s has %d problems in the list", r.Profile, problems)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(want) != len(live) || report.Live[0].Profile != inTime[0] {
		t.Errorf("the results are not one for each profile, in order: %+v", live)
	}
	if strings.Contains(said, "CANARY") {
		t.Errorf("a key is shown:\n%s", said)
	}
	asked := map[string]int{}
	for _, r := range server.Requests() {
		asked[r.Model]++
		if !strings.Contains(string(r.Body), `"max_completion_tokens":16`) || strings.Contains(string(r.Body), "reasoning_effort") {
			t.Errorf("this is not the smallest call: %s", r.Body)
		}
		if got := r.Header.Get("Authorization"); got != "Bearer "+liveCanary {
			t.Errorf("%s gets the key %q", r.Model, got)
		}
	}
	for name := range answers {
		least, most := 1, 1
		if slices.Contains(late, name) {
			least = 0 // its time may end before it is reached
		}
		if name == "loads" {
			most = 2 // a server that loads is asked each second, and the limit is one second
		}
		if n := asked[name]; n < least || n > most {
			t.Errorf("%s is asked %d times, want %d to %d", name, n, least, most)
		}
	}
}

// A stored key comes before that of the profile, as when an agent runs.
func TestALiveCheckTakesTheKeyOfARun(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t)
	server.On(llmtest.Model("m"), llmtest.Text("yes"))
	w := newLiveWorld(t, map[string]string{"work": `{"model": "litellm_proxy/m", "base_url": "` + server.URL + `", "api_key": "in-the-profile"}`})
	w.env.Stdin = strings.NewReader("for-the-provider")
	w.run(t, 0, "keys", "set", "provider:litellm_proxy")
	for _, tt := range []struct{ set, key, from string }{
		{"", "for-the-provider", "key stored for litellm_proxy"},
		{"stored-for-it", "stored-for-it", "key stored for the profile"},
	} {
		if tt.set != "" {
			w.env.Stdin = strings.NewReader(tt.set)
			w.run(t, 0, "keys", "set", "work")
		}
		server.Forget()
		w.stdout.Reset()
		w.run(t, 0, "profiles", "check", "work", "--live")
		if got := server.Requests(); len(got) != 1 || got[0].Header.Get("Authorization") != "Bearer "+tt.key {
			t.Errorf("asked %d times, or with another key than %q", len(got), tt.key)
		}
		if !strings.Contains(w.stdout.String(), "\nok\twork\t") || !strings.Contains(w.stdout.String(), tt.from) {
			t.Errorf("it says %q, want the origin %q", &w.stdout, tt.from)
		}
	}
}

// Where the files are right, the exit code says what all models have in common.
func TestALiveCheckEndsWithWhatAllHaveInCommon(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t)
	server.On(llmtest.Model("good"), llmtest.Text("yes"))
	server.On(llmtest.Model("bad"), llmtest.Fail(401, "no"))
	profile := func(model, url string) string {
		return `{"model": "openai/` + model + `", "base_url": "` + url + `", "api_key": "` + liveCanary + `"}`
	}
	gone := "http://" + closedPort(t)
	tests := []struct {
		name     string
		profiles map[string]string
		want     fault.Code
	}{
		{"nothing", map[string]string{}, 0},
		{"an answer", map[string]string{"a": profile("good", server.URL)}, 0},
		{"keys", map[string]string{"a": profile("bad", server.URL), "b": `{"model": "anthropic/claude-sonnet-4-5"}`}, fault.Credential},
		{"nobody there", map[string]string{"a": profile("x", gone), "b": profile("y", gone)}, fault.Unreachable},
		{"one of each", map[string]string{"a": profile("good", server.URL), "b": profile("y", gone)}, fault.Partly},
		{"a broken file, too", map[string]string{"a": profile("x", gone), "b": "{"}, fault.Partly},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			newLiveWorld(t, tt.profiles).run(t, tt.want, "profiles", "check", "--live")
		})
	}
}

func TestALiveCheckShowsItsProgressOnATerminal(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t)
	server.On(llmtest.Model("m"), llmtest.Text("yes"))
	w := newLiveWorld(t, map[string]string{"work": `{"model": "openai/m", "base_url": "` + server.URL + `", "api_key": "` + liveCanary + `"}`})
	width := func() int { return 80 }
	w.env.Stdout, w.env.Stderr = iostream.New(&w.stdout, true, width), iostream.New(&w.stderr, true, width)
	w.run(t, 0, "profiles", "check", "--live")
	if want := "\r\x1b[K0 of 1 models answered\r\x1b[K1 of 1 models answered\r\x1b[K"; w.stderr.String() != want {
		t.Errorf("stderr is %q, want %q", w.stderr.String(), want)
	}
	if !strings.Contains(w.stdout.String(), ": answered in ") {
		t.Errorf("stdout is %q", w.stdout.String())
	}
}
