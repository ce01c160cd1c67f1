// Package v0 is the API that OpenHands served until April 2026, as calls with
// types. Some calls go to the runtime of a conversation. It knows routes and
// shapes, not what they are good for; unknown values of enums are passed on.
package v0

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/internal/hidden"
)

// The states of a conversation.
const (
	Starting = "STARTING"
	Running  = "RUNNING"
	Stopped  = "STOPPED"
	Archived = "ARCHIVED"
	Failed   = "ERROR"
)

const (
	conversations = "/api/conversations"
	maxID         = 100
	// startTimeout: a server may answer only when the runtime is there.
	startTimeout = 3 * time.Minute
)

// API makes the calls of the server.
type API struct{ T *transport.Client }

// Conversation is a ConversationInfo.
type Conversation struct {
	ConversationID      string         `json:"conversation_id"`
	Title               *string        `json:"title"`
	LastUpdatedAt       transport.Time `json:"last_updated_at"`
	CreatedAt           transport.Time `json:"created_at"`
	Status              string         `json:"status"`
	RuntimeStatus       *string        `json:"runtime_status"`
	SelectedRepository  *string        `json:"selected_repository"`
	SelectedBranch      *string        `json:"selected_branch"`
	GitProvider         *string        `json:"git_provider"`
	URL                 *string        `json:"url"`
	SessionAPIKey       hidden.Text    `json:"session_api_key"`
	ConversationVersion *string        `json:"conversation_version"`
}

// IsV1 reports whether the row is a V1 conversation in V0's shape.
func (c Conversation) IsV1() bool {
	return c.ConversationVersion != nil && strings.EqualFold(*c.ConversationVersion, "V1")
}

// Models lists the model names, which proves that the server speaks V0.
func (a API) Models(ctx context.Context) (names transport.List[string], err error) {
	err = a.T.Call(ctx, transport.Request{Path: "/api/options/models", Out: &names})
	return names, err
}

// Page is one page of a list.
type Page struct {
	Results    transport.List[Conversation] `json:"results"`
	NextPageID *string                      `json:"next_page_id"`
}

// List is a page of conversations. An empty repository matches all.
func (a API) List(ctx context.Context, repository, page string, limit int) (p Page, err error) {
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	if page != "" {
		q.Set("page_id", page)
	}
	if repository != "" {
		q.Set("selected_repository", repository)
	}
	err = a.T.Call(ctx, transport.Request{Path: conversations, Query: q, Out: &p})
	return p, err
}

// route is the path of a conversation; an error if the id cannot be one.
func route(id string) (string, error) {
	if id == "" || len(id) > maxID || strings.ContainsFunc(id, func(r rune) bool {
		return r <= 0x20 || r >= 0x7f || strings.ContainsRune(`/\?#%`, r)
	}) || strings.Trim(id, ".") == "" {
		return "", fmt.Errorf("%w: %.40q cannot be the id of a conversation", transport.ErrRefused, id)
	}
	return conversations + "/" + url.PathEscape(id), nil
}

// call makes a call about one conversation.
func (a API) call(ctx context.Context, id, below string, r transport.Request) error {
	path, err := route(id)
	if err != nil {
		return err
	}
	r.Path = path + below
	return a.T.Call(ctx, r)
}

// Get is one conversation; transport.ErrNotFound also where the server answers
// with null.
func (a API) Get(ctx context.Context, id string) (Conversation, error) {
	var c *Conversation
	if err := a.call(ctx, id, "", transport.Request{Out: &c}); err != nil {
		return Conversation{}, err
	}
	if c == nil || c.ConversationID == "" {
		return Conversation{}, fmt.Errorf("conversation %s: %w", id, transport.ErrNotFound)
	}
	return *c, nil
}

// CreateRequest asks for a conversation. Servers refuse fields they do not know.
type CreateRequest struct {
	Repository               string   `json:"repository,omitempty"`
	GitProvider              string   `json:"git_provider,omitempty"`
	SelectedBranch           string   `json:"selected_branch,omitempty"`
	InitialUserMsg           string   `json:"initial_user_msg,omitempty"`
	ImageURLs                []string `json:"image_urls,omitempty"`
	ConversationInstructions string   `json:"conversation_instructions,omitempty"`
}

// Outcome is the answer to create, start and stop.
type Outcome struct {
	Status             string  `json:"status"`
	ConversationID     string  `json:"conversation_id"`
	Message            *string `json:"message"`
	ConversationStatus *string `json:"conversation_status"`
}

// check makes an error of an outcome that says no with a good status.
func (o Outcome) check(doing string) error {
	if o.Status != "error" {
		return nil
	}
	text := "no reason given"
	if o.Message != nil && *o.Message != "" {
		text = *o.Message
	}
	return fmt.Errorf("%s: %w: %s", doing, transport.ErrRefused, text)
}

// Create makes a conversation. It is sent once.
func (a API) Create(ctx context.Context, r CreateRequest) (o Outcome, err error) {
	err = a.T.Call(ctx, transport.Request{Method: http.MethodPost, Path: conversations, In: r, Out: &o, Timeout: startTimeout})
	if err == nil {
		err = o.check("create")
	}
	return o, err
}

// Start wakes a conversation. One that runs stays as it is.
func (a API) Start(ctx context.Context, id string, providers []string) (o Outcome, err error) {
	if providers == nil {
		providers = []string{}
	}
	err = a.call(ctx, id, "/start", transport.Request{
		Method: http.MethodPost, In: map[string][]string{"providers_set": providers}, Out: &o, Repeat: true, Timeout: startTimeout,
	})
	if err == nil {
		err = o.check("start")
	}
	return o, err
}

// Stop puts a conversation to sleep. One that does not run stays as it is.
func (a API) Stop(ctx context.Context, id string) error {
	var o Outcome
	if err := a.call(ctx, id, "/stop", transport.Request{Method: http.MethodPost, Out: &o, Repeat: true}); err != nil {
		return err
	}
	return o.check("stop")
}

// Delete removes a conversation; transport.ErrNotFound if the server did not have it.
func (a API) Delete(ctx context.Context, id string) error {
	var done bool
	if err := a.call(ctx, id, "", transport.Request{Method: http.MethodDelete, Out: &done}); err != nil {
		return err
	}
	if !done {
		return fmt.Errorf("conversation %s: %w", id, transport.ErrNotFound)
	}
	return nil
}

// Rename changes the title.
func (a API) Rename(ctx context.Context, id, title string) error {
	return a.call(ctx, id, "", transport.Request{Method: http.MethodPatch, In: map[string]string{"title": title}, Repeat: true})
}

// Send gives a conversation a message.
func (a API) Send(ctx context.Context, id, text string) error {
	var o struct {
		Success *bool  `json:"success"`
		Error   string `json:"error"`
	}
	err := a.call(ctx, id, "/message", transport.Request{Method: http.MethodPost, In: map[string]string{"message": text}, Out: &o})
	if err == nil && o.Success != nil && !*o.Success {
		err = fmt.Errorf("send: %w: %s", transport.ErrRefused, o.Error)
	}
	return err
}

// Events is a page of a conversation's events, also of one that is stopped.
type Events struct {
	Events  transport.List[json.RawMessage] `json:"events"`
	HasMore bool                            `json:"has_more"`
}

// Events reads from the event with the number start, or back from the last one.
// A negative start is the first event, or the last.
func (a API) Events(ctx context.Context, id string, start int64, newest bool, limit int) (e Events, err error) {
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	if newest {
		q.Set("reverse", "true")
	}
	switch {
	case start < 0:
	case newest:
		q.Set("end_id", strconv.FormatInt(start, 10))
	default:
		q.Set("start_id", strconv.FormatInt(start, 10))
	}
	err = a.call(ctx, id, "/events", transport.Request{Query: q, Out: &e})
	return e, err
}
