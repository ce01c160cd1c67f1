package v1

import (
	"context"
	"net/http"
	"net/url"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/internal/hidden"
)

const conversations = "/api/v1/app-conversations"

// Conversation is an AppConversation.
type Conversation struct {
	ID                 string            `json:"id"`
	SandboxID          string            `json:"sandbox_id"`
	Title              *string           `json:"title"`
	SelectedRepository *string           `json:"selected_repository"`
	SelectedBranch     *string           `json:"selected_branch"`
	GitProvider        *string           `json:"git_provider"`
	LLMModel           *string           `json:"llm_model"`
	Tags               map[string]string `json:"tags"`
	CreatedAt          transport.Time    `json:"created_at"`
	UpdatedAt          transport.Time    `json:"updated_at"`
	SandboxStatus      string            `json:"sandbox_status"`
	ExecutionStatus    *string           `json:"execution_status"`
	ConversationURL    *string           `json:"conversation_url"`
	SessionAPIKey      hidden.Text       `json:"session_api_key"`
	Metrics            *Metrics          `json:"metrics"`
}

// Metrics is what a conversation has cost, as far as the app-server knows.
type Metrics struct {
	AccumulatedCost       float64 `json:"accumulated_cost"`
	AccumulatedTokenUsage *Usage  `json:"accumulated_token_usage"`
}

// Usage is tokens.
type Usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

// Search is a page of conversations, newest first. An empty title and sandbox
// match all.
func (a API) Search(ctx context.Context, title, sandbox, page string, limit int) (p Page[Conversation], err error) {
	q := Paged(page, limit)
	if title != "" {
		q.Set("title__contains", title)
	}
	if sandbox != "" {
		q.Set("sandbox_id__eq", sandbox)
	}
	err = a.T.Call(ctx, transport.Request{Path: conversations + "/search", Query: q, Out: &p})
	return p, err
}

// Get gives the conversations of these ids that the server knows.
func (a API) Get(ctx context.Context, ids ...string) (l transport.List[Conversation], err error) {
	err = a.T.Call(ctx, transport.Request{Path: conversations, Query: url.Values{"ids": ids}, Out: &l})
	return l, err
}

// Rename changes the title.
func (a API) Rename(ctx context.Context, id, title string) error {
	return a.T.Call(ctx, transport.Request{
		Method: http.MethodPatch, Path: conversations + "/" + url.PathEscape(id), In: map[string]string{"title": title}, Repeat: true,
	})
}

// Delete removes a conversation, and its sandbox where no other conversation uses
// it.
func (a API) Delete(ctx context.Context, id string) error {
	return a.change(ctx, transport.Request{Method: http.MethodDelete, Path: conversations + "/" + url.PathEscape(id)})
}

// Message is what a user says.
type Message struct {
	Role    string  `json:"role"`
	Content []Block `json:"content"`
	Run     bool    `json:"run"`
}

// Block is a text, or images.
type Block struct {
	Type      string   `json:"type"`
	Text      string   `json:"text,omitempty"`
	ImageURLs []string `json:"image_urls,omitempty"`
}

// UserMessage is a text and images that start a run.
func UserMessage(text string, images []string) *Message {
	m := &Message{Role: "user", Run: true}
	if text != "" || len(images) == 0 {
		m.Content = append(m.Content, Block{Type: "text", Text: text})
	}
	if len(images) > 0 {
		m.Content = append(m.Content, Block{Type: "image", ImageURLs: images})
	}
	return m
}

// Send gives a conversation a message. It needs a running sandbox.
func (a API) Send(ctx context.Context, id string, m *Message) error {
	return a.change(ctx, transport.Request{Path: conversations + "/" + url.PathEscape(id) + "/send-message", In: m})
}

// SwitchProfile makes the following turns use another profile.
func (a API) SwitchProfile(ctx context.Context, id, profile string) error {
	return a.change(ctx, transport.Request{
		Path: conversations + "/" + url.PathEscape(id) + "/switch_profile", In: map[string]string{"profile_name": profile}, Repeat: true,
	})
}

// Download is the trajectory as a zip archive.
func (a API) Download(ctx context.Context, id string) (*transport.Body, error) {
	return a.T.Open(ctx, transport.Request{Path: conversations + "/" + url.PathEscape(id) + "/download"})
}

// File is the text of a file; "" for every failure.
func (a API) File(ctx context.Context, id, path string) (text string, err error) {
	err = a.T.Call(ctx, transport.Request{
		Path: conversations + "/" + url.PathEscape(id) + "/file", Query: url.Values{"file_path": {path}}, Out: &text,
	})
	return text, err
}

// Change is a file that differs from the repository's.
type Change struct {
	Status string `json:"status"`
	Path   string `json:"path"`
}

// Changes lists what changed in the repository at path, through the app-server.
func (a API) Changes(ctx context.Context, id, path string) (l transport.List[Change], err error) {
	err = a.T.Call(ctx, transport.Request{
		Path: conversations + "/" + url.PathEscape(id) + "/git/changes", Query: url.Values{"path": {path}}, Out: &l,
	})
	return l, err
}
