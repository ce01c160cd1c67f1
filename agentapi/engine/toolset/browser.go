package toolset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/browser"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// BrowserSet is the name of the browser's tools in an agent, and browserClass the older one.
const (
	BrowserSet   = "browser_tool_set"
	browserClass = "BrowserToolSet"
)

// downloads is the directory in the workspace for what the browser downloads.
const downloads = "downloads"

// maxCopies is how many files of one name there may be.
const maxCopies = 1000

// BrowserFiles are how the browser of a conversation uses the files of its workspace.
type BrowserFiles struct {
	// Save puts a download into the workspace, and returns its path.
	Save func(name string, file io.Reader) (path string, err error)
	// Load opens a file for an upload.
	Load func(path string) (io.ReadCloser, error)
}

// browser adds the tools of the browser. Where this machine has none they are left
// out, and the model and the person are told.
func (m *maker) browser(ctx context.Context) {
	if slices.ContainsFunc(m.tools, func(t tool.Tool) bool { return t.Definition().Name == "browser_navigate" }) {
		return
	}
	if m.cfg.Browser == nil {
		m.env.Log.Warn("the agent has a tool that the embedded engine does not have", "conversation", m.env.Conversation, "tool", BrowserSet)
		return
	}
	b, err := m.cfg.Browser(ctx, m.env, BrowserFiles{Save: m.save, Load: m.load})
	if err != nil {
		m.env.Log.Warn("the browser's tools are left out", "conversation", m.env.Conversation, "err", err)
		why := "there is none that can be used"
		if f, ok := errors.AsType[*fault.Error](err); ok {
			why = f.Msg
		}
		m.env.Host.Notice("The tools of the browser are missing in this conversation: " + why + ". Continue without them. ohgw doctor shows how to get a browser.")
		return
	}
	m.tools = append(m.tools, browser.Tools(browser.Config{
		Browser: b, SaveDir: filepath.Join(m.env.Dir, "observations"), Vision: m.env.Host.Vision,
	})...)
}

// save puts a download into the workspace. A file that is there already is kept.
func (m *maker) save(name string, file io.Reader) (path string, err error) {
	files, err := sandbox.StreamsOf(m.box(), m.env.Workspace, true)
	if err != nil {
		return "", fmt.Errorf("open workspace: %w", err)
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	dir := filepath.Join(m.env.Workspace, downloads)
	if err := files.MakeDir(dir); err != nil {
		return "", err
	}
	real, err := files.Real(dir)
	if err != nil {
		return "", err
	}
	if path, err = free(files, real, name); err != nil {
		return "", err
	}
	w, err := files.Put(path)
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(w, file); err != nil {
		return "", errors.Join(err, w.Abort())
	}
	return path, w.Commit()
}

// free finds the path of a file that does not exist.
func free(files sandbox.Files, dir, name string) (string, error) {
	ext := filepath.Ext(name)
	for i := range maxCopies {
		at := filepath.Join(dir, name)
		if i > 0 {
			at = filepath.Join(dir, fmt.Sprintf("%s-%d%s", name[:len(name)-len(ext)], i, ext))
		}
		if _, err := files.Stat(at); errors.Is(err, fs.ErrNotExist) {
			return at, nil
		} else if err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("there are %d files of the name %s", maxCopies, name)
}

// load opens a file of the workspace for an upload.
func (m *maker) load(path string) (file io.ReadCloser, err error) {
	files, err := sandbox.StreamsOf(m.box(), m.env.Workspace, true)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.env.Workspace, path)
	}
	real, err := files.Real(path)
	if err != nil {
		return nil, errors.Join(err, files.Close())
	}
	opened, info, err := files.Open(real)
	if err != nil {
		return nil, errors.Join(err, files.Close())
	}
	return &loaded{Reader: io.NewSectionReader(opened, 0, info.Size()), closers: closers{opened, files}}, nil
}

// loaded is a file that is uploaded.
type loaded struct {
	io.Reader
	closers
}
