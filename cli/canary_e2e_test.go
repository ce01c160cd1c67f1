//go:build e2e && linux

package cli_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// canary is a secret that must not come out anywhere.
type canary struct {
	name, value string
	forms       [][]byte
}

// newCanary makes one that no redaction knows by its looks.
func newCanary(name string) canary {
	return canaryOf(name, "Canary"+strings.ToUpper(name)+"7391x"+hex.EncodeToString([]byte(name)))
}

// canaryOf knows the forms in which a value could come out: as it is, and
// hexadecimal or in base64, also in the middle of something longer.
func canaryOf(name, value string) canary {
	c := canary{name: name, value: value}
	c.forms = append(c.forms, []byte(value), []byte(hex.EncodeToString([]byte(value))), []byte(strings.ToUpper(hex.EncodeToString([]byte(value)))))
	for shift := range 3 {
		// What is before and behind the value changes the ends only.
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", shift) + value))
		text = strings.TrimRight(text, "=")
		text = text[min(len(text), 2*shift) : len(text)-2]
		c.forms = append(c.forms, []byte(text), []byte(strings.NewReplacer("+", "-", "/", "_").Replace(text)))
	}
	return c
}

// in tells whether the text has the value in one of its forms.
func (c canary) in(text []byte) bool {
	return slices.ContainsFunc(c.forms, func(form []byte) bool { return bytes.Contains(text, form) })
}

func TestCanariesAreFoundInAnyForm(t *testing.T) {
	t.Parallel()
	c := newCanary("one")
	for _, shift := range []string{"", "x", "xy", "xyz"} {
		whole := shift + c.value + "tail"
		for _, text := range []string{
			whole, base64.StdEncoding.EncodeToString([]byte(whole)), base64.RawURLEncoding.EncodeToString([]byte(whole)),
			hex.EncodeToString([]byte(whole)), fmt.Sprintf("%X", whole),
		} {
			if !c.in([]byte(text)) {
				t.Errorf("not found in %q", text)
			}
		}
	}
	if c.in([]byte("CanaryTWO")) {
		t.Error("found where it is not")
	}
}

// aviary is a user whose secrets are all canaries, and who watches for them.
type aviary struct {
	*program
	canaries []canary
	given    []string // names of those in the environment of the program

	watched sync.WaitGroup
	stop    context.CancelFunc
	mu      sync.Mutex
	seen    map[string]bool // what was watched, to know that something was
	leaks   map[string]bool
}

// watch looks at the command lines and environments of all processes that the
// test starts, as often as it can, until the test ends.
func (a *aviary) watch(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	a.stop, a.seen, a.leaks = stop, map[string]bool{}, map[string]bool{}
	a.watched.Go(func() { // ends with done
		for ctx.Err() == nil {
			a.look()
			time.Sleep(time.Millisecond)
		}
	})
}

// done ends the watch and tells what it saw.
func (a *aviary) done(t *testing.T) {
	t.Helper()
	a.stop()
	a.watched.Wait()
	for leak := range a.leaks {
		t.Error(leak)
	}
	if !a.seen["ohgw"] || !a.seen["child"] {
		t.Errorf("the watch has seen %v only", a.seen)
	}
}

// look looks once.
func (a *aviary) look() {
	parents := map[string]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil {
			continue // It has ended.
		}
		if fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); len(fields) > 1 {
			parents[filepath.Base(dir)] = fields[1]
		}
	}
	for pid := range parents {
		if ours(pid, parents) {
			a.inspect(pid)
		}
	}
}

func ours(pid string, parents map[string]string) bool {
	self := strconv.Itoa(os.Getpid())
	for at := parents[pid]; at != "" && at != "0"; at = parents[at] {
		if at == self {
			return true
		}
	}
	return false
}

func (a *aviary) inspect(pid string) {
	exe, _ := os.Readlink("/proc/" + pid + "/exe")
	kind := "child"
	switch {
	case exe == a.path:
		kind = "ohgw"
	case exe == "" || strings.HasSuffix(exe, ".test"):
		return // between fork and exec
	}
	for _, name := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile("/proc/" + pid + "/" + name)
		if err != nil || len(text) == 0 {
			continue
		}
		for _, c := range a.canaries {
			if c.in(text) && (name != "environ" || kind != "ohgw" || !slices.Contains(a.given, c.name)) {
				a.mu.Lock()
				a.leaks[fmt.Sprintf("%s of %s has the canary %s", name, exe, c.name)] = true
				a.mu.Unlock()
			}
		}
	}
	a.mu.Lock()
	a.seen[kind] = true
	a.mu.Unlock()
}

// wantNone checks that a text has no canary but these.
func (a *aviary) wantNone(t *testing.T, where string, text []byte, but ...string) {
	t.Helper()
	for _, c := range a.canaries {
		if !slices.Contains(but, c.name) && c.in(text) {
			t.Errorf("%s has the canary %s", where, c.name)
		}
	}
}

// try runs the program with a command line and its output, which must have no
// canary but these. How it ends is not the question here.
func (a *aviary) try(t *testing.T, stdin, line string, but ...string) string {
	t.Helper()
	cmd := a.command(t, strings.Fields(line)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	a.wantNone(t, "the output of ohgw "+line, out, but...)
	return string(out)
}

const canarySecret = "CanarySECRET7391x-of-openhands"

func newAviary(t *testing.T, llm *llmtest.Server) *aviary {
	t.Helper()
	a := &aviary{canaries: []canary{
		newCanary("stored"), newCanary("provider"), newCanary("plain"), newCanary("encrypted"), newCanary("header"),
		newCanary("connection"), newCanary("variable"), newCanary("aws"), newCanary("server"), canaryOf("secret", canarySecret),
	}}
	value := func(name string) string {
		return a.canaries[slices.IndexFunc(a.canaries, func(c canary) bool { return c.name == name })].value
	}
	token, err := fernet.NewKey(canarySecret).Encrypt([]byte(value("encrypted")), time.Now(), bytes.NewReader(make([]byte, 16)))
	if err != nil {
		t.Fatal(err)
	}
	url := `"base_url": "` + llm.URL + `"`
	a.program = built(t, map[string]string{
		"work":      `{"model": "openai/work", ` + url + `, "extra_headers": {"X-Secret": "` + value("header") + `"}}`,
		"plain":     `{"model": "openai/plain", ` + url + `, "api_key": "` + value("plain") + `"}`,
		"encrypted": `{"model": "openai/encrypted", ` + url + `, "api_key": "` + token + `"}`,
		"old":       `{"model": "litellm_proxy/kimi-k3", "base_url": "https://llm-proxy.app.all-hands.dev/", "api_key": "` + value("plain") + `"}`,
		"stranded":  `{"model": "litellm_proxy/kimi-k3", "api_key": "` + value("plain") + `"}`,
		"linked":    `{"model": "openai/linked", "provider_connection_id": "c"}`,
		"env":       `{"model": "openai/env", ` + url + `}`,
		"broken":    `{"model": "openai/x", "api_key": "` + value("plain") + `"`,
		"twice":     `{"model": "openai/x", "api_key": "` + value("plain") + `", "api_key": ["` + value("plain") + `"]}`,
		"lines":     `{"model": "openai/x", "api_key": "` + value("plain") + `\nmore"}`,
	})
	conns := filepath.Join(a.home, ".openhands", "provider-connections")
	if err := os.MkdirAll(conns, 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"schema_version": 1, "connections": [{"id": "c", "api_key": "` + value("connection") + `", "base_url": "` + llm.URL + `"}]}`
	if err := os.WriteFile(filepath.Join(conns, "provider_connections.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a.given = []string{"variable", "secret", "server"}
	a.env = append(a.env, "OPENAI_API_KEY="+value("variable"), "OH_SECRET_KEY="+canarySecret, "OHGW_AGENT_SERVER_KEY="+value("server"))
	return a
}

// Every command about keys, profiles and tokens, and a daemon with a real agent,
// while all that they say, start and write is searched.
func TestNoKeyComesOut(t *testing.T) {
	if beside(t) {
		return
	}
	llm := llmtest.New(t)
	a := newAviary(t, llm)
	a.watch(t)
	a.runLines(t, keyLines())
	a.wantEverySubcommand(t)
	a.tokens(t)
	a.serve(t, llm)
	a.runLines(t, fileLines())
	a.done(t)
	a.searchDisk(t)
}

// runLines runs command lines, each in several ways.
func (a *aviary) runLines(t *testing.T, lines []string) {
	t.Helper()
	stdin := map[string]string{}
	for _, c := range a.canaries {
		stdin[c.name] = c.value + "\n"
	}
	for _, line := range lines {
		name, command, _ := strings.Cut(line, ": ")
		for _, options := range []string{"", " --json", " --debug --verbose"} {
			out := a.try(t, stdin[name], command+options, a.shownBy(command)...)
			if made := strings.TrimSpace(out); strings.HasPrefix(made, "ohgw-") {
				a.canaries = append(a.canaries, canaryOf(command, made))
			}
		}
	}
}

// shownBy is what a command may show.
func (a *aviary) shownBy(command string) []string {
	if strings.HasPrefix(command, "tokens create") {
		return []string{command}
	}
	return nil
}

// keyLines are command lines with the canary that is their input.
func keyLines() []string {
	return strings.Split(strings.TrimSpace(`
stored: keys set work
stored: keys set work --replace
plain: keys set work
provider: keys set provider:openai
aws: keys set work --field aws_secret_access_key
plain: keys set nobody
plain: keys set lines --file -
none: keys list
none: keys status
none: keys import
none: keys import plain encrypted --replace
none: keys import lines
none: keys remove work --field aws_secret_access_key --yes
none: profiles list
none: profiles show work
none: profiles show plain
none: profiles show twice
none: profiles show broken
none: profiles check
none: profiles check --live --timeout 20s
none: profiles use plain
none: profiles use linked
none: profiles use encrypted
none: profiles migrate --dry-run
none: profiles migrate
none: profiles migrate --as-openhands stranded
none: profiles add more --from-settings
none: profiles add another --model openai/x --no-check
stored: profiles add keyed --model openai/x --no-check
stored: profiles add tried --model openai/x --base-url http://127.0.0.1:1/v1
stored: profiles add read --provider openai --model x --key-from stdin --no-check --use
none: profiles add named --model openai/x --key-from env:OPENAI_API_KEY --no-check
none: profiles rename another third
none: profiles remove third --yes
none: config show
none: status
none: models
none: __complete keys set s
none: __complete profiles show s
`), "\n")
}

// fileLines come last: the choice of a file is remembered.
func fileLines() []string {
	return []string{"stored: keys set old --key-store file", "none: keys list", "none: keys status", "none: tokens create other", "none: keys remove old --yes", "stored: keys set old"}
}

// wantEverySubcommand makes sure that no command is missing above.
func (a *aviary) wantEverySubcommand(t *testing.T) {
	t.Helper()
	lines := strings.Join(keyLines(), "\n")
	for _, parent := range []string{"keys", "profiles"} {
		out, err := a.command(t, "__complete", parent, "").Output()
		if err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(string(out)) {
			if name, _, described := strings.Cut(line, "\t"); described && !strings.Contains(lines, ": "+parent+" "+name) {
				t.Errorf("ohgw %s %s is not searched", parent, name)
			}
		}
	}
}

// tokens makes tokens; the one command that shows a value shows that one only.
func (a *aviary) tokens(t *testing.T) {
	t.Helper()
	for _, name := range []string{"default", "ide"} {
		shown := strings.TrimSpace(a.try(t, "", "tokens create "+name))
		if !strings.HasPrefix(shown, "ohgw-") {
			t.Fatalf("no token: %s", shown)
		}
		a.canaries = append(a.canaries, canaryOf("token "+name, shown))
	}
	for _, options := range []string{"", " --json", " --debug --verbose"} {
		a.try(t, "", "tokens show default"+options, "token default")
		a.try(t, "", "tokens show ide"+options)
		a.try(t, "", "tokens list"+options)
		a.try(t, "", "tokens create ide"+options)
	}
	a.try(t, "", "tokens revoke nobody --yes")
}

// serve runs a daemon whose agent has a real shell, which prints what it has.
func (a *aviary) serve(t *testing.T, llm *llmtest.Server) {
	t.Helper()
	llm.Forget()
	cmd := a.command(t, "serve", "--addr", "127.0.0.1:0", "--backend", "embedded", "--debug", "--log-format", "json", "--json")
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var ready struct {
		URL string `json:"base_url"`
	}
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatalf("reading the daemon's first line: %v\n%s", err, &log)
	}
	token := a.canaries[slices.IndexFunc(a.canaries, func(c canary) bool { return c.name == "token default" })].value
	for _, profile := range []string{"work", "encrypted", "linked"} {
		answer := a.ask(t, ready.URL, token, profile, `[[tool terminal {"command":"env; sleep 0.3; env | base64"}]] then [[finish all done]]`)
		if !strings.Contains(answer, "all done") {
			t.Errorf("%s answers %s", profile, answer)
		}
	}
	answer := a.ask(t, ready.URL, token, "work", `[[fail 401 the key `+a.canaries[0].value+` is wrong]]`)
	if !strings.Contains(answer, "error") {
		t.Errorf("a refused key: %s", answer)
	}
	a.ask(t, ready.URL, token+"x", "work", "hello")
	for _, command := range []string{"status", "models", "status --json --debug", "keys status", "profiles list"} {
		a.try(t, "", command)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the daemon ended with: %v\n%s", err, &log)
	}
	a.wantNone(t, "the log", log.Bytes())
	for _, r := range llm.Requests() {
		// The message that tells the model to fail has a canary in it.
		if !strings.Contains(r.UserText(), "[[fail") {
			a.wantNone(t, "what the model was told", r.Body)
		}
		if !slices.ContainsFunc(a.canaries, func(c canary) bool { return r.Header.Get("Authorization") == "Bearer "+c.value }) {
			t.Errorf("the model %s got the key %q", r.Model, r.Header.Get("Authorization"))
		}
	}
}

// ask makes a request; the answer must have no canary, nor must its header.
func (a *aviary) ask(t *testing.T, url, token, profile, text string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "openhands_" + profile, "messages": []map[string]string{{"role": "user", "content": text}}})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	a.wantNone(t, "the answer of "+profile, append(answer, fmt.Sprint(resp.Header)...))
	return string(answer)
}

// searchDisk searches all that the program has left: only what the user wrote
// into profiles, and copies of that, may have canaries. What the user said to
// an agent is the user's, too.
func (a *aviary) searchDisk(t *testing.T) {
	t.Helper()
	files := 0
	for _, dir := range []string{a.home, os.Getenv("XDG_RUNTIME_DIR")} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files++
			var but []string
			switch {
			case strings.Contains(path, "/.openhands/"), strings.Contains(path, "/backups/"):
				but = []string{"plain", "header", "connection"}
			case bytes.Contains(text, []byte("[[fail 401")):
				but = []string{"stored"}
			}
			a.wantNone(t, path, text, but...)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if files < 20 {
		t.Errorf("only %d files were searched", files)
	}
}
