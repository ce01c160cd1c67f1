// Package session is a conversation in use: what the seam, and OpenHands' own programs, ask of
// one that is open. It makes no conversation itself; copies and parts come from an [Opener].
// When a session is closed, its conversation stays open.
package session

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/modelset"
	"github.com/ohgw/ohgw/agentapi/engine/prompt"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/vault"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Config is what all sessions share. Seal and HTTP may be nil.
type Config struct {
	Dir   string // of all conversations
	Vault *vault.Vault
	Seal  func(value string) (string, error) // encrypts a secret for the directory
	HTTP  *http.Client
	Now   func() time.Time
	NewID func() string
	Log   *slog.Logger
}

// Opener makes conversations of others, and knows those that are not open.
type Opener interface {
	// CopyOf makes a conversation that knows the log of another one.
	CopyOf(ctx context.Context, c Copying) (*Session, error)
	// PartOf makes a conversation that is a part of another one.
	PartOf(ctx context.Context, p Part) (*Session, error)
	// MayBecome refuses a change of the model that a conversation with an agent, or without
	// one, cannot make.
	MayBecome(ctx context.Context, agent, profile string) error
	// Record is a conversation as it is now.
	Record(ctx context.Context, id string) (control.Record, error)
}

// Subject is the open conversation of a session.
type Subject struct {
	Conv    *conversation.Conversation
	Info    agentapi.Info
	Agent   string // the name of the agent that it is a conversation with; "" for a profile
	Models  *modelset.Own
	Prompt  *prompt.Prompt
	Release func() // called once, when the session is closed
}

// Session is one opening of a conversation, as the seam has it.
type Session struct {
	cfg  Config
	open Opener
	of   Subject
	once sync.Once
}

var (
	_ agentapi.Conversation = (*Session)(nil)
	_ agentapi.Pursuer      = (*Session)(nil)
)

// New makes a session.
func New(cfg Config, open Opener, of Subject) *Session {
	return &Session{cfg: cfg, open: open, of: of}
}

// Info is what is known of the conversation since it was opened.
func (s *Session) Info() agentapi.Info { return s.of.Info }

// State is the state of the conversation now.
func (s *Session) State(ctx context.Context) (event.State, error) {
	state, err := s.of.Conv.State(ctx)
	return state, s.explain(err)
}

// Watch follows the events of the conversation after one of them.
func (s *Session) Watch(ctx context.Context, after string) (agentapi.Stream, error) {
	stream, err := s.of.Conv.Watch(ctx, after)
	if err != nil {
		return nil, s.explain(err)
	}
	return stream, nil
}

// Send gives the conversation a message, which a run follows.
func (s *Session) Send(ctx context.Context, m agentapi.Message) error {
	return s.explain(s.of.Conv.Send(ctx, m))
}

// Pursues returns nil: every conversation can pursue goals.
func (*Session) Pursues(context.Context) error { return nil }

// Pursue gives the conversation a message with a goal, for which runs follow each other.
func (s *Session) Pursue(ctx context.Context, m agentapi.Message, g agentapi.Goal) error {
	return s.explain(s.of.Conv.Pursue(ctx, m, g))
}

// Decide answers what waits for confirmation.
func (s *Session) Decide(ctx context.Context, d agentapi.Decision) error {
	return s.explain(s.of.Conv.Decide(ctx, d))
}

// Interrupt ends the run.
func (s *Session) Interrupt(ctx context.Context) error { return s.explain(s.of.Conv.Interrupt(ctx)) }

// Switch makes a profile answer from now on.
func (s *Session) Switch(ctx context.Context, profile string) error {
	if err := s.open.MayBecome(ctx, s.of.Agent, profile); err != nil {
		return err
	}
	_, err := s.of.Conv.Switch(ctx, profile)
	return s.explain(err)
}

// Confirm sets which actions wait for confirmation.
func (s *Session) Confirm(ctx context.Context, mode agentapi.Confirmation) error {
	return s.explain(s.of.Conv.Confirm(ctx, mode))
}

// Condense shortens the history that the model is shown.
func (s *Session) Condense(ctx context.Context) (agentapi.Condensed, error) {
	done, err := s.of.Conv.Condense(ctx)
	return done, s.explain(err)
}

// Close releases the conversation.
func (s *Session) Close() error {
	s.once.Do(s.of.Release)
	return nil
}

// explain distinguishes a conversation that was removed from one that was closed.
func (s *Session) explain(err error) error {
	if errors.Is(err, agentapi.ErrUnavailable) && !store.Exists(s.cfg.Dir, s.of.Info.ID) {
		err = apierr.NotFound(s.of.Info.ID)
	}
	return agentapi.InProcess(err)
}

// Controlled is a session with what OpenHands' own programs may ask of a
// conversation besides. What is about its run is in run.go.
type Controlled struct{ *Session }

var _ control.Conversation = Controlled{}

// Record is the conversation as it is now.
func (s Controlled) Record(ctx context.Context) (control.Record, error) {
	return s.open.Record(ctx, s.of.Info.ID)
}
