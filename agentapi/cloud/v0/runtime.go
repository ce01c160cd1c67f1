package v0

import (
	"context"
	"net/url"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
)

// Runtime makes the calls of a conversation's runtime.
type Runtime struct {
	T  *transport.Client
	At transport.Target
	ID string
}

func (r Runtime) request(below string, q url.Values, out any) (transport.Request, error) {
	path, err := route(r.ID)
	return transport.Request{Path: path + below, Query: q, Out: out, Target: &r.At}, err
}

func (r Runtime) call(ctx context.Context, below string, q url.Values, out any) error {
	req, err := r.request(below, q, out)
	if err != nil {
		return err
	}
	return r.T.Call(ctx, req)
}

func (r Runtime) open(ctx context.Context, below string) (*transport.Body, error) {
	req, err := r.request(below, nil, nil)
	if err != nil {
		return nil, err
	}
	return r.T.Open(ctx, req)
}

// Change is a changed file, in both shapes that servers use.
type Change struct {
	Path   string `json:"path"`
	File   string `json:"file"`
	Status string `json:"status"`
}

// Changes lists what changed in the repository.
func (r Runtime) Changes(ctx context.Context) (l transport.List[Change], err error) {
	err = r.call(ctx, "/git/changes", nil, &l)
	return l, err
}

// File is the text of a file.
func (r Runtime) File(ctx context.Context, path string) (string, error) {
	var f struct {
		Code string `json:"code"`
	}
	err := r.call(ctx, "/select-file", url.Values{"file": {path}}, &f)
	return f.Code, err
}

// Workspace is the directory as a zip archive.
func (r Runtime) Workspace(ctx context.Context) (*transport.Body, error) {
	return r.open(ctx, "/zip-directory")
}

// Trajectory is all that happened, as JSON.
func (r Runtime) Trajectory(ctx context.Context) (*transport.Body, error) {
	return r.open(ctx, "/trajectory")
}

// Files lists a directory. Directories end in a slash.
func (r Runtime) Files(ctx context.Context, path string) (names transport.List[string], err error) {
	q := url.Values{}
	if path != "" {
		q.Set("path", path)
	}
	err = r.call(ctx, "/list-files", q, &names)
	return names, err
}

// Diff is a file before and after.
type Diff struct {
	Modified *string `json:"modified"`
	Original *string `json:"original"`
}

// Diff compares a file with the repository's. The last line end is cut off by the
// server: it is not for rebuilding files.
func (r Runtime) Diff(ctx context.Context, path string) (d Diff, err error) {
	err = r.call(ctx, "/git/diff", url.Values{"path": {path}}, &d)
	return d, err
}
