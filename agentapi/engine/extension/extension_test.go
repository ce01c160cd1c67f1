//go:build unix

package extension_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/extension"
	"github.com/ohgw/ohgw/agentapi/engine/plugin"
	"github.com/ohgw/ohgw/internal/openhands"
)

func write(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// pluginIn makes a plugin in a new directory with that name.
func pluginIn(t *testing.T, name string) string {
	t.Helper()
	return write(t, filepath.Join(t.TempDir(), name), map[string]string{
		".plugin/plugin.json": `{"name":"` + name + `","version":"2.0","description":"A test."}`,
		"commands/greet.md":   "Say good morning.",
		"bin/run":             "#!/bin/sh\n",
		".git/config":         "[core]",
	})
}

func commit(t *testing.T, dir string) string {
	t.Helper()
	out := ""
	for _, args := range []string{"init --quiet --initial-branch=main", "add .", "commit --quiet --message 1", "rev-parse HEAD"} {
		cmd := exec.CommandContext(t.Context(), "git", strings.Fields("-c user.name=a -c user.email=a@example.org "+args)...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
		data, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, data)
		}
		out = strings.TrimSpace(string(data))
	}
	return out
}

func places(t *testing.T) extension.Places {
	t.Helper()
	home := t.TempDir()
	return extension.Places{Home: home, Base: filepath.Join(home, ".openhands"), Path: os.Getenv("PATH"), Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
}

func kindOf(err error) openhands.Kind {
	if e, ok := errors.AsType[*openhands.Error](err); ok {
		return e.Kind
	}
	return 0
}

// visible are the entries of a directory that are not the store's own.
func visible(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".ohgw.lock" && e.Name() != extension.IndexName {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestAPluginIsInstalledSwitchedOffRefreshedAndRemoved(t *testing.T) {
	t.Parallel()
	p := places(t)
	s := extension.Plugins(p)
	source := pluginIn(t, "good")
	if err := os.Chmod(filepath.Join(source, "bin/run"), 0o700); err != nil {
		t.Fatal(err)
	}
	e, err := s.Install(t.Context(), control.Plugin{Source: source}, false)
	want := openhands.Extension{
		Name: "good", Version: "2.0", Description: "A test.", Enabled: true, Source: source, InstalledAt: "2027-01-15T08:00:00.000000+00:00",
		Path: filepath.Join(p.Base, "plugins/installed/good"),
	}
	if err != nil || e != want {
		t.Fatalf("Install = %+v, error %v, want %+v", e, err, want)
	}
	if files := extension.Files(e.Path); !slices.Equal(files, []string{".plugin/plugin.json", "bin/run", "commands/greet.md"}) {
		t.Errorf("files: %q", files)
	}
	if info, err := os.Stat(filepath.Join(e.Path, "bin/run")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("a program: %v, %v", info.Mode(), err)
	}
	if _, err := s.Install(t.Context(), control.Plugin{Source: source}, false); kindOf(err) != openhands.Taken {
		t.Errorf("again: %v", err)
	}
	if dirs, err := s.Enabled(); err != nil || len(dirs) != 1 || dirs[0] != e.Path {
		t.Errorf("in use: %q, %v", dirs, err)
	}
	if err := s.Enable(t.Context(), "good", false); err != nil {
		t.Errorf("switched off: %v", err)
	}
	if dirs, err := s.Enabled(); err != nil || len(dirs) != 0 {
		t.Errorf("in use when switched off: %q, %v", dirs, err)
	}
	write(t, source, map[string]string{"commands/greet.md": "Say good night."})
	if e, err = s.Refresh(t.Context(), "good"); err != nil || e.Enabled {
		t.Errorf("refreshed: %+v, %v", e, err)
	}
	if data, err := os.ReadFile(filepath.Join(e.Path, "commands/greet.md")); string(data) != "Say good night." {
		t.Errorf("refreshed: %q, %v", data, err)
	}
	if err := s.Remove(t.Context(), "good"); err != nil || len(visible(t, filepath.Dir(e.Path))) != 0 {
		t.Errorf("removed: %v, %q", err, visible(t, filepath.Dir(e.Path)))
	}
	for what, err := range map[string]error{
		"remove": s.Remove(t.Context(), "good"), "enable": s.Enable(t.Context(), "good", true), "out": s.Remove(t.Context(), ".."),
	} {
		if kindOf(err) != openhands.NotFound {
			t.Errorf("%s what is not there: %v", what, err)
		}
	}
}

func TestAPluginOfARepositoryIsInstalledAsItIsCommitted(t *testing.T) {
	t.Parallel()
	p := places(t)
	dir := filepath.Join(t.TempDir(), "some-repo")
	write(t, dir, map[string]string{"commands/greet.md": "1", "skills/talk/SKILL.md": "---\nname: talk\n---\nTalk."})
	head := commit(t, dir)
	write(t, dir, map[string]string{"commands/greet.md": "2"})
	s := extension.Plugins(p)
	e, err := s.Install(t.Context(), control.Plugin{Source: "file://" + dir, Ref: "main"}, false)
	if err != nil || e.Name != "some-repo" || e.ResolvedRef == nil || *e.ResolvedRef != head || *e.RequestedRef != "main" {
		t.Fatalf("Install = %+v, error %v", e, err)
	}
	if data, err := os.ReadFile(filepath.Join(e.Path, "commands/greet.md")); string(data) != "1" {
		t.Errorf("file = %q, error %v", data, err)
	}
	if e, err = s.Refresh(t.Context(), "some-repo"); err != nil || e.Name != "some-repo" {
		t.Errorf("Refresh = %+v, error %v", e, err)
	}
	if e, err := extension.Skills(p).Install(t.Context(), control.Plugin{Source: "file://" + dir, Path: "skills/talk"}, false); err != nil || e.Name != "talk" {
		t.Errorf("a skill: %+v, %v", e, err)
	}
	if left := visible(t, filepath.Join(p.Base, "cache/plugins")); len(left) > 0 {
		t.Errorf("left in the cache: %q", left)
	}
}

func TestWhatCannotBeInstalledLeavesNothing(t *testing.T) {
	t.Parallel()
	p := places(t)
	secret := filepath.Join(write(t, t.TempDir(), map[string]string{"secret": "hidden"}), "secret")
	bad := func(change func(dir string) error) string {
		t.Helper()
		dir := pluginIn(t, "bad")
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	manifest := func(text string) string {
		return bad(func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ".plugin/plugin.json"), []byte(text), 0o600)
		})
	}
	link := func(target string) string {
		return bad(func(dir string) error { return os.Symlink(target, filepath.Join(dir, "x")) })
	}
	s := extension.Plugins(p)
	for want, try := range map[string]struct {
		from control.Plugin
		kind openhands.Kind
	}{
		"is not a valid manifest":      {control.Plugin{Source: manifest(`{"name":`)}, openhands.Invalid},
		"has no name":                  {control.Plugin{Source: manifest(`{}`)}, openhands.Invalid},
		"lower-case letters":           {control.Plugin{Source: manifest(`{"name":"Upper"}`)}, openhands.Invalid},
		"that a name cannot have":      {control.Plugin{Source: manifest(`{"name":"../evil"}`)}, openhands.Invalid},
		"its x is a link that leads o": {control.Plugin{Source: link(secret)}, openhands.Invalid},
		"leads out of it; replace":     {control.Plugin{Source: link("../secret")}, openhands.Invalid},
		"its x is a link that leads n": {control.Plugin{Source: link("x")}, openhands.Invalid},
		"neither a file nor a dir":     {control.Plugin{Source: bad(func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "x"), 0o600) })}, openhands.Invalid},
		"not a regular file": {control.Plugin{Source: bad(func(dir string) error {
			name := filepath.Join(dir, ".plugin/plugin.json")
			return errors.Join(os.Remove(name), os.Mkdir(name, 0o700))
		})}, openhands.Invalid},
		"larger than 256 MiB": {control.Plugin{Source: bad(func(dir string) error {
			name := filepath.Join(dir, "large")
			return errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, 1<<30))
		})}, openhands.Invalid},
		"no such directory":    {control.Plugin{Source: filepath.Join(p.Home, "none")}, openhands.Malformed},
		"leads out of the sou": {control.Plugin{Source: p.Home, Path: "../x"}, openhands.Malformed},
		"not a git repository": {control.Plugin{Source: "file://" + p.Home}, openhands.Malformed},
		"is on the network":    {control.Plugin{Source: "https://user:hunter2@example.org/x"}, openhands.Malformed},
		"not an absolute path": {control.Plugin{Source: "x"}, openhands.Malformed},
	} {
		_, err := s.Install(t.Context(), try.from, false)
		if kindOf(err) != try.kind || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", want, err)
		}
	}
	if left := visible(t, filepath.Join(p.Base, "plugins/installed")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// A link that stays inside is copied as a link, and so is one in a circle of directories.
func TestLinksInsideStay(t *testing.T) {
	t.Parallel()
	dir := pluginIn(t, "good")
	for name, target := range map[string]string{"more": "commands", "commands/again": ".."} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	e, err := extension.Plugins(places(t)).Install(t.Context(), control.Plugin{Source: dir}, false)
	if err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(filepath.Join(e.Path, "more")); target != "commands" {
		t.Errorf("link target = %q, error %v", target, err)
	}
	if files := extension.Files(e.Path); len(files) != 3 {
		t.Errorf("files = %q", files)
	}
}

func TestAFailedReplacementKeepsWhatIsInstalled(t *testing.T) {
	t.Parallel()
	p := places(t)
	s := extension.Plugins(p)
	source := pluginIn(t, "good")
	e, err := s.Install(t.Context(), control.Plugin{Source: source}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(source, "x")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Refresh(t.Context(), "good"); kindOf(err) != openhands.Invalid {
		t.Errorf("the error of a refresh with a link to /: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	write(t, source, map[string]string{"new": ""})
	if _, err := s.Install(ended, control.Plugin{Source: "file://" + source}, true); err == nil {
		t.Error("an ended request installs")
	}
	if names := visible(t, filepath.Dir(e.Path)); !slices.Equal(names, []string{"good"}) {
		t.Errorf("names = %q", names)
	}
	if again, err := s.Get("good"); err != nil || again != e {
		t.Errorf("Get = %+v, error %v", again, err)
	}
}

// OpenHands writes the file, too, and people copy and remove directories.
func TestTheListFollowsTheDirectories(t *testing.T) {
	t.Parallel()
	p := places(t)
	dir := filepath.Join(p.Base, "plugins/installed")
	s := extension.Plugins(p)
	if list, err := s.List(t.Context()); err != nil || list != nil {
		t.Fatalf("the list of nothing: %v, %v", list, err)
	}
	write(t, dir, map[string]string{
		extension.IndexName: `{"plugins":{"old":{"name":"old","enabled":false,"source":"local"}},"extensions":{"gone":{"name":"gone"},"../x":{"name":"../x"}}}`,
		"old/x":             "", "by-hand/x": "", "Upper/x": "", ".hidden/x": "", "other/.plugin/plugin.json": `{"name":"else"}`,
	})
	list, err := s.List(t.Context())
	if err != nil || len(list) != 2 || list[0].Name != "old" || list[0].Enabled || list[1].Name != "by-hand" || !list[1].Enabled || list[1].Source != "local" {
		t.Fatalf("list = %+v, error %v", list, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, extension.IndexName))
	if err != nil || strings.Contains(string(data), "gone") || strings.Contains(string(data), `"plugins"`) || !strings.Contains(string(data), "by-hand") {
		t.Errorf("index = %s, error %v", data, err)
	}
}

// A list that cannot be read is not written again: what was switched off would be on.
func TestATornListIsKept(t *testing.T) {
	t.Parallel()
	p := places(t)
	dir, source := filepath.Join(p.Base, "plugins/installed"), t.TempDir()
	s := extension.Plugins(p)
	write(t, source, map[string]string{".plugin/plugin.json": `{"name":"new"}`})
	write(t, dir, map[string]string{extension.IndexName: `{"extensions":`, "old/.plugin/plugin.json": `{"name":"old"}`})
	_, list := s.List(t.Context())
	_, get := s.Get("old")
	_, install := s.Install(t.Context(), control.Plugin{Source: source}, true)
	_, enabled := s.Enabled()
	for what, err := range map[string]error{
		"list": list, "get": get, "install": install, "enabled": enabled,
		"enable": s.Enable(t.Context(), "old", true), "remove": s.Remove(t.Context(), "old"),
	} {
		if kindOf(err) != openhands.Unreadable || !strings.Contains(err.Error(), filepath.Join(dir, extension.IndexName)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var bad []string
	if own := extension.Own(p, func(dir string, _ error) { bad = append(bad, dir) }); len(own) != 0 || !slices.Equal(bad, []string{dir}) {
		t.Errorf("Own = %+v, refused %q", own, bad)
	}
	if data, err := os.ReadFile(filepath.Join(dir, extension.IndexName)); err != nil || string(data) != `{"extensions":` {
		t.Errorf("the list is %s, %v", data, err)
	}
	if got := visible(t, dir); !slices.Equal(got, []string{"old"}) {
		t.Errorf("the directory has %q", got)
	}
}

func TestPluginsOfTheUserAndOfAProject(t *testing.T) {
	t.Parallel()
	p := places(t)
	project := filepath.Join(t.TempDir(), "repository/sub")
	write(t, p.Home, map[string]string{
		".agents/plugins/one/commands/a.md": "first", ".openhands/plugins/one/commands/a.md": "second", ".openhands/plugins/two/x": "",
		".openhands/plugins/installed/three/x": "", ".openhands/plugins/torn/.plugin/plugin.json": "{",
	})
	write(t, filepath.Dir(project), map[string]string{".git/HEAD": "", ".openhands/plugins/five/x": "", "sub/.agents/plugins/four/x": ""})
	if err := os.Symlink(p.Home, filepath.Join(project, ".agents/plugins/out")); err != nil {
		t.Fatal(err)
	}
	var bad []string
	note := func(dir string, _ error) { bad = append(bad, filepath.Base(dir)) }
	names := func(list []plugin.Plugin) (names []string) {
		for _, p := range list {
			names = append(names, p.Name)
		}
		return names
	}
	own := extension.Own(p, note)
	if got := names(own); !slices.Equal(got, []string{"one", "two", "three"}) || own[0].Skills[0].Body != "first" || !slices.Equal(bad, []string{"torn"}) {
		t.Errorf("names = %q, refused %q", got, bad)
	}
	if got := names(extension.OfProject(project, note)); !slices.Equal(got, []string{"four", "five"}) {
		t.Errorf("names = %q", got)
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	p := places(t)
	dir := write(t, filepath.Join(t.TempDir(), "good"), map[string]string{
		".plugin/plugin.json": `{"name":"good"}`, "commands/greet.md": "x", "skills/hello/SKILL.md": "---\nname: hello\n---\nx", "bare/commands/a.md": "x",
	})
	head := commit(t, dir)
	for _, try := range []struct{ source, ref, path, commit string }{{dir, "", "", ""}, {"file://" + dir, "", "", head}, {dir, "main", "", head}} {
		got, err := extension.Fetch(t.Context(), p, control.Plugin{Source: try.source, Ref: try.ref})
		if err != nil || !slices.Equal(got.Skills, []string{"hello"}) || !slices.Equal(got.Commands, []string{"greet"}) || string(got.Manifest) != `{"name":"good"}` {
			t.Errorf("%+v: result = %+v, error %v", try, got, err)
		}
		if (got.ResolvedRef == nil) != (try.commit == "") || got.ResolvedRef != nil && *got.ResolvedRef != try.commit {
			t.Errorf("%+v: resolved ref = %v", try, got.ResolvedRef)
		}
	}
	slow, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for code, from := range map[plugin.Code]control.Plugin{
		plugin.InvalidSource: {Source: "x"},
		plugin.Unavailable:   {Source: "git@example.org:x"},
		plugin.RefNotFound:   {Source: dir, Ref: "none"},
		plugin.NoRepoPath:    {Source: "file://" + dir, Path: "none"},
		plugin.InvalidPlugin: {Source: dir, Path: "bare"},
		plugin.Timeout:       {Source: "file://" + dir},
	} {
		ctx := t.Context()
		if code == plugin.Timeout {
			ctx = slow
		}
		_, err := extension.Fetch(ctx, p, from)
		if wrong, ok := errors.AsType[*plugin.Error](err); !ok || wrong.Code != code {
			t.Errorf("%+v: %v, want %s", from, err, code)
		}
	}
}
