package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

func (s *server) run(w http.ResponseWriter, r *http.Request) error {
	return s.on(func(ctx context.Context, c control.Conversation) error {
		err := c.Run(ctx)
		if errors.Is(err, agentapi.ErrBusy) {
			return wire.Refuse(http.StatusConflict, "Conversation already running. Wait for completion or pause first.")
		}
		return err
	})(w, r)
}

func (s *server) pause(w http.ResponseWriter, r *http.Request) error {
	return s.on(func(ctx context.Context, c control.Conversation) error { return c.Pause(ctx) })(w, r)
}

func (s *server) interrupt(w http.ResponseWriter, r *http.Request) error {
	return s.on(func(ctx context.Context, c control.Conversation) error { return c.Interrupt(ctx) })(w, r)
}

// goalRounds is how often the judge is asked where the request does not say it.
const goalRounds = 10

func (s *server) goal(w http.ResponseWriter, r *http.Request) error {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	o.Need("objective")
	objective, rounds := o.String("objective", ""), o.Int("max_iterations", goalRounds, pydantic.AtLeast(1))
	if err := o.Err(); err != nil {
		return err
	}
	return s.on(func(ctx context.Context, c control.Conversation) error {
		return explainGoal(c.StartGoal(ctx, objective, rounds))
	})(w, r)
}

func (s *server) stopGoal(w http.ResponseWriter, r *http.Request) error {
	return s.on(func(ctx context.Context, c control.Conversation) error {
		if err := c.StopGoal(ctx); !errors.Is(err, control.ErrNoGoal) {
			return err
		}
		return nil // as with an agent-server
	})(w, r)
}

func (s *server) resumeGoal(w http.ResponseWriter, r *http.Request) error {
	return s.on(func(ctx context.Context, c control.Conversation) error { return explainGoal(c.ResumeGoal(ctx)) })(w, r)
}

func explainGoal(err error) error {
	switch {
	case errors.Is(err, agentapi.ErrBusy):
		return wire.Refuse(http.StatusConflict, "Conversation run or goal loop already running.")
	case errors.Is(err, control.ErrNoGoal):
		return wire.Refuse(http.StatusBadRequest, "no_resumable_goal")
	}
	return err
}

func (s *server) ask(w http.ResponseWriter, r *http.Request) error {
	id, o, err := readFor(r, false)
	if err != nil {
		return err
	}
	o.Need("question")
	question := o.String("question", "")
	if err := o.Err(); err != nil {
		return err
	}
	var answer string
	err = s.with(r.Context(), id, func(ctx context.Context, c control.Conversation) (err error) {
		answer, err = c.Ask(ctx, question)
		return err
	})
	if err != nil {
		return missing(err, "Conversation not found")
	}
	wire.WriteJSON(w, http.StatusOK, map[string]string{"response": answer})
	return nil
}

func (s *server) condense(w http.ResponseWriter, r *http.Request) error {
	id, err := wire.ConversationID(r)
	if err != nil {
		return err
	}
	err = s.with(r.Context(), id, func(ctx context.Context, c control.Conversation) error {
		if err := condensable(ctx, c); err != nil {
			return err
		}
		_, err := c.Condense(ctx)
		return err
	})
	if err != nil {
		return missing(err, "Conversation not found")
	}
	wire.WriteJSON(w, http.StatusOK, wire.Success())
	return nil
}

// condensable refuses a conversation whose agent has no condenser. The embedded agent
// could summarize it, but who takes the condenser away wants the whole history.
func condensable(ctx context.Context, c control.Conversation) error {
	record, err := c.Record(ctx)
	if err != nil {
		return err
	}
	var state struct {
		Agent struct {
			Condenser *struct {
				Kind string `json:"kind"`
			} `json:"condenser"`
		} `json:"agent"`
	}
	if err := json.Unmarshal(record.State, &state); err != nil {
		return fmt.Errorf("read the state of conversation %s: %w", record.ID, err)
	}
	switch condenser := state.Agent.Condenser; {
	case condenser == nil:
		return wire.Refuse(http.StatusConflict, "Cannot condense conversation: No condenser configured")
	case condenser.Kind == "NoOpCondenser":
		return wire.Refuse(http.StatusConflict, "Cannot condense conversation: Condenser NoOpCondenser does not handle condensation requests")
	}
	return nil
}

// rest closes all conversations, as before the machine is paused.
func (s *server) rest(w http.ResponseWriter, r *http.Request) error {
	s.Ended("")
	if err := s.Engine.Rest(r.Context()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
