package account

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	v1 "github.com/ohgw/ohgw/agentapi/cloud/v1"
)

// Change is a file that differs from the repository's.
type Change struct {
	Path   string `json:"path"`
	Status string `json:"status"` // added, modified, deleted, renamed, conflict, or the server's own word
}

// What Changes adds to a list.
const (
	noteNoRepository = "The workspace is not a git repository."
	noteOddNames     = "The server has garbled the names of some files; they are shown as it sent them."
)

// Changes lists what a conversation has changed in its repository. The note says
// what a list without it would hide; "" if there is nothing to say.
func (c *Client) Changes(ctx context.Context, id string) (list []Change, note string, err error) {
	err = c.onRuntime(ctx, id, func(conv Conversation) (err error) {
		if conv.Version == V0 {
			list, note, err = c.changesV0(ctx, conv)
		} else {
			list, note, err = c.changesV1(ctx, conv)
		}
		return err
	})
	return list, note, err
}

func (c *Client) changesV0(ctx context.Context, conv Conversation) ([]Change, string, error) {
	got, err := c.runtimeV0(conv).Changes(ctx)
	if e, ok := errors.AsType[*transport.Error](err); ok && e.Status == 404 { // The conversation runs, so it is not the runtime that is missing.
		return nil, noteNoRepository, nil
	}
	if err != nil {
		return nil, "", err
	}
	var list []Change
	for _, ch := range got {
		list = append(list, Change{Path: first(ch.Path, ch.File), Status: status(ch.Status)})
	}
	return list, "", nil
}

func (c *Client) changesV1(ctx context.Context, conv Conversation) ([]Change, string, error) {
	rt, err := c.runtimeOf(ctx, conv)
	if err != nil {
		return nil, "", err
	}
	agent := c.agent(conv)
	got, err := agent.Changes(ctx, rt.Directory)
	if noRoute(err) {
		got, err = agent.ChangesByPath(ctx, rt.Directory)
	}
	if noRoute(err) {
		got, err = c.v1.Changes(ctx, conv.ID, rt.Directory)
	}
	if err != nil {
		return nil, "", err
	}
	list, note := normalize(got)
	return list, note, nil
}

func normalize(got []v1.Change) (list []Change, note string) {
	for _, ch := range got {
		name, ok := unquote(ch.Path)
		if !ok {
			note = noteOddNames
		}
		list = append(list, Change{Path: name, Status: status(ch.Status)})
	}
	return list, note
}

// status returns the word for a server's letter or word.
func status(wire string) string {
	switch upper := strings.ToUpper(wire); {
	case upper == "A", upper == "ADDED":
		return "added"
	case upper == "M", upper == "MODIFIED", upper == "UPDATED":
		return "modified"
	case upper == "D", upper == "DELETED":
		return "deleted"
	case upper == "U", upper == "UNMERGED":
		return "conflict"
	case upper == "MOVED", upper == "RENAMED", strings.HasPrefix(upper, "R") && strings.Trim(upper[1:], "0123456789") == "":
		return "renamed"
	}
	return wire
}

// unquote reads a name that git has quoted and the server has then given slashes
// for git's backslashes: "n/303/244me.txt" is näme.txt, and "a/"b" is a"b. ok is false for a name
// that cannot be read so; it stays as it was.
func unquote(name string) (plain string, ok bool) {
	inner, quoted := strings.CutPrefix(name, `"`)
	if inner, ok = strings.CutSuffix(inner, `"`); !quoted || !ok {
		return name, !quoted
	}
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		if inner[i] == '/' && i+3 < len(inner) {
			// Only bytes above ASCII are sure to be git's: /101 may be a directory.
			if n, err := strconv.ParseUint(inner[i+1:i+4], 8, 8); err == nil && n >= utf8.RuneSelf {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		if inner[i] == '/' && i+1 < len(inner) && inner[i+1] == '"' {
			continue // In a quoted name git escapes each quotation mark.
		}
		b.WriteByte(inner[i])
	}
	if plain = b.String(); plain == inner || !utf8.ValidString(plain) {
		return name, false
	}
	return plain, true
}
