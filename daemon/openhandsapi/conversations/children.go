package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/internal/workdir"
)

// Where a part of a conversation works: in a worktree of its own, where there is a
// repository, or in the directory of the whole.
const (
	inWorktree = "worktree"
	inShared   = "shared"
)

// child is the part of a conversation that a client asks for.
type child struct {
	task      string
	title     *string
	isolation string
}

func readChild(r *http.Request) (child, error) {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return child{}, err
	}
	var c child
	switch task := o.Text("task", 1, -1); {
	case task != nil:
		c.task = *task
	case o.Need("task") && !o.Has("task"): // it is null
		o.Wrong("task", pydantic.NoText())
	}
	c.title = o.Text("title", 0, -1)
	c.isolation = o.Choice("isolation", inWorktree, pydantic.Literal, inWorktree, inShared)
	return c, o.Err()
}

// child starts a part of a conversation, and runs it.
func (s *server) child(w http.ResponseWriter, r *http.Request) error {
	id, err := wire.ConversationID(r)
	if err != nil {
		return err
	}
	want, err := readChild(r)
	if err != nil {
		return err
	}
	var record control.Record
	ch := control.Child{ID: uuid.New()}
	if want.title != nil {
		ch.Title = *want.title
	}
	err = s.with(r.Context(), id, func(ctx context.Context, parent control.Conversation) error {
		if want.isolation == inWorktree {
			if err := s.isolate(ctx, parent, &ch); err != nil {
				return err
			}
		}
		made, err := parent.Child(ctx, ch)
		if err != nil {
			return err
		}
		defer func() { _ = made.Close() }() // The part stays; only its handle goes.
		if err := made.Append(ctx, control.Message{Content: []event.Content{event.Text(want.task)}}, true); err != nil {
			return err
		}
		record, err = made.Record(ctx)
		return err
	})
	if err != nil {
		return missing(err, "Parent conversation not found")
	}
	dir, err := workingDir(record)
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusCreated, map[string]any{
		"conversation_id": record.ID, "parent_conversation_id": id, "status": record.Status, "title": want.title, "url": nil,
		"workspace": dir, "isolation": map[bool]string{true: inWorktree, false: inShared}[ch.Worktree],
	})
	return nil
}

// isolate makes a worktree for a part, if the whole works in a repository.
func (s *server) isolate(ctx context.Context, parent control.Conversation, ch *control.Child) error {
	record, err := parent.Record(ctx)
	if err != nil {
		return err
	}
	dir, err := workingDir(record)
	if err != nil || s.Worktree == nil || workdir.Repository(dir) == "" {
		return err
	}
	made, err := s.Worktree(ctx, ch.ID, dir)
	if err != nil {
		return sharedInstead(err)
	}
	if made.Root != "" {
		ch.Workspace, ch.Worktree, ch.Suffix = made.Dir, true, guidance(made, dir)
	}
	return nil
}

// sharedInstead returns err. If no worktree is possible, the fault is about the member
// isolation, by which the client can do without one.
func sharedInstead(err error) error {
	e, ok := errors.AsType[*pydantic.Error](err)
	if !ok {
		return err
	}
	list := slices.Clone(e.Faults)
	for i := range list {
		list[i].Loc, list[i].Input = []any{"body", "isolation"}, inWorktree
		list[i].Msg += "; choose \"isolation\": \"shared\" to work in the directory of the parent"
	}
	return pydantic.Refuse(list...)
}

// workingDir is where a conversation works.
func workingDir(record control.Record) (string, error) {
	var state event.State
	err := json.Unmarshal(record.State, &state)
	return state.Workspace.WorkingDir, err
}
