package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tool/task"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/atomicfile"
)

// Fork begins another conversation with what this one knows; see
// [agentapi.Conversation].
func (h *handle) Fork(ctx context.Context, req agentapi.ForkRequest) (agentapi.Conversation, error) {
	state, events, err := h.conv.Fork(ctx, req.ID, req.From)
	if errors.Is(err, store.ErrNoEvent) {
		return nil, refused(fmt.Sprintf("The conversation has no event %q to fork at; use the id of an event in it.", req.From), err)
	}
	if err != nil {
		return nil, h.explain(err)
	}
	b := h.backend
	return b.entered(ctx, req.ID, func(e *entry) (created bool, err error) {
		b.clear(e)
		if e.conv != nil {
			return false, b.openError(ctx, req.ID, store.ErrExists)
		}
		now := b.cfg.Now()
		meta := store.Meta{Created: now, Updated: now, ForkedFrom: h.info.ID, ForkedAt: req.From}
		dir, err := store.Create(b.cfg.Dir, state, meta, b.storeOptions(), events...)
		if err != nil {
			return false, b.openError(ctx, req.ID, err)
		}
		if err := copyTasks(dir.Path(), events); err != nil {
			return false, b.openError(ctx, req.ID, errors.Join(err, dir.Remove()))
		}
		return true, b.enter(ctx, e, dir, agentapi.OpenRequest{ID: req.ID, Profile: h.info.Profile})
	})
}

// copyTasks keeps the agent's list of tasks as it was at the last of the
// events.
func copyTasks(dir string, events []event.Event) error {
	var list json.RawMessage
	for _, e := range events {
		o, ok := e.Body.(*event.Observation)
		if !ok || o.ToolName != "task_tracker" {
			continue
		}
		var stored struct {
			List json.RawMessage `json:"task_list"`
		}
		if json.Unmarshal(o.Observation, &stored) == nil && len(stored.List) > 0 {
			list = stored.List
		}
	}
	if list == nil {
		return nil
	}
	if err := atomicfile.Write(filepath.Join(dir, task.FileName), list, atomicfile.Options{}); err != nil {
		return fmt.Errorf("copy the task list: %w", err)
	}
	return nil
}
