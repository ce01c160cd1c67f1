package daemon

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

// AnyWorkspace stands for every directory, as the only element of
// [Client.Workspaces].
const AnyWorkspace = "any"

// Why a client may not choose the directory of a conversation.
const (
	noChoiceKey    = "This API key may not choose the directory of a conversation; create one that may with ohgw tokens create NAME --workspace DIR."
	noChoicePage   = "A web page may not choose the directory of a conversation."
	noChoiceRemote = "The agent-server does not share the files of this machine with ohgw, so a request cannot choose a directory; set it for all conversations with ohgw serve --workspace DIR."
)

// chooses reports whether the client may choose directories at all, and lower
// the confirmation mode of the daemon.
func (c Client) chooses() bool { return len(c.Workspaces) > 0 }

// fromPage reports whether a browser sent the request for a web page.
func fromPage(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
}

// roots are the directories that a client may choose, with all below them;
// AnyWorkspace stands for every directory. Where there are none, reason says
// why.
func (d *Daemon) roots(ctx context.Context, client Client) (roots []string, reason string) {
	if !client.chooses() {
		return nil, noChoiceKey
	}
	if !d.cfg.Backend.Status(ctx).SharesFiles {
		return nil, noChoiceRemote
	}
	if d.cfg.Workspace == "" {
		return client.Workspaces, ""
	}
	within, err := workdir.Resolve(d.cfg.Workspace)
	if err != nil {
		return nil, "The directory of ohgw serve --workspace cannot be used: " + d.cfg.Workspace
	}
	for _, root := range client.Workspaces {
		switch {
		case root == AnyWorkspace, subpath.Within(root, within):
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

// namedWorkspace is the directory that the header of a request names, resolved;
// empty if the header is missing.
func (d *Daemon) namedWorkspace(r *http.Request, client Client, o options) (string, error) {
	if o.workspace == "" {
		return "", nil
	}
	if fromPage(r) {
		return "", forbiddenWorkspace(noChoicePage)
	}
	ctx, cancel := context.WithTimeout(r.Context(), backendTimeout)
	defer cancel()
	roots, reason := d.roots(ctx, client)
	if len(roots) == 0 {
		return "", forbiddenWorkspace(reason)
	}
	dir, err := workdir.Resolve(o.workspace)
	if err != nil && filepath.IsAbs(o.workspace) && !namedWithin(roots, o.workspace) {
		// Whether it exists is not for this client to know.
		return "", outsideWorkspace(o.workspace, roots)
	}
	switch {
	case errors.Is(err, workdir.ErrRelative):
		return "", badHeader(headerWorkspace, "an absolute path")
	case workdir.Missing(err):
		return "", newProblem(codeNoWorkspace, "The directory "+o.workspace+" does not exist on the machine of this ohgw; create it, or name another one.", err).about(headerWorkspace)
	case errors.Is(err, fs.ErrPermission):
		return "", forbiddenWorkspace("ohgw may not read the directory " + o.workspace + "; change its permissions, or name another one.")
	case err != nil:
		return "", newProblem(codeNoWorkspace, "The directory "+o.workspace+" cannot be used.", err).about(headerWorkspace)
	}
	if !mayWorkIn(roots, dir) {
		return "", outsideWorkspace(o.workspace, roots)
	}
	if d.ownDirectory(dir) {
		return "", forbiddenWorkspace("The directory " + dir + " belongs to ohgw itself; name a directory outside its state directory.")
	}
	if o.readOnly && !d.keepsReadOnly(ctx) {
		return "", newProblem(codeForbiddenWorkspace, "The agents of this ohgw do not run in a sandbox, so no directory can be read-only.", nil).about(headerAccess)
	}
	return dir, nil
}

// accessRead is the access of a conversation that does not change its directory.
const accessRead = "read"

// keepsReadOnly reports whether the sandbox can keep a directory as it is.
func (d *Daemon) keepsReadOnly(ctx context.Context) bool {
	level := d.sandboxStatus(ctx).Level
	return level == "full" || level == "reduced"
}

// outsideWorkspace is the problem with a directory outside of roots. It says the
// same whether the directory exists or not.
func outsideWorkspace(path string, roots []string) error {
	return forbiddenWorkspace("The directory " + path + " is outside the directories that this request may choose: " + strings.Join(roots, ", ") + ".")
}

// namedWithin reports whether a path, as it is written, is within one of roots.
func namedWithin(roots []string, path string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return root == AnyWorkspace || subpath.Within(root, filepath.Clean(path))
	})
}

// mayWorkIn reports whether dir is one of roots, or below one.
func mayWorkIn(roots []string, dir string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		if root == AnyWorkspace {
			return true
		}
		real, err := workdir.Resolve(root) // its links may have changed since it was stored
		return err == nil && subpath.Within(real, dir)
	})
}

// ownDirectory reports whether dir is where ohgw keeps its files: it removes
// directories there together with their conversations.
func (d *Daemon) ownDirectory(dir string) bool {
	for _, own := range []string{d.cfg.StateDir, d.workspaceRoot()} {
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
	return newProblem(codeForbiddenWorkspace, message, nil).about(headerWorkspace)
}

// workspaceHeader reads the path in a request header: percent-encoded UTF-8.
func workspaceHeader(h http.Header) (string, error) {
	values := h.Values(headerWorkspace)
	if len(values) == 0 {
		return "", nil
	}
	path, err := url.PathUnescape(strings.TrimSpace(values[0]))
	if err != nil || len(values) > 1 {
		return "", badHeader(headerWorkspace, "a single absolute path, percent-encoded")
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

func (d *Daemon) workspaceHealth(ctx context.Context, client Client) *WorkspaceHealth {
	roots, reason := d.roots(ctx, client)
	return &WorkspaceHealth{Directory: d.cfg.Workspace, Choose: append([]string{}, roots...), ReadOnly: d.keepsReadOnly(ctx), Reason: reason}
}

// mismatch is the problem with a conversation that works in another directory.
func mismatch(e *run.WorkspaceError) *problem {
	have := e.Have
	if e.ReadOnly {
		have += " and does not change the files there"
	}
	return newProblem(codeWorkspaceMismatch,
		"This conversation works in "+have+", and a conversation keeps its directory; leave out "+headerWorkspace+", or start a new conversation.", nil).about(headerWorkspace)
}
