package moving_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/enginetest"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup/moving"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// The conversation of testdata/record, as an agent-server 1.34.0 of a real app-server
// packed it; with a secret and an MCP server, and without upstream's prompts.
const (
	recordedHex = "1d5023890ed4479c9c3a501c72e54915"
	recordedID  = "1d502389-0ed4-479c-9c3a-501c72e54915"
)

// source is an account with that conversation.
type source struct {
	record, workspace []byte
	cut               string // the download that breaks in its middle
}

func newSource(t *testing.T) *source {
	t.Helper()
	return &source{record: record(t, "testdata/record", recordedHex), workspace: workspace(t, map[string]string{
		"project/sub/a.txt": "hi\n", "project/.git/HEAD": "ref: refs/heads/main\n",
		"project/archive_manifest.json": `{"excludes":[],"file_count":2,"format":"tar.gz","source":"/workspace/project","total_bytes":9}`,
	})}
}

func record(t *testing.T, dir, hex string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		below, _ := filepath.Rel(dir, name)
		f, err := w.Create(hex + "/" + filepath.ToSlash(below))
		if err == nil {
			_, err = f.Write(data)
		}
		return err
	})
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func workspace(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))})
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (s *source) Wake(context.Context, string, func(account.Progress)) (account.Runtime, error) {
	return account.Runtime{}, nil
}

func (s *source) Record(context.Context, string) (*account.Download, error) {
	return s.download("record", s.record), nil
}

func (s *source) Workspace(context.Context, string) (*account.Download, error) {
	return s.download("workspace", s.workspace), nil
}

func (s *source) download(name string, data []byte) *account.Download {
	in := io.Reader(bytes.NewReader(data))
	if s.cut == name {
		in = io.MultiReader(bytes.NewReader(data[:len(data)/2]), broken{})
	}
	return &account.Download{ReadCloser: io.NopCloser(in), Size: int64(len(data))}
}

var errCut = errors.New("the connection broke")

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errCut }

// world is this machine: an engine, and a state directory.
type world struct {
	engine *engine.Backend
	state  string
	from   *source
	llm    *llmtest.Server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{state: t.TempDir(), from: newSource(t), llm: llmtest.New(t)}
	w.engine = openEngine(t, w.llm.URL, w.conversations())
	return w
}

func (w *world) conversations() string { return filepath.Join(w.state, "conversations") }

func openEngine(t *testing.T, llm, dir string) *engine.Backend {
	t.Helper()
	c := enginetest.Config(t, llm, enginetest.NewProfiles("here", "test"))
	c.Dir = dir
	b := engine.New(c)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (w *world) pull() *moving.Pull {
	return &moving.Pull{
		From: w.from, To: w.engine.Library(), ID: recordedID, Profile: "here",
		Scratch: filepath.Join(w.state, "pull", recordedHex), Workspace: filepath.Join(w.state, "workspaces", recordedID),
		Watch: func(_ string, _ int64, from io.Reader) io.Reader { return from },
	}
}

// files are the files below the state directory.
func (w *world) files(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(w.state, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = append(found, strings.TrimPrefix(filepath.ToSlash(name), filepath.ToSlash(w.state)+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (w *world) say(t *testing.T, text, answer string) {
	t.Helper()
	w.llm.Reply(llmtest.Finish(answer))
	c, err := w.engine.Open(t.Context(), agentapi.OpenRequest{ID: recordedID, Existing: true, Profile: "here"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if info := c.Info(); info.Profile != "here" || info.Workspace != filepath.Join(w.state, "workspaces", recordedID) {
		t.Errorf("the conversation is %+v", info)
	}
	res, err := turn.Run(t.Context(), c, turn.Input{Message: agentapi.Message{Text: text}, Emit: func(turn.Update) {}})
	if err != nil || res.Answer != answer {
		t.Fatalf("turn: %+v, %v", res, err)
	}
}

func TestAPulledConversationGoesOnHere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	done, err := w.pull().Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := moving.Pulled{
		Files: 2, Bytes: done.Bytes, // of the manifest, too
		Skipped: []string{}, Secrets: []string{"GITHUB_TOKEN"}, Servers: []string{"fetch"}, Directory: "/workspace/project",
	}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Error(diff)
	}
	files := w.files(t)
	for _, name := range files {
		if strings.HasPrefix(name, "workspaces/") && name != "workspaces/"+recordedID+"/.git/HEAD" && name != "workspaces/"+recordedID+"/sub/a.txt" || strings.HasPrefix(name, "pull/") {
			t.Errorf("there is %s", name)
		}
		data, err := os.ReadFile(filepath.Join(w.state, filepath.FromSlash(name)))
		if err != nil || strings.Contains(string(data), "gAAAA") || strings.Contains(string(data), "uvx") {
			t.Errorf("%s has a secret or a program of the server, %v", name, err)
		}
	}
	w.say(t, "go on", "here I am")
	asked := w.llm.Await(t, 1)
	found := false
	for _, m := range asked.Messages {
		found = found || strings.Contains(m.Text, "Done: ok")
	}
	if !found {
		t.Error("the model was not told what was said on the server")
	}
}

func TestABrokenPullLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*source){
		"cut record":         func(s *source) { s.cut = "record" },
		"cut workspace":      func(s *source) { s.cut = "workspace" },
		"no archive":         func(s *source) { s.record = []byte("PK no archive") },
		"damaged workspace":  func(s *source) { s.workspace = s.workspace[:len(s.workspace)-9] },
		"hostile workspace":  func(s *source) { s.workspace = workspace(t, map[string]string{"project/../../evil": "x"}) },
		"hostile workspace2": func(s *source) { s.workspace = workspace(t, map[string]string{"/evil": "x"}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			spoil(w.from)
			if _, err := w.pull().Run(t.Context()); err == nil {
				t.Error("it was pulled")
			}
			if left := w.files(t); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
			w.from = newSource(t)
			if _, err := w.pull().Run(t.Context()); err != nil {
				t.Errorf("the next pull: %v", err)
			}
		})
	}
}

// What a killed pull has left is in nobody's way.
func TestAPullAfterOneThatWasKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull()
	half := filepath.Join(filepath.Dir(p.Workspace), ".ohgw-pull-"+recordedHex)
	for _, name := range []string{filepath.Join(p.Scratch, "conversation.zip"), filepath.Join(p.Scratch, "workspace"), filepath.Join(half, "sub", "half.txt")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte("half"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range w.files(t) {
		if strings.Contains(name, "half") || strings.HasPrefix(name, "pull/") {
			t.Errorf("there is %s", name)
		}
	}
}

func TestASecondPullReplacesOnlyIfItMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.pull().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(w.pull().Workspace, "mine.txt")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := w.files(t)
	if _, err := w.pull().Run(t.Context()); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("a second pull: %v", err)
	}
	if diff := cmp.Diff(before, w.files(t)); diff != "" {
		t.Errorf("a refused pull changed files:\n%s", diff)
	}
	again := w.pull()
	again.Replace = true
	w.from.cut = "workspace"
	if _, err := again.Run(t.Context()); !errors.Is(err, errCut) {
		t.Errorf("a pull that broke: %v", err)
	}
	if diff := cmp.Diff(before, w.files(t)); diff != "" {
		t.Errorf("a broken pull changed files:\n%s", diff)
	}
	w.from.cut = ""
	if _, err := again.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mine); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the files of before are still there: %v", err)
	}
	w.say(t, "go on", "once more")
}

func TestAConversationThatRunsIsNotPulled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/record")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "base_state.json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	running := strings.Replace(string(data), `"execution_status": "finished"`, `"execution_status": "running"`, 1)
	if running == string(data) {
		t.Fatal("the recording is not of a finished conversation")
	}
	if err := os.WriteFile(file, []byte(running), 0o600); err != nil {
		t.Fatal(err)
	}
	w.from.record = record(t, dir, recordedHex)
	if _, err := w.pull().Run(t.Context()); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("it was pulled: %v", err)
	}
}
