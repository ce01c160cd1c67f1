package grants_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
)

const (
	conversation = "0192f0c1-7f3e-7c00-8000-0123456789ab"
	another      = "0192f0c1-7f3e-7c00-8000-0123456789ac"
)

// world is a user with a home directory, a project and data beside it.
type world struct {
	cfg                 grants.Config
	file, project, data string
	now                 time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{now: time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)}
	home := filepath.Join(root, "home")
	w.cfg = grants.Config{
		State: filepath.Join(home, ".local/state/ohgw"), Home: home, Private: []string{filepath.Join(home, ".openhands")},
		Now: func() time.Time { return w.now },
	}
	w.file = filepath.Join(w.cfg.State, "sandbox", "grants.json")
	w.project, w.data = filepath.Join(home, "project"), filepath.Join(root, "data")
	for _, dir := range []string{w.project, w.data, w.cfg.State, w.cfg.Private[0], filepath.Join(home, ".local/share")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) open() *grants.Store { return grants.Open(w.cfg) }

// add adds a grant, which must be a new one.
func (w *world) add(t *testing.T, s *grants.Store, g grants.Grant) grants.Grant {
	t.Helper()
	stored, added, err := s.Add(t.Context(), g)
	if err != nil || !added {
		t.Fatalf("the grant %v: added %v, %v", g, added, err)
	}
	return stored
}

func TestForHasWhatHoldsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open()
	link := filepath.Join(w.cfg.Home, "link")
	if err := os.Symlink(w.data, link); err != nil {
		t.Fatal(err)
	}
	everywhere := w.add(t, s, grants.Grant{Access: sandbox.Network, Target: "API.Example.com."})
	local := w.add(t, s, grants.Grant{Access: sandbox.Write, Target: link, Workspace: w.project})
	once := w.add(t, s, grants.Grant{Access: sandbox.Socket, Target: "SSH-Agent", Conversation: strings.ToUpper(conversation)})
	if everywhere.Target != "api.example.com" || local.Target != w.data || once.Target != "ssh-agent" || once.Conversation != conversation {
		t.Errorf("stored as %v, %v, %v", everywhere, local, once)
	}
	tests := []struct {
		workspace, conversation string
		want                    []grants.Grant
	}{
		{w.project, conversation, []grants.Grant{everywhere, local, once}},
		{w.project, another, []grants.Grant{everywhere, local}},
		{filepath.Join(w.project, "sub"), conversation, []grants.Grant{everywhere, once}},
		{"", "", []grants.Grant{everywhere}},
	}
	for _, reader := range []*grants.Store{s, w.open()} { // one that wrote it, and another process
		for _, test := range tests {
			got, err := reader.For(test.workspace, test.conversation)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%s %s: %v, -want +got:\n%s", test.workspace, test.conversation, err, diff)
			}
		}
	}
	if info, err := os.Stat(w.file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
}

func TestAddingAgainChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open()
	first := w.add(t, s, grants.Grant{Access: sandbox.Network, Target: "example.com:8443"})
	before, err := os.Stat(w.file)
	if err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Hour)
	again, added, err := s.Add(t.Context(), grants.Grant{Access: sandbox.Network, Target: "EXAMPLE.com:8443"})
	if err != nil || added || again != first {
		t.Errorf("the grant again: %v, added %v, %v", again, added, err)
	}
	if after, err := os.Stat(w.file); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was written again: %v", err)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, other := w.open(), w.open()
	kept := w.add(t, s, grants.Grant{Access: sandbox.Network, Target: "a.example"})
	gone := w.add(t, s, grants.Grant{Access: sandbox.Network, Target: "b.example"})
	if _, err := other.List(); err != nil {
		t.Fatal(err)
	}
	removed, err := s.Remove(t.Context(), gone.Same)
	if diff := cmp.Diff([]grants.Grant{gone}, removed); diff != "" || err != nil {
		t.Errorf("Remove: %v, -want +got:\n%s", err, diff)
	}
	list, err := other.List()
	if diff := cmp.Diff([]grants.Grant{kept}, list); diff != "" || err != nil {
		t.Errorf("the list of the other store: %v, -want +got:\n%s", err, diff)
	}
	if err := s.Clear(t.Context()); err != nil {
		t.Error(err)
	}
	if list, err := other.List(); err != nil || len(list) > 0 {
		t.Errorf("the list: %v, %v", list, err)
	}
}

// Grants of conversations end; the others are the user's own, and stay.
func TestOldGrantsOfConversationsGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open()
	w.add(t, s, grants.Grant{Access: sandbox.Network, Target: "a.example", Conversation: conversation})
	old := w.add(t, s, grants.Grant{Access: sandbox.Network, Target: "b.example"})
	w.now = w.now.Add(91 * 24 * time.Hour)
	fresh := w.add(t, s, grants.Grant{Access: sandbox.Network, Target: "c.example", Conversation: another})
	list, err := s.List()
	if diff := cmp.Diff([]grants.Grant{old, fresh}, list); diff != "" || err != nil {
		t.Errorf("the list: %v, -want +got:\n%s", err, diff)
	}
}

func TestWhatCannotBeGranted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open()
	home := w.cfg.Home
	tests := []struct {
		access       sandbox.Access
		target, want string
	}{
		{sandbox.Write, "/", "open everything"},
		{sandbox.Read, "/", "open everything"},
		{sandbox.Write, home, "is your home directory"},
		{sandbox.Read, home, "is your home directory"},
		{sandbox.Write, filepath.Dir(home), "contains your home directory"},
		{sandbox.Write, "/usr", "belongs to the system"},
		{sandbox.Write, "/etc/passwd", "belongs to the system"},
		{sandbox.Write, "/var", "belongs to the system"},
		{sandbox.Read, "/proc/self", "devices, processes or sockets"},
		{sandbox.Read, "/dev", "devices, processes or sockets"},
		{sandbox.Write, w.cfg.State, "belongs to ohgw or OpenHands"},
		{sandbox.Read, filepath.Join(home, ".local"), "belongs to ohgw or OpenHands"},
		{sandbox.Read, w.cfg.Private[0], "belongs to ohgw or OpenHands"},
		{sandbox.Write, w.data + "a", "did you mean " + w.data + "?"},
		{sandbox.Write, filepath.Join(w.data, "x/y/z"), w.data + " exists"},
		{sandbox.Write, "data", "not an absolute path"},
		{sandbox.Write, "", "not an absolute path"},
		{sandbox.Write, w.data + "\x00", "not an absolute path"},
		{sandbox.Network, "@github", "is a preset"},
		{sandbox.Network, "*", "every host"},
		{sandbox.Network, "*.com", "top-level domain"},
		{sandbox.Network, "https://example.com/a", "is a URL"},
		{sandbox.Network, "me:pw@example.com", "credentials"},
		{sandbox.Network, "example.com:0", "not a port"},
		{sandbox.Network, "10.0.0.1", "never dialled"},
		{sandbox.Network, "169.254.169.254", "metadata"},
		{sandbox.Network, "localhost", "this machine"},
		{sandbox.Socket, "ssh-agnet", "did you mean ssh-agent?"},
		{sandbox.Socket, w.data, "is not a socket"},
		{"see", "/data", "is not an access"},
	}
	for _, test := range tests {
		_, added, err := s.Add(t.Context(), grants.Grant{Access: test.access, Target: test.target})
		if _, invalid := errors.AsType[*grants.InvalidError](err); !invalid || added || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s: %v, want %q", test.access, test.target, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "pw@") {
			t.Errorf("a password is shown: %v", err)
		}
	}
	for _, g := range []grants.Grant{
		{Workspace: w.project, Conversation: conversation}, {Workspace: w.project + "s"}, {Conversation: "last"},
	} {
		g.Access, g.Target = sandbox.Network, "example.com"
		if _, _, err := s.Add(t.Context(), g); err == nil {
			t.Errorf("the grant %v is stored", g)
		}
	}
	if _, err := os.Stat(w.file); err == nil {
		t.Error("there is a file")
	}
}

func TestSocketsByPath(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir, err := os.MkdirTemp("", "g")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	at := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	s := w.open()
	g := w.add(t, s, grants.Grant{Access: sandbox.Socket, Target: at})
	w.cfg.Private = append(w.cfg.Private, dir)
	if _, _, err := w.open().Add(t.Context(), g); err == nil {
		t.Error("a socket of ohgw is granted")
	}
}

// A file that cannot be understood allows nothing, and says what to do.
func TestDamagedFileGrantsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := os.MkdirAll(filepath.Dir(w.file), 0o700); err != nil {
		t.Fatal(err)
	}
	s := w.open()
	w.add(t, s, grants.Grant{Access: sandbox.Network, Target: "example.com"})
	good, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	replace := func(old, by string) string { return strings.Replace(string(good), old, by, 1) }
	for _, bad := range []string{
		"", " ", "null", "{}", "[]", `{"version":1`, string(good) + "x", replace("1", "2"), replace(`"access"`, `"until": 1, "access"`),
		replace(`"net"`, `"all"`), replace(`"net"`, `"write"`), replace("example.com", "EXAMPLE.com"), replace("example.com", "127.0.0.1"),
		replace("example.com", "@packages"), replace(`"net",`, `"net", "workspace": "/a/..",`), replace(`"net",`, `"net", "conversation": "x",`),
		strings.Repeat(" ", 1<<20) + string(good),
	} {
		if err := os.WriteFile(w.file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, reader := range []*grants.Store{s, w.open()} {
			list, err := reader.For("", "")
			if _, damaged := errors.AsType[*grants.DamagedError](err); !damaged || len(list) > 0 || !strings.Contains(err.Error(), "revoke --all") {
				t.Errorf("%.60q: grants = %v, error %v", bad, list, err)
			}
		}
		if _, _, err := s.Add(t.Context(), grants.Grant{Access: sandbox.Network, Target: "b.example"}); err == nil {
			t.Errorf("%.60q is written over", bad)
		}
	}
	if err := s.Clear(t.Context()); err != nil {
		t.Error(err)
	}
	w.add(t, s, grants.Grant{Access: sandbox.Network, Target: "example.com"})
}

func TestTargetsLeaveOutWhatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone, swapped := filepath.Join(w.data, "gone"), filepath.Join(w.data, "swapped")
	if err := os.Symlink("/etc", swapped); err != nil {
		t.Fatal(err)
	}
	list := []grants.Grant{
		{Access: sandbox.Write, Target: w.data},
		{Access: sandbox.Write, Target: w.data, Workspace: w.project},
		{Access: sandbox.Write, Target: gone},
		{Access: sandbox.Write, Target: swapped},
		{Access: sandbox.Read, Target: w.project},
		{Access: sandbox.Network, Target: "example.com"},
	}
	for access, want := range map[sandbox.Access][]string{
		sandbox.Write: {w.data}, sandbox.Read: {w.project}, sandbox.Network: {"example.com"}, sandbox.Socket: nil,
	} {
		if diff := cmp.Diff(want, grants.Targets(list, access)); diff != "" {
			t.Errorf("%s, -want +got:\n%s", access, diff)
		}
	}
}

func TestWatchSeesAnotherProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open()
	ctx, stop := context.WithCancel(t.Context())
	calls := make(chan struct{}, 8)
	var done sync.WaitGroup
	done.Go(func() { s.Watch(ctx, func() { calls <- struct{}{} }) })
	<-calls // it has looked
	w.add(t, w.open(), grants.Grant{Access: sandbox.Network, Target: "example.com"})
	<-calls
	if list, err := s.For("", ""); err != nil || len(list) != 1 {
		t.Errorf("the list: %v, %v", list, err)
	}
	stop()
	done.Wait()
}

// Nothing is lost when many write at the same time.
func TestWritersAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const writers = 8
	var done sync.WaitGroup
	for i := range writers {
		done.Go(func() {
			g := grants.Grant{Access: sandbox.Network, Target: "h" + strconv.Itoa(i) + ".example"}
			if _, _, err := w.open().Add(t.Context(), g); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	if list, err := w.open().List(); err != nil || len(list) != writers {
		t.Errorf("the list: %v, %v", list, err)
	}
}
