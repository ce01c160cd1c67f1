package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

// handle is a conversation as the seam has it.
type handle struct {
	visit

	backend *Backend
	once    sync.Once
}

func (h *handle) Info() agentapi.Info { return h.info }

func (h *handle) State(ctx context.Context) (event.State, error) {
	s, err := h.conv.State(ctx)
	return s, h.explain(err)
}

func (h *handle) Watch(ctx context.Context, after string) (agentapi.Stream, error) {
	s, err := h.conv.Watch(ctx, after)
	if err != nil {
		return nil, h.explain(err)
	}
	return s, nil
}

func (h *handle) Send(ctx context.Context, m agentapi.Message) error {
	return h.explain(h.conv.Send(ctx, m))
}

func (h *handle) Decide(ctx context.Context, d agentapi.Decision) error {
	return h.explain(h.conv.Decide(ctx, d))
}

func (h *handle) Interrupt(ctx context.Context) error { return h.explain(h.conv.Interrupt(ctx)) }

func (h *handle) Switch(ctx context.Context, profile string) error {
	if err := h.backend.roster.mayBecome(ctx, h.agent, profile); err != nil {
		return err
	}
	_, err := h.conv.Switch(ctx, profile)
	return h.explain(err)
}

func (h *handle) Confirm(ctx context.Context, mode agentapi.Confirmation) error {
	return h.explain(h.conv.Confirm(ctx, mode))
}

func (h *handle) Condense(ctx context.Context) (agentapi.Condensed, error) {
	done, err := h.conv.Condense(ctx)
	return done, h.explain(err)
}

func (h *handle) Close() error {
	h.once.Do(func() { h.backend.table.release(h.entry) })
	return nil
}

// explain distinguishes a conversation that was removed from one that was closed.
func (h *handle) explain(err error) error {
	if errors.Is(err, agentapi.ErrUnavailable) && !store.Exists(h.backend.cfg.Dir, h.info.ID) {
		err = apierr.NotFound(h.info.ID)
	}
	return agentapi.InProcess(err)
}
