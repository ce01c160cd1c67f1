package file_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/file"
	"github.com/ohgw/ohgw/internal/sandbox"
)

type patched struct {
	Message string
	Fuzz    int
	IsError bool `json:"is_error"`
	Commit  struct {
		Changes map[string]struct {
			Type string
			Old  *string `json:"old_content"`
			New  *string `json:"new_content"`
			Move string  `json:"move_path"`
		}
	}
	Text string
}

func patcher(t testing.TB, dir string, files sandbox.Streams) *file.Patcher {
	t.Helper()
	if files == nil {
		confined, err := sandbox.Confined(dir)
		if err != nil {
			t.Fatal(err)
		}
		files = confined.(sandbox.Streams)
	}
	p, err := file.NewPatcher(dir, true, files)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func apply(t testing.TB, p *file.Patcher, body string) patched {
	t.Helper()
	data, err := json.Marshal(map[string]string{"patch": "*** Begin Patch\n" + body + "\n*** End Patch"})
	if err != nil {
		t.Fatal(err)
	}
	result, err := p.Run(t.Context(), tool.Call{Args: data})
	if err != nil {
		t.Fatal(err)
	}
	var got patched
	if err := json.Unmarshal(result.Observation, &got); err != nil {
		t.Fatal(err)
	}
	got.Text = result.Content[0].Text
	return got
}

// holds are all files below a directory.
func holds(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAPatchChangesSeveralFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "one\r\ntwo\r\n")
	write(t, filepath.Join(dir, "gone.txt"), "x\n")
	write(t, filepath.Join(dir, "run.sh"), "echo\n")
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := apply(t, patcher(t, dir, nil), "*** Update File: a.txt\n one\n-two\n+zwei\n*** Add File: new/deep/b.txt\n+b\n*** Delete File: gone.txt\n"+
		"*** Update File: run.sh\n*** Move to: bin/run.sh\n-echo\n+echo hi")
	if got.IsError || got.Fuzz != 0 || len(got.Commit.Changes) != 4 || got.Commit.Changes["gone.txt"].Type != "delete" ||
		*got.Commit.Changes["gone.txt"].Old != "x\n" || got.Commit.Changes["run.sh"].Move != "bin/run.sh" {
		t.Errorf("result = %+v", got)
	}
	want := map[string]string{"a.txt": "one\r\nzwei\r\n", "new/deep/b.txt": "b\n", "bin/run.sh": "echo hi\n"}
	have := holds(t, dir)
	for name, content := range want {
		if have[name] != content {
			t.Errorf("%s holds %q", name, have[name])
		}
	}
	if len(have) != len(want) {
		t.Errorf("the directory holds %v", have)
	}
	if info, err := os.Stat(filepath.Join(dir, "bin/run.sh")); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
}

func TestAPatchThatDoesNotApplyChangesNothing(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "a\n")
	write(t, filepath.Join(dir, "b.txt"), "b\n")
	write(t, filepath.Join(dir, "bin"), "\x00\x01\x02")
	write(t, filepath.Join(outside, "o.txt"), "o\n")
	if err := os.MkdirAll(filepath.Join(dir, ".git", "hooks"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Skip(err)
	}
	p := patcher(t, dir, nil)
	before := holds(t, dir)
	for body, want := range map[string]string{
		"*** Update File: b.txt\n-nope\n+x":        "does not have these lines",
		"*** Update File: none.txt\n-nope\n+x":     "none.txt does not exist",
		"*** Delete File: none/none.txt":           "does not exist",
		"*** Update File: bin\n-a\n+b":             "binary",
		"*** Add File: ../x.txt\n+x":               "outside the workspace",
		"*** Add File: out/x.txt\n+x":              "outside the workspace",
		"*** Update File: out/o.txt\n-o\n+x":       "outside the workspace",
		"*** Add File: a.txt/x\n+x":                "not a directory",
		"*** Add File: .git/hooks/pre-commit\n+x":  "belongs to git",
		"*** Update File: b.txt\n*** Move to: bin": "exists already",
		"*** Add File: " + outside + "/y\n+x":      "outside the workspace",
		"*** Delete File: ./a.txt":                 "changes ./a.txt twice",
		"*** Add File: c.txt\n+<secret-hidden>":    "in place of a secret",
		"nonsense":                                 "cannot be read",
	} {
		got := apply(t, p, "*** Update File: a.txt\n-a\n+A\n"+body)
		if !got.IsError || !strings.Contains(got.Text, want) || !strings.Contains(got.Text, "Nothing was changed") {
			t.Errorf("%q: result = %+v", body, got)
		}
		after := holds(t, dir)
		if len(after) != len(before) || after["a.txt"] != "a\n" {
			t.Fatalf("%q: files = %v", body, after)
		}
	}
	if got := holds(t, outside); len(got) != 1 || got["o.txt"] != "o\n" {
		t.Error(got)
	}
}

// fullDisk fails the last of several writes.
type fullDisk struct{ sandbox.Streams }

func (f fullDisk) Create(string, []byte) error { return syscall.ENOSPC }

func TestAPatchThatCannotBeWrittenIsTakenBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "a\n")
	write(t, filepath.Join(dir, "b.txt"), "b\n")
	confined, err := sandbox.Confined(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := apply(t, patcher(t, dir, fullDisk{confined.(sandbox.Streams)}), "*** Update File: a.txt\n-a\n+A\n*** Update File: b.txt\n-b\n+B\n*** Add File: c.txt\n+c")
	if !got.IsError || !strings.Contains(got.Text, "Nothing was changed") || !strings.Contains(got.Text, "no space left") {
		t.Errorf("result = %+v", got)
	}
	if have := holds(t, dir); have["a.txt"] != "a\n" || have["b.txt"] != "b\n" || len(have) != 2 {
		t.Error(have)
	}
}

func TestThePlanningEditorEditsThePlanAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "a\n")
	confined, err := sandbox.Confined(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := confined.(sandbox.Streams)
	plan, err := file.PlanPath(files, dir, "")
	if err != nil || plan != filepath.Join(dir, ".agents_tmp", "PLAN.md") {
		t.Fatal(plan, err)
	}
	for range 2 { // the second time it exists
		if err := file.MakePlan(files, plan); err != nil {
			t.Fatal(err)
		}
	}
	e := editor(t, file.Config{Dir: dir, Confined: true, Files: files, Plan: plan})
	if got := run(t, e, args{"command": "view", "path": filepath.Join(dir, "a.txt")}); got.IsError {
		t.Errorf("result = %+v", got)
	}
	for _, name := range []string{"a.txt", "new.txt"} {
		got := run(t, e, args{"command": "create", "path": filepath.Join(dir, name), "file_text": "x"})
		if !got.IsError || !strings.Contains(got.Text, "Only the plan") {
			t.Errorf("result = %+v", got)
		}
	}
	got := run(t, e, args{"command": "str_replace", "path": plan, "old_str": "# 1. OBJECTIVE\n", "new_str": "# 1. OBJECTIVE\nWin.\n"})
	if got.IsError || !strings.Contains(holds(t, dir)[".agents_tmp/PLAN.md"], "Win.\n\n# 2. CONTEXT SUMMARY\n") {
		t.Errorf("result = %+v", got)
	}
	if d := e.Definition(); d.Name != "planning_file_editor" || d.Kind != "PlanningFileEditorTool" || d.Annotations.Destructive {
		t.Errorf("Definition = %+v", d)
	}
	write(t, filepath.Join(dir, "PLAN.md"), "old")
	if at, err := file.PlanPath(files, dir, ""); at != filepath.Join(dir, "PLAN.md") || err != nil {
		t.Error(at, err)
	}
	if _, err := file.PlanPath(files, dir, "relative"); err == nil {
		t.Error("a relative path")
	}
}
