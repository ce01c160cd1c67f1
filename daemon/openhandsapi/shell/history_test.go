package shell_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/shell"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// places is a world with two places beside /api/bash, /in/a/bash and /in/b/bash.
type places struct {
	*world

	shell *shell.Shell
	at    map[string]shell.Place
}

func newPlaces(t *testing.T) *places {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a Unix shell")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]shell.Place{}
	for _, name := range []string{"a", "b"} {
		p := shell.Place{ID: name, Dir: filepath.Join(dir, "work", name), Events: filepath.Join(dir, "kept", name, "bash_events")}
		if err := errors.Join(os.MkdirAll(filepath.Join(p.Dir, "sub"), 0o700), os.MkdirAll(filepath.Dir(p.Events), 0o700)); err != nil {
			t.Fatal(err)
		}
		at[name] = p
	}
	box := sandbox.Outside(sandbox.Off, sandbox.Mark{})
	s := shell.New(shell.Config{Dir: filepath.Join(dir, "events"), Starter: starter{box}, Now: time.Now})
	list := append(s.Routes(), s.Below("/in/{id}/bash", ", in a place", func(r *http.Request) (shell.Place, error) {
		p, ok := at[r.PathValue("id")]
		if !ok {
			return p, wire.Refuse(http.StatusNotFound, "there is no such place")
		}
		return p, nil
	})...)
	w := &world{t: t, dir: dir, api: openhandsapi.New(openhandsapi.Config{Routes: list, Sockets: map[string]openhandsapi.Sockets{"bash-events": s}})}
	t.Cleanup(func() {
		if err := errors.Join(w.api.Close(), box.Close()); err != nil {
			t.Error(err)
		}
	})
	return &places{w, s, at}
}

// TestACommandRunsInItsPlace runs commands without a directory, and with some inside of
// their place and outside.
func TestACommandRunsInItsPlace(t *testing.T) {
	t.Parallel()
	w := newPlaces(t)
	dir := w.at["a"].Dir
	if err := os.Symlink(w.at["b"].Dir, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	const outside = `{"detail":"cwd must be inside the conversation workspace"}`
	for cwd, want := range map[string]string{
		"null": dir, `"` + dir + `"`: dir, `"` + dir + `/sub"`: dir + "/sub", `"` + dir + `/sub/../sub"`: dir + "/sub",
		`""`: "", `"sub"`: "", `"/"`: "", `"` + dir + `/.."`: "", `"` + dir + `/out"`: "", `"` + w.at["b"].Dir + `"`: "", `"` + dir + `2"`: "",
	} {
		for _, path := range []string{"/in/a/bash/execute_bash_command", "/in/a/bash/start_bash_command"} {
			var answer json.RawMessage
			code := w.do(http.MethodPost, path, `{"command":"pwd","cwd":`+cwd+`}`, &answer)
			if want == "" {
				if code != http.StatusUnprocessableEntity || string(answer) != outside {
					t.Errorf("%s: status = %d, want 422, body = %s", cwd, code, answer)
				}
				continue
			}
			var e event
			if err := json.Unmarshal(answer, &e); err != nil {
				t.Fatal(err)
			}
			if e.Kind == "BashOutput" && text(e.Stdout) != want+"\n" || e.Kind == "BashCommand" && e.Dir == nil {
				t.Errorf("%s: answer = %s", cwd, answer)
			}
		}
	}
	if code := w.do(http.MethodPost, "/in/c/bash/execute_bash_command", `{`, nil); code != http.StatusNotFound {
		t.Errorf("an unknown place: %d", code)
	}
}

// TestAPlaceHasAHistoryOfItsOwn looks for the events of one place in the others, and on
// the socket.
func TestAPlaceHasAHistoryOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newPlaces(t)
	conn := w.dial("", true)
	var out event
	w.do(http.MethodPost, "/in/a/bash/execute_bash_command", `{"command":"echo tea"}`, &out)
	count := func(base string) int {
		var p page
		if code := w.do(http.MethodGet, base+"/bash_events/search", "", &p); code != http.StatusOK {
			t.Fatalf("%s: status = %d, want 200", base, code)
		}
		return len(p.Items)
	}
	for base, want := range map[string]int{"/in/a/bash": 2, "/in/b/bash": 0, "/api/bash": 0} {
		if got := count(base); got != want {
			t.Errorf("%s: %d events, want %d", base, got, want)
		}
		code := w.do(http.MethodGet, base+"/bash_events/"+out.ID, "", nil)
		stop := w.do(http.MethodPost, base+"/bash_commands/"+out.Command+"/stop", "", nil)
		if (code == http.StatusOK) != (want > 0) || stop != code {
			t.Errorf("%s: the event %d, the stop %d", base, code, stop)
		}
	}
	before := w.execute(`{"command":"true"}`)
	if e := w.next(conn); e.ID != before.Command {
		t.Errorf("the socket has an event of a place: %+v", e)
	}
	var running event
	w.do(http.MethodPost, "/in/a/bash/start_bash_command", `{"command":"sleep 1000"}`, &running)
	if code := w.do(http.MethodPost, "/in/b/bash/bash_commands/"+running.ID+"/stop", "", nil); code != http.StatusNotFound {
		t.Errorf("stopped from another place: %d", code)
	}
	if code := w.do(http.MethodPost, "/in/a/bash/bash_commands/"+running.ID+"/stop", "", nil); code != http.StatusOK {
		t.Errorf("stopped: %d", code)
	}
	var some []*event
	if w.do(http.MethodGet, "/in/a/bash/bash_events/", `["`+out.ID+`","`+before.ID+`"]`, &some); len(some) != 2 || some[0] == nil || some[1] != nil {
		t.Errorf("several: %+v", some)
	}
	var cleared struct {
		Count int `json:"cleared_count"`
	}
	if w.do(http.MethodDelete, "/in/a/bash/bash_events", "", &cleared); cleared.Count != 4 || count("/in/a/bash") != 0 || count("/api/bash") != 2 {
		t.Errorf("%d are cleared", cleared.Count)
	}
}

// TestTheEndOfAPlace ends the commands of a place that is removed, while those of others go
// on. Nothing makes its directory again.
func TestTheEndOfAPlace(t *testing.T) {
	t.Parallel()
	w := newPlaces(t)
	start := func(base string) (e event) {
		if code := w.do(http.MethodPost, base+"/start_bash_command", `{"command":"sleep 1000"}`, &e); code != http.StatusOK {
			t.Fatalf("%s: status = %d, want 200", base, code)
		}
		return e
	}
	ended := func(base, id string) bool {
		var p page
		w.do(http.MethodGet, base+"/bash_events/search?kind__eq=BashOutput&command_id__eq="+id, "", &p)
		return len(p.Items) == 1 && *p.Items[0].Exit == -1
	}
	a, b, all := start("/in/a/bash"), start("/in/b/bash"), start("/api/bash")
	w.shell.End("a")
	w.shell.End("unknown")
	if !ended("/in/a/bash", a.ID) || ended("/in/b/bash", b.ID) || ended("/api/bash", all.ID) {
		t.Error("the commands of a alone are to be ended")
	}
	a = start("/in/a/bash") // it has commands again
	w.shell.End("")
	if !ended("/in/a/bash", a.ID) || !ended("/in/b/bash", b.ID) || ended("/api/bash", all.ID) {
		t.Error("the commands of all places are to be ended, and no other")
	}
	if err := os.RemoveAll(filepath.Dir(w.at["b"].Events)); err != nil {
		t.Fatal(err)
	}
	if code := w.do(http.MethodPost, "/in/b/bash/execute_bash_command", `{"command":"true"}`, nil); code != http.StatusInternalServerError {
		t.Errorf("without a place for its events: %d", code)
	}
	if _, err := os.Stat(filepath.Dir(w.at["b"].Events)); err == nil {
		t.Error("a directory that was removed is there again")
	}
}

// TestACommandEndsWithItsConversation removes what is kept of a conversation while a command
// runs, without a word to the shell: as /v1 and ohgw conversations remove do.
func TestACommandEndsWithItsConversation(t *testing.T) {
	t.Parallel()
	w := newPlaces(t)
	var other event
	w.do(http.MethodPost, "/in/b/bash/start_bash_command", `{"command":"sleep 1000"}`, &other)
	var refusal struct{ Detail string }
	remove := `{"command":"echo $$ >pid; rm -r '` + filepath.Dir(w.at["a"].Events) + `'; exec sleep 1000","timeout":1000}`
	code := w.do(http.MethodPost, "/in/a/bash/execute_bash_command", remove, &refusal)
	if code != http.StatusNotFound || refusal.Detail != "The conversation was removed, and the command was ended." {
		t.Errorf("status = %d, want 404, detail = %q", code, refusal.Detail)
	}
	text, err := os.ReadFile(filepath.Join(w.at["a"].Dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := os.FindProcess(pid); err == nil && p.Signal(syscall.Signal(0)) == nil {
		t.Error("the process of the command is still there")
	}
	if code := w.do(http.MethodPost, "/in/b/bash/bash_commands/"+other.ID+"/stop", "", nil); code != http.StatusOK {
		t.Errorf("the command of another conversation: %d", code)
	}
}

// TestManyPlaces asks for more places than are known in memory.
func TestManyPlaces(t *testing.T) {
	t.Parallel()
	w := newPlaces(t)
	var running event
	w.do(http.MethodPost, "/in/b/bash/start_bash_command", `{"command":"sleep 1000"}`, &running)
	var out event
	w.do(http.MethodPost, "/in/a/bash/execute_bash_command", `{"command":"echo kept"}`, &out)
	for i := range 250 {
		name := "p" + strings.Repeat("x", i)
		w.at[name] = shell.Place{ID: name, Dir: w.dir, Events: filepath.Join(w.dir, "none", name)}
		if code := w.do(http.MethodGet, "/in/"+name+"/bash/bash_events/search", "", nil); code != http.StatusOK {
			t.Fatalf("%s: status = %d, want 200", name, code)
		}
	}
	var found event
	if w.do(http.MethodGet, "/in/a/bash/bash_events/"+out.ID, "", &found); text(found.Stdout) != "kept\n" {
		t.Errorf("an event from before: %+v", found)
	}
	if code := w.do(http.MethodPost, "/in/b/bash/bash_commands/"+running.ID+"/stop", "", nil); code != http.StatusOK {
		t.Errorf("a command from before: %d", code)
	}
}
