package repocheck_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tidied is the directories of an agent-server that deploy/helm/ohgw/files/tidy.py reads.
type tidied struct {
	t                         *testing.T
	workspaces, conversations string
}

const (
	keptID    = "0198c9d2-f0a5-4b1c-8e3d-000000000001"
	removedID = "0198c9d2-f0a5-4b1c-8e3d-000000000002"
	otherID   = "0198c9d2-f0a5-4b1c-8e3d-000000000003"
)

func newTidied(t *testing.T) tidied {
	t.Helper()
	dir := t.TempDir()
	d := tidied{t, filepath.Join(dir, "ohgw", "workspaces"), filepath.Join(dir, "conversations")}
	d.make(d.conversations)
	return d
}

func (d tidied) make(path string) {
	d.t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		d.t.Fatal(err)
	}
}

func (d tidied) write(path, text string) {
	d.t.Helper()
	d.make(filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// workspace makes one with a file, and gives its path.
func (d tidied) workspace(id string) string {
	d.t.Helper()
	path := filepath.Join(d.workspaces, id)
	d.write(filepath.Join(path, "a", "b.txt"), "x")
	return path
}

// conversation makes the record of one that works in a directory.
func (d tidied) conversation(id, in string) {
	d.t.Helper()
	d.write(filepath.Join(d.conversations, strings.ReplaceAll(id, "-", ""), "meta.json"), `{"id":"`+id+`","workspace":{"kind":"LocalWorkspace","working_dir":"`+in+`"}}`)
}

// run gives what the program says.
func (d tidied) run(env ...string) (said string, failed bool) {
	d.t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") == "true" {
			d.t.Fatal(err)
		}
		d.t.Skip("there is no python3 on this machine")
	}
	const program = "../../deploy/helm/ohgw/files/tidy.py"
	if _, err := os.Stat(program); err != nil { // so that go test caches no result of another one
		d.t.Fatal(err)
	}
	cmd := exec.CommandContext(d.t.Context(), python, program)
	cmd.Env = append(os.Environ(), append([]string{"WORKSPACES=" + d.workspaces, "CONVERSATIONS=" + d.conversations, "AGE=-1", "EVERY=0"}, env...)...)
	out, err := cmd.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		d.t.Fatal(err)
	}
	return string(out), err != nil
}

func (d tidied) check(path string, want bool) {
	d.t.Helper()
	if _, err := os.Lstat(path); (err == nil) != want {
		d.t.Errorf("%s is there: %v, want %v", path, err == nil, want)
	}
}

func TestTidyRemovesWorkspacesWithoutAConversation(t *testing.T) {
	t.Parallel()
	d := newTidied(t)
	used, unused := d.workspace(keptID), d.workspace(removedID)
	d.conversation(keptID, used)
	foreign, file := filepath.Join(d.workspaces, "project"), filepath.Join(d.workspaces, "0198c9d2-f0a5-4b1c-8e3d-000000000009")
	d.make(foreign)
	d.write(file, "not a directory")
	said, failed := d.run()
	if failed || said != "workspaces removed: 1\n" {
		t.Errorf("failed %v: %s", failed, said)
	}
	d.check(filepath.Join(used, "a", "b.txt"), true)
	d.check(unused, false)
	d.check(foreign, true)
	d.check(file, true)
}

// A copy of a conversation works in the workspace of the first one, and an agent may work
// in a directory of it.
func TestTidyKeepsWhatAnotherConversationWorksIn(t *testing.T) {
	t.Parallel()
	d := newTidied(t)
	first, second := d.workspace(keptID), d.workspace(removedID)
	d.conversation(otherID, first)
	d.conversation("0198c9d2-f0a5-4b1c-8e3d-000000000004", second+"/a/")
	made := d.workspace("0198c9d2-f0a5-4b1c-8e3d-000000000005")
	d.make(filepath.Join(d.conversations, "0198c9d2f0a54b1c8e3d000000000005")) // it has no record yet
	if said, failed := d.run(); failed || said != "" {
		t.Errorf("failed %v: %s", failed, said)
	}
	for _, path := range []string{first, second, made} {
		d.check(path, true)
	}
}

// A home directory is often a link.
func TestTidyKnowsWorkspacesByAnyName(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]bool{"the program has the link": true, "the record has the link": false} {
		d := newTidied(t)
		used, unused, home := d.workspace(keptID), d.workspace(removedID), filepath.Join(t.TempDir(), "home")
		if err := os.Symlink(filepath.Dir(d.workspaces), home); err != nil {
			t.Fatal(err)
		}
		there := filepath.Join(home, "workspaces")
		env := "WORKSPACES=" + d.workspaces
		if link {
			env, there = "WORKSPACES="+there, d.workspaces
		}
		d.conversation(otherID, filepath.Join(there, keptID))
		if said, failed := d.run(env); failed {
			t.Errorf("%s: %s", name, said)
		}
		d.check(used, true)
		d.check(unused, false)
	}
}

func TestTidyKeepsWhatIsNew(t *testing.T) {
	t.Parallel()
	d := newTidied(t)
	path := d.workspace(removedID)
	if said, failed := d.run("AGE=3600"); failed || said != "" {
		t.Errorf("failed %v: %s", failed, said)
	}
	d.check(path, true)
}

func TestTidyRemovesNothingWhereItCannotRead(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(tidied){
		"a record that is being written": func(d tidied) {
			d.write(filepath.Join(d.conversations, strings.ReplaceAll(otherID, "-", ""), "meta.json"), `{"id":"`+otherID)
		},
		"a record of another form": func(d tidied) {
			d.write(filepath.Join(d.conversations, strings.ReplaceAll(otherID, "-", ""), "meta.json"), `{"workspace":null}`)
		},
		"no conversations": func(d tidied) {
			if err := os.RemoveAll(d.conversations); err != nil {
				d.t.Fatal(err)
			}
		},
	} {
		d := newTidied(t)
		path := d.workspace(removedID)
		spoil(d)
		if said, failed := d.run(); !failed || !strings.Contains(said, "removed nothing") || strings.Contains(said, "Traceback") {
			t.Errorf("%s: failed %v: %s", name, failed, said)
		}
		d.check(path, true)
	}
}

// What a link names is not of the workspace.
func TestTidyFollowsNoLink(t *testing.T) {
	t.Parallel()
	d := newTidied(t)
	outside := filepath.Join(t.TempDir(), "outside")
	d.write(filepath.Join(outside, "file"), "x")
	path := d.workspace(removedID)
	link := filepath.Join(d.workspaces, otherID)
	for _, name := range []string{link, filepath.Join(path, "link")} {
		if err := os.Symlink(outside, name); err != nil {
			t.Fatal(err)
		}
	}
	if said, failed := d.run(); failed {
		t.Errorf("it failed: %s", said)
	}
	d.check(path, false)
	d.check(link, true)
	d.check(filepath.Join(outside, "file"), true)
}
