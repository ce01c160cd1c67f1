//go:build e2e

package profile_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/migrate"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// served is what GET /api/profiles answers.
type served struct {
	Profiles []struct {
		Name    string
		Model   string
		BaseURL *string `json:"base_url"`
		KeySet  bool    `json:"api_key_set"`
	}
	Active *string `json:"active_profile"`
}

func (s served) String() string {
	var b strings.Builder
	for _, p := range s.Profiles {
		fmt.Fprintf(&b, "%s=%s key:%v; ", p.Name, p.Model, p.KeySet)
	}
	if s.Active != nil {
		fmt.Fprintf(&b, "active %s", *s.Active)
	}
	return b.String()
}

func listing(server *sdktest.Server) string {
	var out served
	server.Call("GET", "/api/profiles", nil, &out)
	return out.String()
}

// A running server sees what we do at once, and we what it does.
func TestARunningServerAndWeAgree(t *testing.T) {
	server := sdktest.Start(t, t.TempDir(), fixtureSecret)
	s := store{profile.Open(profile.Config{Base: server.Base, Ciphers: ciphers()}), server.Base, t}
	ctx := t.Context()

	server.Call("POST", "/api/profiles/theirs", map[string]any{"llm": map[string]any{"model": "openhands/gpt-5.6", "api_key": fixtureKey}}, nil)
	p, err := s.Load("theirs")
	must(t, err)
	if p.LLM.APIKey.Reveal() != fixtureKey || p.Key != profile.KeyEncrypted {
		t.Errorf("the key of their profile: %s, %v", p.Key, p.KeyErr)
	}

	must(t, s.Add(ctx, "ours", profile.NewDraft("openai/x", "https://h.example/v1"), profile.AddOptions{}))
	if got, want := listing(server), "ours=openai/x key:false; theirs=openhands/gpt-5.6 key:true; "; got != want {
		t.Errorf("after Add: %s", got)
	}
	if _, err := s.Use(ctx, "theirs", now()); err != nil {
		t.Fatal(err)
	}
	var settings struct {
		Active string `json:"active_profile"`
		Agent  struct {
			LLM struct {
				Model string
				Key   string `json:"api_key"`
			}
		} `json:"agent_settings"`
	}
	server.Call("GET", "/api/settings", nil, &settings)
	if settings.Active != "theirs" || settings.Agent.LLM.Model != "openhands/gpt-5.6" || settings.Agent.LLM.Key != fixtureKey {
		t.Errorf("after Use: active %s, model %s", settings.Active, settings.Agent.LLM.Model)
	}
	server.Call("POST", "/api/profiles/ours/activate", nil, nil)
	if active, err := s.Active(); active != "ours" || err != nil {
		t.Errorf("after their activate: %s, %v", active, err)
	}

	server.Call("POST", "/api/agent-profiles/agent", map[string]any{"agent_kind": "openhands", "llm_profile_ref": "ours"}, nil)
	if _, err := s.Remove(ctx, "ours"); !errors.Is(err, profile.ErrInUse) {
		t.Errorf("Remove of a profile in use: %v", err)
	}
	done, err := s.Rename(ctx, "ours", "mine")
	must(t, err)
	if !done.Active || !slices.Equal(done.AgentProfiles, []string{"agent"}) {
		t.Errorf("Rename: %+v", done)
	}
	var agent struct {
		Profile struct {
			Ref string `json:"llm_profile_ref"`
		}
	}
	server.Call("GET", "/api/agent-profiles/agent", nil, &agent)
	if got := listing(server); agent.Profile.Ref != "mine" || got != "mine=openai/x key:false; theirs=openhands/gpt-5.6 key:true; active mine" {
		t.Errorf("after Rename: ref %s, %s", agent.Profile.Ref, got)
	}
	server.Call("POST", "/api/profiles/mine/rename", map[string]any{"new_name": "again"}, nil)
	if active, err := s.Active(); active != "again" || err != nil {
		t.Errorf("after their rename: %s, %v", active, err)
	}
	if _, err := s.Remove(ctx, "theirs"); err != nil {
		t.Error(err)
	}

	write(t, s.path("profiles/old.json"), `{"model":"litellm_proxy/gpt-5.6","base_url":"`+proxyURL+`","api_key":"`+fixtureToken+`"}`)
	report, err := migrate.Run(ctx, migrate.Options{Bases: []string{s.base}, Apply: true, Backups: t.TempDir(), Now: now})
	if err != nil || report.Summary.Migrate != 1 {
		t.Errorf("summary = %+v, error %v", report.Summary, err)
	}
	if got := listing(server); got != "again=openai/x key:false; old=openhands/gpt-5.6 key:true; active again" {
		t.Errorf("after migrate: %s", got)
	}
	var loaded struct {
		Config struct {
			Model  string
			APIKey string `json:"api_key"`
		}
	}
	if status := server.Call("GET", "/api/profiles/old", nil, &loaded); status != 200 || loaded.Config.APIKey != fixtureKey {
		t.Errorf("the migrated profile: %d, %s", status, loaded.Config.Model)
	}
}

// writer changes the same files as we do, through the stores of the SDK, until
// its standard input ends. It counts up in the settings and in a profile, and
// saves profiles of its own. It then says how far it came.
const writer = `
import json, logging, sys, threading, warnings
from pathlib import Path
logging.disable(logging.CRITICAL); warnings.simplefilter("ignore")
from filelock import FileLock
from openhands.sdk.llm.llm import LLM
from openhands.sdk.llm.llm_profile_store import LLMProfileStore
from openhands.sdk.utils.cipher import Cipher
from openhands.agent_server.persistence.store import FileSettingsStore
base, cipher = Path(sys.argv[1]), Cipher(sys.argv[2])
profiles, settings = LLMProfileStore(base / "profiles"), FileSettingsStore(base, cipher)
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
llm = LLM(model="openai/x")
shared, n = base / "profiles" / "shared.json", 0

def count(s):
    s.misc_settings["python"] = s.misc_settings.get("python", 0) + 1
    return s

while not stop.is_set():
    n += 1
    settings.update(count)
    with FileLock(base / "profiles" / ".profiles.lock").acquire(timeout=30):
        data = json.loads(shared.read_text())
        data["python"] = data.get("python", 0) + 1
        tmp = shared.with_suffix(".tmp")
        tmp.write_text(json.dumps(data))
        tmp.replace(shared)
    profiles.save(f"w{n % 5}", llm)
    if n == 1:
        print("started", flush=True)
print("RESULT" + str(n))
`

// A live server and a writer of the SDK change the same files while 200 of our
// writes happen. No reader ever sees half a file, and no update is lost.
func TestNoUpdateIsLostBesideAServerAndAWriter(t *testing.T) {
	const writes = 200
	dir := t.TempDir()
	server := sdktest.Start(t, dir, fixtureSecret)
	s := store{profile.Open(profile.Config{Base: server.Base, Ciphers: ciphers(), Locking: document.Locking{Timeout: time.Minute}}), server.Base, t}
	write(t, s.path("profiles/shared.json"), `{"model":"openai/x","unknown":[1.50,"\u00fc"]}`)

	stop := startWriter(t, dir, s.base)
	over := make(chan struct{})
	var others sync.WaitGroup
	patches := 0
	others.Go(func() {
		for running(over) {
			patches++
			server.Call("PATCH", "/api/settings", map[string]any{"misc_settings_diff": map[string]any{"http": patches}}, nil)
			server.Call("POST", "/api/profiles/served", map[string]any{"llm": map[string]any{"model": "openai/x", "seed": patches}}, nil)
		}
	})
	others.Go(func() {
		pace := time.NewTicker(10 * time.Millisecond) // Leaves the others some of the machine.
		defer pace.Stop()
		for ; running(over); <-pace.C {
			list, err := s.List(t.Context())
			for _, p := range list {
				if !p.Usable() {
					t.Errorf("a reader sees %s: %s", p.Name, p.Problem)
				}
			}
			if _, activeErr := s.Active(); err != nil || activeErr != nil {
				t.Errorf("a reader gets %v, %v", err, activeErr)
			}
		}
	})
	for i := range writes {
		ourWrite(t, s, i)
	}
	close(over)
	others.Wait()
	theirs := stop()

	shared := parse(t, s.read("profiles/shared.json"))
	settings := parse(t, s.read("settings.json"))
	for what, tt := range map[string]struct {
		v    jsonedit.Value
		want int
	}{
		"ours in the profile":    {shared.Root().Get("go"), writes},
		"theirs in the profile":  {shared.Root().Get("python"), theirs},
		"theirs in the settings": {settings.Root().At("misc_settings", "python"), theirs},
		"the server's":           {settings.Root().At("misc_settings", "http"), patches},
	} {
		if got, ok := tt.v.Int(); !ok || got != int64(tt.want) {
			t.Errorf("%s: value = %s, want %d", what, tt.v.Raw(), tt.want)
		}
	}
	if active, err := s.Active(); err != nil || active != fmt.Sprintf("o%d", (writes-1)%4) {
		t.Errorf("active = %s, %v", active, err)
	}
	names, err := s.Names()
	must(t, err)
	want := []string{"o0", "o1", "o2", "o3", "served", "shared"}
	for n := range min(theirs, 5) { // a slow machine gives the writer few rounds
		want = append(want, fmt.Sprintf("w%d", (n+1)%5))
	}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("profiles = %q, want %q", names, want)
	}
	t.Logf("%d writes of ours, %d rounds of the writer, %d of the server", writes, theirs, patches)
}

// ourWrite is one of our writes: it counts up in the shared profile, adds or
// renames a profile, and makes it the active one.
func ourWrite(t *testing.T, s store, i int) {
	t.Helper()
	_, err := document.ProfileFile(s.base, "shared").Update(t.Context(), document.Locking{Timeout: time.Minute}, func(snap document.Snapshot) (*jsonedit.Doc, error) {
		n, _ := snap.Doc.Root().Get("go").Int()
		return snap.Doc.Set([]byte(strconv.FormatInt(n+1, 10)), "go")
	})
	must(t, err)
	name := fmt.Sprintf("o%d", i%4)
	must(t, s.Add(t.Context(), name, profile.NewDraft("openai/x", ""), profile.AddOptions{Replace: true}))
	if i%10 == 0 {
		_, err = s.Rename(t.Context(), name, "passing")
		must(t, err)
		_, err = s.Rename(t.Context(), "passing", name)
		must(t, err)
	}
	_, err = s.Use(t.Context(), name, now())
	must(t, err)
}

func running(over <-chan struct{}) bool {
	select {
	case <-over:
		return false
	default:
		return true
	}
}

// startWriter runs the writer and waits until it writes. The function stops it
// and gives its rounds.
func startWriter(t *testing.T, dir, base string) (stop func() int) {
	t.Helper()
	cmd := sdktest.Command(t, dir, writer, base, fixtureSecret)
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		must(t, err)
		if line == "started\n" {
			break
		}
	}
	return func() int {
		must(t, stdin.Close())
		rest, err := io.ReadAll(lines)
		must(t, err)
		must(t, cmd.Wait())
		var n int
		must(t, json.Unmarshal(sdktest.Result(t, rest), &n))
		return n
	}
}

func parse(t *testing.T, src string) *jsonedit.Doc {
	t.Helper()
	doc, err := jsonedit.Parse([]byte(src))
	must(t, err)
	return doc
}
