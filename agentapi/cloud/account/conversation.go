package account

import (
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	v0 "github.com/ohgw/ohgw/agentapi/cloud/v0"
	v1 "github.com/ohgw/ohgw/agentapi/cloud/v1"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/hidden"
	"github.com/ohgw/ohgw/internal/optional"
)

// Version is the version of the API that a conversation belongs to.
type Version string

// The versions.
const (
	V0 Version = "V0"
	V1 Version = "V1"
)

// State is where a conversation's sandbox stands.
type State string

// The states of a conversation.
const (
	StateRunning  State = "running"
	StateAsleep   State = "asleep"   // it can be woken
	StateArchived State = "archived" // its files are gone; what was said can be read
	StateStarting State = "starting"
	StateError    State = "error"
	StateUnknown  State = "unknown" // a state that this client does not know
)

// Conversation is one conversation of the account.
type Conversation struct {
	ID        string       `json:"id"` // 32 hex digits
	Version   Version      `json:"version"`
	Title     string       `json:"title"`
	State     State        `json:"state"`
	Exec      event.Status `json:"execution_status,omitempty"` // "" where it is not known
	Repo      string       `json:"repository,omitempty"`
	Branch    string       `json:"branch,omitempty"`
	Provider  string       `json:"git_provider,omitempty"`
	Model     string       `json:"model,omitempty"`
	SandboxID string       `json:"sandbox_id,omitempty"`
	WebURL    string       `json:"web_url"`
	Created   time.Time    `json:"created_at,omitzero"`
	Updated   time.Time    `json:"updated_at,omitzero"`
	Cost      float64      `json:"cost"` // as far as the server knows; it can fall back to zero for a while
	Tokens    int64        `json:"tokens"`

	base      *url.URL // of the runtime; nil if it does not run
	key       hidden.Text
	directory string // that it works in; "" if it is not known
}

// Used is when something last happened in the conversation, as far as the server says.
func (c Conversation) Used() time.Time {
	if c.Updated.IsZero() {
		return c.Created
	}
	return c.Updated
}

// ShortID is how much of an id people see: it is enough for a command.
const ShortID = 8

// Short is the beginning of the id.
func (c Conversation) Short() string { return c.ID[:min(ShortID, len(c.ID))] }

// target is the runtime with its key.
func (c Conversation) target() transport.Target { return transport.Target{Base: c.base, Key: c.key} }

// repoName is the last part of the repository's name.
func (c Conversation) repoName() string {
	if c.Repo == "" {
		return ""
	}
	return path.Base(c.Repo)
}

func fromV1(root *url.URL, a v1.Conversation) Conversation {
	out := Conversation{
		ID: transport.Hex(a.ID), Version: V1, Title: clean(optional.Value(a.Title)), Exec: event.Status(optional.Value(a.ExecutionStatus)),
		Repo: optional.Value(a.SelectedRepository), Branch: optional.Value(a.SelectedBranch), Provider: optional.Value(a.GitProvider), Model: optional.Value(a.LLMModel),
		SandboxID: a.SandboxID, Created: a.CreatedAt.Time, Updated: a.UpdatedAt.Time,
		directory: a.Tags["archiveworkspacepath"],
	}
	out.State = stateV1(a.SandboxStatus)
	out.WebURL = webURL(root, out.ID)
	if a.Metrics != nil {
		out.Cost = a.Metrics.AccumulatedCost
		if u := a.Metrics.AccumulatedTokenUsage; u != nil {
			out.Tokens = u.PromptTokens + u.CompletionTokens
		}
	}
	if out.State == StateRunning {
		out.base, out.key = transport.RuntimeBase(root, optional.Value(a.ConversationURL)), a.SessionAPIKey
	}
	return out
}

func stateV1(status string) State {
	switch strings.ToUpper(status) {
	case v1.Running:
		return StateRunning
	case v1.Paused:
		return StateAsleep
	case v1.Starting:
		return StateStarting
	case v1.Missing, "":
		return StateArchived
	case v1.Failed:
		return StateError
	}
	return StateUnknown
}

func fromV0(root *url.URL, a v0.Conversation) Conversation {
	out := Conversation{
		ID: transport.Hex(a.ConversationID), Version: V0, Title: clean(optional.Value(a.Title)), Repo: optional.Value(a.SelectedRepository),
		Branch: optional.Value(a.SelectedBranch), Provider: optional.Value(a.GitProvider), Created: a.CreatedAt.Time, Updated: a.LastUpdatedAt.Time,
		State: stateV0(a.Status, optional.Value(a.RuntimeStatus)), key: a.SessionAPIKey,
	}
	if a.IsV1() {
		out.Version = V1
	}
	out.WebURL = webURL(root, out.ID)
	if out.State == StateRunning {
		out.base = transport.RuntimeBase(root, optional.Value(a.URL))
	}
	return out
}

// stateV0 converts a status of V0. A conversation is running only with a runtime that
// is there: a server that is still preparing one says RUNNING too.
func stateV0(status, runtime string) State {
	switch strings.ToUpper(status) {
	case v0.Running:
		for _, part := range []string{"STARTING", "BUILDING", "SETTING_UP"} {
			if strings.Contains(runtime, part) {
				return StateStarting
			}
		}
		return StateRunning
	case v0.Stopped:
		return StateAsleep
	case v0.Starting:
		return StateStarting
	case v0.Archived:
		return StateArchived
	case v0.Failed:
		return StateError
	}
	return StateUnknown
}

// webURL is the conversation in the web app.
func webURL(root *url.URL, id string) string {
	return root.String() + "/conversations/" + url.PathEscape(id)
}

// clean makes a title one line: servers store whole messages.
func clean(title string) string { return strings.Join(strings.Fields(title), " ") }
