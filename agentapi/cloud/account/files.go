package account

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
)

// onRuntime makes a call of a conversation's runtime. Address and key may be those
// of before a pause: then it reads them again and repeats the call, which reads only.
func (c *Client) onRuntime(ctx context.Context, id string, call func(Conversation) error) error {
	conv, err := c.running(ctx, id)
	if err != nil {
		return err
	}
	err = call(conv)
	if err == nil || !stale(err) {
		return err
	}
	again, readErr := c.running(ctx, id)
	if readErr != nil {
		return readErr
	}
	if again.key.Equal(conv.key) && again.base.String() == conv.base.String() {
		return err
	}
	return call(again)
}

// stale reports whether a runtime may be another one now.
func stale(err error) bool {
	e, ok := errors.AsType[*transport.Error](err)
	return ok && (e.Is(ErrUnauthorized) || e.Is(ErrNotFound) || e.Status == 0)
}

// noRoute reports whether an agent-server does not have a route, as opposed to a
// file.
func noRoute(err error) bool {
	e, ok := errors.AsType[*transport.Error](err)
	return ok && (e.Status == 405 || e.Status == 404 && (e.Text == "Not Found" || e.Text == ""))
}

// File opens a file of a conversation's workspace. A relative path begins in the
// directory of the conversation. V0 returns texts only.
func (c *Client) File(ctx context.Context, id, name string) (io.ReadCloser, error) {
	if strings.ContainsRune(name, 0) || name == "" {
		return nil, fmt.Errorf("%w: not the name of a file", ErrRefused)
	}
	var file io.ReadCloser
	err := c.onRuntime(ctx, id, func(conv Conversation) (err error) {
		if conv.Version == V0 {
			file, err = c.fileV0(ctx, conv, name)
		} else {
			file, err = c.fileV1(ctx, conv, name)
		}
		return err
	})
	return file, err
}

// fileV0 looks below the mount first, then in the repository, which lies one level
// deeper.
func (c *Client) fileV0(ctx context.Context, conv Conversation, name string) (io.ReadCloser, error) {
	content, err := c.runtimeV0(conv).File(ctx, name)
	if repo := conv.repoName(); repo != "" && errors.Is(err, ErrNotFound) && !path.IsAbs(name) {
		content, err = c.runtimeV0(conv).File(ctx, repo+"/"+name)
	}
	if err != nil {
		return nil, err
	}
	return io.NopCloser(strings.NewReader(content)), nil
}

func (c *Client) fileV1(ctx context.Context, conv Conversation, name string) (io.ReadCloser, error) {
	rt, err := c.runtimeOf(ctx, conv)
	if err != nil {
		return nil, err
	}
	if !path.IsAbs(name) {
		name = path.Join(rt.Directory, name)
	}
	agent := c.agent(conv)
	body, err := agent.File(ctx, name)
	if noRoute(err) {
		body, err = agent.FileByPath(ctx, name)
	}
	if noRoute(err) {
		// It answers with an empty text for every failure.
		content, textErr := c.v1.File(ctx, conv.ID, name)
		if textErr == nil && content != "" {
			return io.NopCloser(strings.NewReader(content)), nil
		}
	}
	if err != nil {
		return nil, err
	}
	return body, nil
}

// Download is a file that arrives.
type Download struct {
	io.ReadCloser

	Name string // to store it under; a plain file name
	Type string // its media type
	Size int64  // -1: the server does not say
}

// Workspace is the directory that a conversation works in, as an archive: tar.gz,
// or zip for V0.
func (c *Client) Workspace(ctx context.Context, id string) (*Download, error) {
	var got *Download
	err := c.onRuntime(ctx, id, func(conv Conversation) (err error) {
		if conv.Version == V0 {
			got, err = c.workspaceV0(ctx, conv)
		} else {
			got, err = c.workspaceV1(ctx, conv)
		}
		return err
	})
	return got, err
}

func (c *Client) workspaceV0(ctx context.Context, conv Conversation) (*Download, error) {
	body, err := c.runtimeV0(conv).Workspace(ctx)
	if err != nil {
		return nil, err
	}
	return begins(body, "PK", &Download{Name: "workspace-" + short(conv.ID) + ".zip", Type: "application/zip"})
}

func (c *Client) workspaceV1(ctx context.Context, conv Conversation) (*Download, error) {
	rt, err := c.runtimeOf(ctx, conv)
	if err != nil {
		return nil, err
	}
	got := &Download{Name: "workspace-" + short(conv.ID) + ".tar.gz", Type: "application/gzip"}
	body, err := c.agent(conv).Archive(ctx, rt.Directory)
	if noRoute(err) {
		body, err = c.packed(ctx, conv, rt.Directory)
	}
	if err != nil {
		return nil, err
	}
	return begins(body, "\x1f\x8b", got)
}

// begins checks the first bytes of an archive: an error page is not one.
func begins(body *transport.Body, with string, got *Download) (*Download, error) {
	in := bufio.NewReaderSize(body, 64<<10)
	head, err := in.Peek(len(with))
	if err != nil || !bytes.Equal(head, []byte(with)) {
		if err == nil || errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: what the server sends is not an archive", ErrWrongEndpoint)
		}
		return nil, errors.Join(err, body.Close())
	}
	got.ReadCloser, got.Size = readCloser{in, body}, body.Size
	return got, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// short is the beginning of an id, for names.
func short(id string) string { return id[:min(len(id), 8)] }
