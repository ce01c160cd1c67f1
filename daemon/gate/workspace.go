package gate

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/subpath"
	"github.com/ohgw/ohgw/internal/workdir"
)

// Why a client may not choose the directory of a conversation.
const (
	noChoiceKey    = "This API key may not choose the directory of a conversation; create one that may with ohgw tokens create NAME --workspace DIR."
	noChoicePage   = "A web page may not choose the directory of a conversation."
	noChoiceRemote = "The agent-server does not share the files of this machine with ohgw, so a request cannot choose a directory; set it for all conversations with ohgw serve --workspace DIR."
)

// Chooses reports whether the client may choose directories at all, and lower
// the confirmation mode of the daemon.
func (c Client) Chooses() bool { return len(c.Workspaces) > 0 }

// FromPage reports whether a browser sent the request for a web page.
func FromPage(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
}

// roots returns the directories that a client may choose, with all below them;
// [workdir.Any] stands for every directory. Where there are none, reason says why.
func (core *Core) roots(ctx context.Context, client Client) (roots []string, reason string) {
	if !client.Chooses() {
		return nil, noChoiceKey
	}
	if !core.Backend.Status(ctx).SharesFiles {
		return nil, noChoiceRemote
	}
	if core.Workspace == "" {
		return client.Workspaces, ""
	}
	within, err := workdir.Resolve(core.Workspace)
	if err != nil {
		return nil, "The directory of ohgw serve --workspace cannot be used: " + core.Workspace
	}
	for _, root := range client.Workspaces {
		switch {
		case root == workdir.Any, subpath.Within(root, within):
			return []string{within}, ""
		case subpath.Within(within, root):
			roots = append(roots, root)
		}
	}
	if len(roots) == 0 {
		return nil, "This API key is for directories outside " + within + ", where all conversations of this ohgw work (ohgw serve --workspace)."
	}
	return roots, ""
}

// NamedWorkspace resolves the directory that the header of a request names, and
// refuses one that the client may not choose; empty if the header is missing.
func (core *Core) NamedWorkspace(r *http.Request, client Client, o Options) (string, error) {
	if o.Workspace == "" {
		return "", nil
	}
	if FromPage(r) {
		return "", forbiddenWorkspace(noChoicePage)
	}
	ctx, cancel := context.WithTimeout(r.Context(), BackendTimeout)
	defer cancel()
	roots, reason := core.roots(ctx, client)
	if len(roots) == 0 {
		return "", forbiddenWorkspace(reason)
	}
	dir, err := workdir.Resolve(o.Workspace)
	if err != nil && filepath.IsAbs(o.Workspace) && !namedWithin(roots, o.Workspace) {
		// Whether it exists is not for this client to know.
		return "", outsideWorkspace(o.Workspace, roots)
	}
	switch {
	case errors.Is(err, workdir.ErrRelative):
		return "", badHeader(HeaderWorkspace, "an absolute path")
	case workdir.Missing(err):
		return "", NewProblem(codeNoWorkspace, "The directory "+o.Workspace+" does not exist on the machine of this ohgw; create it, or name another one.", err).About(HeaderWorkspace)
	case errors.Is(err, fs.ErrPermission):
		return "", forbiddenWorkspace("ohgw may not read the directory " + o.Workspace + "; change its permissions, or name another one.")
	case err != nil:
		return "", NewProblem(codeNoWorkspace, "The directory "+o.Workspace+" cannot be used.", err).About(HeaderWorkspace)
	}
	if !mayWorkIn(roots, dir) {
		return "", outsideWorkspace(o.Workspace, roots)
	}
	if core.ownDirectory(dir) {
		return "", forbiddenWorkspace("The directory " + dir + " belongs to ohgw itself; name a directory outside its state directory.")
	}
	if o.ReadOnly && !core.keepsReadOnly(ctx) {
		return "", NewProblem(codeForbiddenWorkspace, "The agents of this ohgw do not run in a sandbox, so no directory can be read-only.", nil).About(headerAccess)
	}
	return dir, nil
}

// AccessRead is the access of a conversation that does not change its directory.
const AccessRead = "read"

// keepsReadOnly reports whether the sandbox can keep a directory as it is.
func (core *Core) keepsReadOnly(ctx context.Context) bool {
	level := core.SandboxStatus(ctx).Level
	return level == "full" || level == "reduced"
}

// outsideWorkspace returns the problem with a directory outside of roots. It says the
// same whether the directory exists or not.
func outsideWorkspace(path string, roots []string) error {
	return forbiddenWorkspace("The directory " + path + " is outside the directories that this request may choose: " + strings.Join(roots, ", ") + ".")
}

// namedWithin reports whether a path, as it is written, is within one of roots.
func namedWithin(roots []string, path string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return root == workdir.Any || subpath.Within(root, filepath.Clean(path))
	})
}

// mayWorkIn reports whether dir is one of roots, or below one.
func mayWorkIn(roots []string, dir string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		if root == workdir.Any {
			return true
		}
		real, err := workdir.Resolve(root) // its links may have changed since it was stored
		return err == nil && subpath.Within(real, dir)
	})
}

// ownDirectory reports whether dir is where ohgw keeps its files: it removes
// directories there together with their conversations.
func (core *Core) ownDirectory(dir string) bool {
	for _, own := range []string{core.StateDir, core.WorkspacesDir()} {
		if own == "" {
			continue
		}
		if real, err := workdir.Resolve(own); err == nil && subpath.Within(real, dir) {
			return true
		}
	}
	return false
}

func forbiddenWorkspace(message string) error {
	return NewProblem(codeForbiddenWorkspace, message, nil).About(HeaderWorkspace)
}

// workspaceHeader reads the path in a request header: percent-encoded UTF-8.
func workspaceHeader(h http.Header) (string, error) {
	values := h.Values(HeaderWorkspace)
	if len(values) == 0 {
		return "", nil
	}
	path, err := url.PathUnescape(strings.TrimSpace(values[0]))
	if err != nil || len(values) > 1 {
		return "", badHeader(HeaderWorkspace, "a single absolute path, percent-encoded")
	}
	return path, nil
}

// escapedPath is a path in a header: percent-encoded UTF-8.
func escapedPath(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// WorkspaceHealth is where the conversations of a client work.
type WorkspaceHealth struct {
	// Directory is where all conversations work; empty: each in a new directory.
	Directory string `json:"directory"`
	// Choose are the directories that the client may choose with
	// X-OpenHands-Workspace, with all below them; "any" stands for every one.
	Choose []string `json:"choose"`
	// ReadOnly says that X-OpenHands-Workspace-Access can be "read".
	ReadOnly bool `json:"read_only"`
	// Reason is why there are none.
	Reason string `json:"reason,omitempty"`
}

// WorkspaceHealth says where the conversations of a client work.
func (core *Core) WorkspaceHealth(ctx context.Context, client Client) *WorkspaceHealth {
	roots, reason := core.roots(ctx, client)
	return &WorkspaceHealth{Directory: core.Workspace, Choose: append([]string{}, roots...), ReadOnly: core.keepsReadOnly(ctx), Reason: reason}
}

// mismatch is the problem with a conversation that works in another directory.
func mismatch(e *run.WorkspaceError) *Problem {
	have := e.Have
	if e.ReadOnly {
		have += " and does not change the files there"
	}
	return NewProblem(codeWorkspaceMismatch,
		"This conversation works in "+have+", and a conversation keeps its directory; leave out "+HeaderWorkspace+", or start a new conversation.", nil).About(HeaderWorkspace)
}

// WorkspacesDir is where the directories are that conversations were given;
// empty if there are none.
func (core *Core) WorkspacesDir() string {
	if core.WorkspaceRoot == "" && core.StateDir != "" {
		return filepath.Join(core.StateDir, Workspaces)
	}
	return core.WorkspaceRoot
}

// Workspaces is where directories of conversations are, below the state
// directory.
const Workspaces = "workspaces"
