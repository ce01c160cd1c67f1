package manager_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
	_ "github.com/ohgw/ohgw/internal/sandbox/helperinit" // the test binary is the helper, too
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/internal/sandbox/probe"
)

// prober knows whether there can be a box here.
var prober probe.Prober

// real makes the boxes of a world work; it skips a test where the kernel forbids
// them, and nowhere else.
func real(w *world) {
	w.t.Helper()
	r := prober.Ask(context.Background())
	if r.Level != sandbox.Full {
		if os.Getenv("CI") == "true" || !strings.Contains(r.Reason, "forbid") {
			w.t.Fatalf("there is no sandbox: %s", r.Reason)
		}
		w.t.Skip(r.Reason)
	}
	w.cfg.Ask = prober.Ask
}

// run runs a script in a box, in the workspace, and returns what it prints.
func (w *world) run(box sandbox.Box, script string) string {
	w.t.Helper()
	p, out, err := w.start(box, script)
	if err != nil {
		w.t.Fatalf("%s: %v", script, err)
	}
	defer out.Close()
	var all bytes.Buffer
	_, _ = io.Copy(&all, out)
	if _, err := p.Wait(); err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(all.String())
}

func (w *world) start(box sandbox.Box, script string) (sandbox.Process, *os.File, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	if w.environ == nil { // as tools do, which are made once
		w.environ = sandbox.EnvironOf(box, []string{"PATH=" + os.Getenv("PATH"), "API_KEY=secret", "WANTED=value"})
	}
	p, err := box.Start(w.t.Context(), sandbox.Program{
		Args: []string{"/bin/bash", "-c", script}, Env: w.environ,
		Dir: w.env.Workspace, Files: []*os.File{nil, in, in},
	})
	if err != nil {
		out.Close()
	}
	return p, out, err
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheBoxOfAConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, real, func(w *world) { w.cfg.Settings.Pass = []string{"WANTED"} })
	write(t, filepath.Join(w.home, ".secret"), "the user's")
	write(t, filepath.Join(w.env.Dir, "observations", "1.txt"), "long")
	write(t, filepath.Join(w.env.Workspace, "sub", "file"), "in the workspace")
	w.env.Workspace = filepath.Join(w.root, "link", "sub")
	if err := os.Symlink(filepath.Join(w.home, "app"), filepath.Dir(w.env.Workspace)); err != nil {
		t.Fatal(err)
	}
	m := w.manager()
	box := w.box(m)
	seen := filepath.Join(w.env.Dir, "observations")
	for script, want := range map[string]string{
		"cat file":                          "in the workspace", // by the link
		"pwd -P":                            filepath.Join(w.home, "app", "sub"),
		"echo $HOME":                        w.home,
		"cat ~/.secret 2>/dev/null || echo": "",
		"cat '" + seen + "/1.txt'":          "long",
		"echo x 2>/dev/null >'" + seen + "/2.txt' || echo refused": "refused",
		"echo $API_KEY $WANTED": "value",
	} {
		if got := w.run(box, script); got != want {
			t.Errorf("%s: output = %q, want %q", script, got, want)
		}
	}
	w.run(box, "echo kept >/tmp/note; echo mine >~/note")
	if got := w.run(box, "cat /tmp/note"); got != "kept" {
		t.Errorf("the next program sees %q in /tmp", got)
	}
	files, err := sandbox.FilesOf(box, w.env.Workspace, false)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	if data, _, err := files.Read("/tmp/note", 100); string(data) != "kept\n" {
		t.Errorf("Read(/tmp/note) = %q, %v", data, err)
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	if got := w.run(w.box(m), "cat /tmp/note ~/note"); got != "kept\nmine" {
		t.Errorf("the next box of the conversation sees %q", got)
	}
	if _, err := os.Lstat(filepath.Join(w.home, "note")); err == nil {
		t.Error("a program has written into the user's home directory")
	}
}

// TestAConversationThatStartsNoProgramMakesNoSandbox does what a turn without commands
// does with its box: the environment of programs is asked for, and the workspace of files.
// A tool that is installed meanwhile is in the sandbox of the first program.
func TestAConversationThatStartsNoProgramMakesNoSandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, real)
	link := filepath.Join(w.root, "link")
	if err := os.Symlink(w.env.Workspace, link); err != nil {
		t.Fatal(err)
	}
	workspace := w.env.Workspace
	w.env.Workspace = link
	box := w.box(w.manager())
	files, err := sandbox.FilesOf(box, link, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	for _, at := range []string{link, workspace} {
		if got, err := files.Real(at); err != nil || got != workspace {
			t.Errorf("%s is %q, %v, want %s", at, got, err, workspace)
		}
	}
	sandbox.EnvironOf(box, []string{"PATH=" + os.Getenv("PATH")})
	for _, at := range []string{filepath.Join(w.env.Dir, "tmp"), filepath.Dir(boxes.HomeOf(w.state, workspace))} {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was made without a program (%v)", at, err)
		}
	}
	write(t, filepath.Join(w.home, ".local", "bin", "new-tool"), "found")
	if got := w.run(box, "cat ~/.local/bin/new-tool"); got != "found" {
		t.Errorf("the new tool reads %q in the sandbox", got)
	}
}

func TestCloseEndsThePrograms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, real)
	box := w.box(w.manager())
	p, out, err := w.start(box, "echo up; exec sleep 1000")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 { // no process holds the output
		t.Errorf("rest = %q, error %v", rest, err)
	}
	_, _ = p.Wait()
	if _, _, err := w.start(box, "true"); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("a program in a closed box: %v", err)
	}
}

func TestAGrantWidensTheBox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, real)
	m := w.manager()
	box := w.box(m)
	stale := box.(interface{ Stale() bool }).Stale
	target := filepath.Join(w.shared, "new")
	if stale() {
		t.Error("a box without programs is stale")
	}
	files, err := sandbox.FilesOf(box, w.env.Workspace, false)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	if err := files.Create(target, nil); err == nil {
		t.Error("files are made without a grant")
	}
	earlier, out, err := w.start(box, "mkfifo go; echo up; read line <go; echo $line; echo x 2>/dev/null >'"+w.shared+"/early'")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if err := m.Answer(t.Context(), w.env, manager.Answer{Access: sandbox.Write, Target: w.shared, Scope: manager.Conversation}); err != nil {
		t.Fatal(err)
	}
	if !stale() {
		t.Error("the box is not stale after a grant")
	}
	if err := files.Create(target, []byte("by the editor")); err != nil {
		t.Errorf("the files do not follow a grant: %v", err)
	}
	if !stale() {
		t.Error("files alone have made a box that is not stale")
	}
	if got := w.run(box, "cat '"+target+"'; echo x >'"+w.shared+"/more' && echo written"); got != "by the editorwritten" {
		t.Errorf("after a grant: %q", got)
	}
	if stale() {
		t.Error("the box is stale after the next program")
	}
	if _, err := os.Stat(filepath.Join(w.shared, "more")); err != nil {
		t.Error(err)
	}
	w.run(box, "echo on >go")
	if rest, err := io.ReadAll(out); !strings.HasPrefix(string(rest), "on\n") {
		t.Errorf("the earlier program: %q, %v", rest, err)
	}
	if _, err := earlier.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(w.shared, "early")); err == nil {
		t.Error("the earlier program has the rights of the later ones")
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, real, func(w *world) {
		w.cfg.Settings.Read, w.cfg.Settings.Hide = []string{w.shared}, []string{filepath.Join(w.root, "hidden")}
	})
	write(t, filepath.Join(w.shared, "file"), "")
	write(t, filepath.Join(w.root, "hidden", "file"), "")
	write(t, filepath.Join(w.env.Workspace, ".git", "HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(w.env.Workspace, ".git", "config"), "")
	for _, dir := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(w.env.Workspace, ".git", dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	box := w.box(w.manager())
	for _, c := range []struct{ path, access, why, allow string }{
		{filepath.Join(w.env.Workspace, "file"), "", "", ""},
		{filepath.Join(w.shared, "file"), "write", "it is read-only in the sandbox", "write " + filepath.Join(w.shared, "file")},
		{filepath.Join(w.root, "hidden", "file"), "read", "the sandbox does not show it", "read " + filepath.Join(w.root, "hidden", "file")},
		{filepath.Join(w.env.Workspace, ".git", "config"), "write", "git and editors run programs by it, so the sandbox keeps it as it is", ""},
		{filepath.Join(w.state, "tokens.json"), "read", "the sandbox does not show it", ""},
		{"/usr/bin/env", "write", "it is read-only in the sandbox", ""},
	} {
		b, ok := explain(box, c.path)
		if string(b.Access) != c.access || b.Why != c.why || b.Allow != c.allow || ok != (c.access != "") {
			t.Errorf("%s: block = %+v, explained %v", c.path, b, ok)
		}
	}
}

// A grant that is not for this conversation or workspace does not widen its box.
func TestGrantsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, real)
	store := grants.Open(grants.Config{State: w.state, Home: w.home})
	w.cfg.Grants = store
	box := w.box(w.manager())
	w.run(box, "true")
	for _, g := range []grants.Grant{{Conversation: strings.Replace(conversation, "ab", "ac", 1)}, {Workspace: w.root}} {
		g.Access, g.Target = sandbox.Write, w.shared
		if _, _, err := store.Add(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	if box.(interface{ Stale() bool }).Stale() {
		t.Error("the box is stale")
	}
	if got := w.run(box, "ls '"+w.shared+"' >/dev/null 2>&1 && echo x >'"+w.shared+"/x' && echo written"); slices.Contains(strings.Fields(got), "written") {
		t.Error("a program wrote where it may not")
	}
}

// A box shows the directories of a conversation's plugins, also below one that is hidden,
// and their programs run.
func TestABoxShowsPlugins(t *testing.T) {
	t.Parallel()
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Reduced} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, real, func(w *world) {
				w.cfg.Settings.Minimum = sandbox.Reduced
				w.cfg.Ask = func(context.Context) probe.Result { return probe.Result{Level: level, Landlock: 5} }
			})
			installed := filepath.Join(w.home, ".openhands/plugins/installed")
			serve := filepath.Join(installed, "on/serve.sh")
			write(t, serve, "#!/bin/sh\necho serves\n")
			if err := os.Chmod(serve, 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(installed, "off/a"), "secret")
			write(t, filepath.Join(w.home, ".openhands/settings.json"), "keys")
			w.env.Shown = []string{filepath.Join(installed, "on")}
			m := w.manager()
			agent := w.box(m)
			script := serve + "; cat " + installed + "/off/a " + w.home + "/.openhands/settings.json 2>/dev/null; echo x 2>/dev/null > " + serve + " || echo refused"
			if got := w.run(agent, script); got != "serves\nrefused" {
				t.Errorf("the agent sees %q", got)
			}
			if err := m.Answer(t.Context(), w.env, manager.Answer{Access: sandbox.Read, Target: w.shared, Scope: manager.Conversation}); err != nil {
				t.Fatal(err)
			}
			if got := w.run(agent, "ls -d "+w.shared+"; "+serve); got != w.shared+"\nserves" {
				t.Errorf("after an answer the agent sees %q", got)
			}
		})
	}
}

// A box for programs of the user shows files that the box of the agent does not.
func TestABoxForProgramsOfTheUser(t *testing.T) {
	t.Parallel()
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.Reduced} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, real, func(w *world) {
				w.cfg.Settings.Minimum = sandbox.Reduced
				w.cfg.Ask = func(context.Context) probe.Result { return probe.Result{Level: level, Landlock: 5} }
			})
			hooks := filepath.Join(w.home, ".openhands", "hooks")
			write(t, filepath.Join(hooks, "guard.sh"), "#!/bin/sh\necho guards\n")
			write(t, filepath.Join(w.home, ".openhands", "settings.json"), "keys")
			write(t, filepath.Join(w.home, "check.sh"), "echo checks")
			m := w.manager()
			agent := w.box(m)
			if got := w.run(agent, "cat "+hooks+"/guard.sh "+w.home+"/check.sh 2>/dev/null; mkdir -p ~/.openhands/hooks; echo 'echo fake' > ~/.openhands/hooks/guard.sh; echo ."); got != "." {
				t.Errorf("the agent sees %q", got)
			}
			own := w.env
			own.Read = []string{hooks, filepath.Join(w.home, "check.sh")}
			box, err := m.Box(t.Context(), own)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = box.Close() })
			script := "sh " + hooks + "/guard.sh; sh " + w.home + "/check.sh; cat " + w.home + "/.openhands/settings.json 2>/dev/null; echo x 2>/dev/null > " + hooks + "/guard.sh || echo refused"
			if got := w.run(box, script); got != "guards\nchecks\nrefused" {
				t.Errorf("the user's program sees %q", got)
			}
			// What a person allows is for the box of the agent.
			if err := m.Answer(t.Context(), w.env, manager.Answer{Access: sandbox.Read, Target: w.shared, Scope: manager.Conversation}); err != nil {
				t.Fatal(err)
			}
			if got := w.run(agent, "ls -d "+w.shared); got != w.shared {
				t.Errorf("after the answer the agent sees %q", got)
			}
		})
	}
}
