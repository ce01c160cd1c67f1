// Package conversations serves the conversations of OpenHands' own API and their
// events.
package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/namelock"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// Config is what the routes need. Engine and Dir are required.
type Config struct {
	Engine control.Engine
	// Dir is what relative paths of workspaces are relative to.
	Dir string
	// Profiles are the agent profiles. Nil: there are none.
	Profiles AgentProfiles
	// Unseal decrypts a secret that was encrypted for clients. Nil: there is no key.
	Unseal func(sealed string) (string, error)
	// LLM gives an LLM that a client sent the key and the URL of the provider connection
	// that it names. Nil: there are no connections.
	LLM func(llm json.RawMessage) (json.RawMessage, error)
	// Worktree makes a git worktree for a conversation in a directory of a repository.
	// In a directory of none it returns that directory alone. Nil: a conversation that
	// wants one is refused.
	Worktree func(ctx context.Context, conversation, dir string) (Worktree, error)
	// Ended ends what clients have started beside the agent of a conversation that is removed
	// or closed; "" is every conversation. Nil: there is nothing.
	Ended  func(id string)
	Logger *slog.Logger
}

// Worktree is a git worktree for one conversation.
type Worktree struct {
	Dir    string // in which the conversation works
	Root   string // the whole worktree; "" if there is none
	Branch string
}

// AgentProfiles finds what agent profiles stand for.
type AgentProfiles interface {
	// AgentProfile returns the profile with an id, a UUID with dashes. The error for an
	// unknown one is agentapi.ErrProfileNotFound. llm names an LLM profile in place of its
	// own; "": its own.
	AgentProfile(ctx context.Context, id, llm string) (AgentProfile, error)
}

// AgentProfile is what a conversation of an agent profile begins with.
type AgentProfile struct {
	ID       string
	Revision int
	// Settings are agent_settings of OpenHands, secrets in the clear.
	Settings json.RawMessage
	// LLM names the LLM profile that takes the place of the model in Settings.
	LLM string
	// Secrets are the names of the secrets that the agent may have; nil: all.
	Secrets *[]string
	// Ignored are the members of the profile that have no effect.
	Ignored []string
}

// Routes lists the routes below /api/conversations.
func Routes(cfg Config) []wire.Route {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Ended == nil {
		cfg.Ended = func(string) {}
	}
	s := &server{Config: cfg}
	const base = "/api/conversations"
	const one = base + "/{id}"
	skills := []string{"include_skills"}
	routes := []wire.Route{
		{Method: http.MethodPost, Path: base, Summary: "Start a conversation", Query: skills, Body: true, Handle: s.start},
		{Method: http.MethodGet, Path: base, Summary: "Some conversations by their ids", Query: []string{"ids", "include_skills"}, Handle: s.batch},
		{Method: http.MethodGet, Path: base + "/search", Summary: "List conversations", Query: []string{"page_id", "limit", "status", "sort_order", "include_skills"}, Handle: s.search},
		{Method: http.MethodGet, Path: base + "/count", Summary: "Number of conversations", Query: []string{"status"}, Handle: s.count},
		{Method: http.MethodPost, Path: base + "/prepare-for-sandbox-pause", Summary: "Pause and close all conversations", Handle: s.rest},
		{Method: http.MethodGet, Path: one, Summary: "One conversation", Query: skills, Handle: s.get},
		{Method: http.MethodPatch, Path: one, Summary: "Set the title or the tags", Body: true, Handle: s.change},
		{Method: http.MethodDelete, Path: one, Summary: "Remove a conversation", Handle: s.remove},
		{Method: http.MethodGet, Path: one + "/agent_final_response", Summary: "The answer of the agent", Handle: s.answer},
		{Method: http.MethodGet, Path: one + "/runtime", Summary: "What the conversation runs in: this process", Handle: s.runtime},
		{Method: http.MethodPost, Path: one + "/runtime/reprovision", Summary: "The same: there is nothing to provision", Handle: s.runtime},
		{Method: http.MethodPost, Path: one + "/run", Summary: "Start a run", Handle: s.run},
		{Method: http.MethodPost, Path: one + "/pause", Summary: "End the run after its step", Handle: s.pause},
		{Method: http.MethodPost, Path: one + "/interrupt", Summary: "End the run at once", Handle: s.interrupt},
		{Method: http.MethodPost, Path: one + "/goal", Summary: "Run until a goal is reached", Body: true, Handle: s.goal},
		{Method: http.MethodPost, Path: one + "/goal/stop", Summary: "Stop the goal", Handle: s.stopGoal},
		{Method: http.MethodPost, Path: one + "/goal/resume", Summary: "Continue the goal", Handle: s.resumeGoal},
		{Method: http.MethodPost, Path: one + "/secrets", Summary: "Add or replace secrets", Body: true, Handle: s.secrets},
		{Method: http.MethodPost, Path: one + "/confirmation_policy", Summary: "Set which actions wait for a person", Body: true, Handle: s.policy},
		{Method: http.MethodPost, Path: one + "/security_analyzer", Summary: "Set who rates actions", Body: true, Handle: s.analyzer},
		{Method: http.MethodPost, Path: one + "/switch_profile", Summary: "Use another LLM profile", Body: true, Handle: s.switchProfile},
		{Method: http.MethodPost, Path: one + "/switch_llm", Summary: "Use another LLM", Body: true, Handle: s.switchLLM},
		{Method: http.MethodPost, Path: one + "/load_plugin", Summary: "Add a plugin of a marketplace", Body: true, Handle: s.loadPlugin},
		{Method: http.MethodPost, Path: one + "/ask_agent", Summary: "Ask a question that leaves no event", Body: true, Handle: s.ask},
		{Method: http.MethodPost, Path: one + "/condense", Summary: "Summarize the history", Handle: s.condense},
		{Method: http.MethodPost, Path: one + "/fork", Summary: "Copy a conversation", Query: skills, Body: true, Handle: s.fork},
		{Method: http.MethodPost, Path: one + "/children", Summary: "Start a part of a conversation with a task", Body: true, Handle: s.child},
		{Method: http.MethodPost, Path: one + "/navigate", Summary: "Continue from another event", Query: skills, Body: true, Handle: s.navigate},
	}
	return append(routes, s.events(one+"/events")...)
}

type server struct {
	Config

	// creates of one id come one after the other: a client may send a create again whose
	// answer it has never seen.
	creates namelock.Locks
}

// on does something with an open conversation and answers with success. Its own
// answer for an unknown conversation is the bare phrase.
func (s *server) on(do func(ctx context.Context, c control.Conversation) error) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := wire.ConversationID(r)
		if err != nil {
			return err
		}
		if err := s.with(r.Context(), id, do); err != nil {
			return bare(err)
		}
		wire.WriteJSON(w, http.StatusOK, wire.Success())
		return nil
	}
}

// readFor reads a request about one conversation: its ID, and the body.
func readFor(r *http.Request, optional bool) (id string, o *pydantic.Object, err error) {
	if id, err = wire.ConversationID(r); err != nil {
		return "", nil, err
	}
	o, err = wire.ReadObject(r, optional)
	return id, o, err
}

// with opens a conversation for as long as something is done with it.
func (s *server) with(ctx context.Context, id string, do func(ctx context.Context, c control.Conversation) error) (err error) {
	c, err := s.Engine.Open(ctx, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return do(ctx, c)
}

// bare returns err. If it is that a conversation does not exist, the answer has only
// the phrase of the status.
func bare(err error) error {
	if errors.Is(err, agentapi.ErrConversationNotFound) {
		return &wire.Error{Status: http.StatusNotFound, Err: err}
	}
	return err
}

// missing returns err. If it is that a conversation does not exist, the answer has
// the sentence.
func missing(err error, sentence string) error {
	if errors.Is(err, agentapi.ErrConversationNotFound) {
		return &wire.Error{Status: http.StatusNotFound, Detail: sentence, Err: err}
	}
	return err
}
