package v1

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
)

// Agent makes the calls of a sandbox's agent-server that concern files. Its
// conversations belong to the client of agent-servers.
type Agent struct {
	T  *transport.Client
	At transport.Target
}

func (a Agent) request(path string, q url.Values, out any) transport.Request {
	return transport.Request{Path: path, Query: q, Out: out, Target: &a.At}
}

// Health reports whether the agent-server answers.
func (a Agent) Health(ctx context.Context) error {
	body, err := a.T.Open(ctx, a.request("/health", nil, nil))
	if err != nil {
		return err
	}
	return body.Close()
}

// Directory is where a conversation works.
func (a Agent) Directory(ctx context.Context, id string) (string, error) {
	var c struct {
		Workspace struct {
			WorkingDir string `json:"working_dir"`
		} `json:"workspace"`
	}
	err := a.T.Call(ctx, a.request("/api/conversations/"+url.PathEscape(id), nil, &c))
	return c.Workspace.WorkingDir, err
}

// Rename changes the title that the agent-server has.
func (a Agent) Rename(ctx context.Context, id, title string) error {
	r := a.request("/api/conversations/"+url.PathEscape(id), nil, nil)
	r.Method, r.In = http.MethodPatch, map[string]string{"title": title}
	return a.T.Call(ctx, r)
}

// Changes lists what changed in the repository at path.
func (a Agent) Changes(ctx context.Context, path string) (l transport.List[Change], err error) {
	err = a.T.Call(ctx, a.request("/api/git/changes", url.Values{"path": {path}}, &l))
	return l, err
}

// ChangesByPath is Changes of agent-servers before 1.13.1.
func (a Agent) ChangesByPath(ctx context.Context, path string) (l transport.List[Change], err error) {
	err = a.T.Call(ctx, a.request("/api/git/changes/"+escape(path), nil, &l))
	return l, err
}

// File is a file's bytes. The path is absolute.
func (a Agent) File(ctx context.Context, path string) (*transport.Body, error) {
	return a.T.Open(ctx, a.request("/api/file/download", url.Values{"path": {path}}, nil))
}

// FileByPath is File of agent-servers before 1.13.1.
func (a Agent) FileByPath(ctx context.Context, path string) (*transport.Body, error) {
	return a.T.Open(ctx, a.request("/api/file/download/"+escape(path), nil, nil))
}

// Archive is a directory as a tar.gz archive, of agent-servers since 1.30.0.
func (a Agent) Archive(ctx context.Context, path string) (*transport.Body, error) {
	return a.T.Open(ctx, a.request("/api/file/archive", url.Values{"path": {path}, "format": {"tar.gz"}, "use_default_excludes": {"false"}}, nil))
}

// Trajectory is a conversation's events as a zip archive.
func (a Agent) Trajectory(ctx context.Context, id string) (*transport.Body, error) {
	return a.T.Open(ctx, a.request("/api/file/download-trajectory/"+url.PathEscape(id), nil, nil))
}

// escape writes an absolute path as the rest of a route.
func escape(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

// Execute runs a command in the sandbox and gives its exit code.
func (a Agent) Execute(ctx context.Context, command string, limit time.Duration) (int, error) {
	var out struct {
		ExitCode *int `json:"exit_code"`
	}
	r := a.request("/api/bash/execute_bash_command", nil, &out)
	r.Method, r.Timeout = http.MethodPost, limit+time.Minute
	r.In = map[string]any{"command": command, "timeout": int(limit.Seconds())}
	if err := a.T.Call(ctx, r); err != nil {
		return 0, err
	}
	if out.ExitCode == nil {
		return -1, nil
	}
	return *out.ExitCode, nil
}
