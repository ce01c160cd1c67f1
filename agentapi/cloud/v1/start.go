package v1

import (
	"context"
	"net/http"
	"net/url"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
)

// The states of a start task after which nothing follows. All others are steps.
const (
	TaskReady = "READY"
	TaskError = "ERROR"
)

// StartRequest asks for a conversation.
type StartRequest struct {
	ConversationID      string   `json:"conversation_id,omitempty"`
	InitialMessage      *Message `json:"initial_message,omitempty"`
	SystemMessageSuffix string   `json:"system_message_suffix,omitempty"`
	LLMModel            string   `json:"llm_model,omitempty"`
	SelectedRepository  string   `json:"selected_repository,omitempty"`
	SelectedBranch      string   `json:"selected_branch,omitempty"`
	GitProvider         string   `json:"git_provider,omitempty"`
	Title               string   `json:"title,omitempty"` // ignored by today's servers
	Trigger             string   `json:"trigger,omitempty"`
}

// Task is a start task: a conversation on its way.
type Task struct {
	ID                string         `json:"id"`
	Status            string         `json:"status"`
	Detail            *string        `json:"detail"`
	AppConversationID *string        `json:"app_conversation_id"`
	SandboxID         *string        `json:"sandbox_id"`
	AgentServerURL    *string        `json:"agent_server_url"`
	Request           *StartRequest  `json:"request"`
	CreatedAt         transport.Time `json:"created_at"`
}

// Start asks for a conversation. It is sent once.
func (a API) Start(ctx context.Context, r StartRequest) (t Task, err error) {
	err = a.T.Call(ctx, transport.Request{Method: http.MethodPost, Path: conversations, In: r, Out: &t})
	return t, err
}

// Tasks gives the start tasks of these ids that the server knows.
func (a API) Tasks(ctx context.Context, ids ...string) (l transport.List[Task], err error) {
	err = a.T.Call(ctx, transport.Request{Path: conversations + "/start-tasks", Query: url.Values{"ids": ids}, Out: &l})
	return l, err
}

// NewestTasks is a page of the start tasks, newest first.
func (a API) NewestTasks(ctx context.Context) (p Page[Task], err error) {
	q := Paged("", MaxPage)
	q.Set("sort_order", "CREATED_AT_DESC")
	err = a.T.Call(ctx, transport.Request{Path: conversations + "/start-tasks/search", Query: q, Out: &p})
	return p, err
}
