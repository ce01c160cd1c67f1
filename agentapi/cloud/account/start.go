package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	v1 "github.com/ohgw/ohgw/agentapi/cloud/v1"
	"github.com/ohgw/ohgw/internal/optional"
	"github.com/ohgw/ohgw/internal/uuid"
)

// StartRequest asks for a new conversation. Everything is optional.
type StartRequest struct {
	ID       string // a UUID of the caller's; V1 only
	Text     string // the first message; "" starts no run
	Images   []string
	System   string // goes behind the agent's own instructions
	Model    string // V1 only
	Profile  string // an LLM profile of the account; V1 only
	Repo     string // owner/name
	Branch   string
	Provider string // of the repository, such as github
	Title    string
}

// Progress is a step of a start or a wake.
type Progress struct {
	State  string // of the server, such as WAITING_FOR_SANDBOX
	Detail string
}

// cleanUp is the time to remove what a failed start has left.
const cleanUp = 30 * time.Second

// Start makes a conversation and returns it when its sandbox runs. It sends one
// start and never a second one: if it cannot find out what became of it, the error
// is ErrUncertain. A start that fails, or that ctx ends, leaves no sandbox behind,
// as far as the server says which one it was. An ID that exists is ErrRefused.
func (c *Client) Start(ctx context.Context, r StartRequest, report func(Progress)) (Conversation, error) {
	server, err := c.known(ctx)
	if err != nil {
		return Conversation{}, err
	}
	told := once(report)
	if !server.V1 {
		conv, err := c.startV0(ctx, r, told)
		return conv, c.forget(err)
	}
	conv, err := c.startV1(ctx, r, told)
	return conv, c.forget(err)
}

// once leaves out repeats of a step.
func once(report func(Progress)) func(Progress) {
	var last Progress
	return func(p Progress) {
		if report != nil && p != last {
			last = p
			report(p)
		}
	}
}

func (c *Client) startV1(ctx context.Context, r StartRequest, report func(Progress)) (Conversation, error) {
	id, err := c.newID(ctx, r.ID)
	if err != nil {
		return Conversation{}, err
	}
	switchTo, err := c.otherProfile(ctx, r.Profile)
	if err != nil {
		return Conversation{}, err
	}
	req := v1.StartRequest{
		ConversationID: id, SystemMessageSuffix: r.System, LLMModel: r.Model, SelectedRepository: r.Repo, SelectedBranch: r.Branch,
		GitProvider: r.Provider, Title: r.Title, Trigger: "openhands_api",
	}
	if says := r.Text != "" || len(r.Images) > 0; says && switchTo == "" {
		req.InitialMessage = v1.UserMessage(r.Text, r.Images)
	}
	task, err := c.begin(ctx, req)
	if err != nil {
		return Conversation{}, err
	}
	task, err = c.follow(ctx, task, report)
	if err != nil {
		return Conversation{}, c.abandon(ctx, task, id, err)
	}
	conv, err := c.ready(ctx, optional.Value(task.AppConversationID))
	if err != nil {
		return Conversation{}, err
	}
	return c.equip(ctx, conv, r, switchTo)
}

// newID chooses the id of the conversation to start, and refuses one that is taken:
// with it, a start whose answer was lost can be found again.
func (c *Client) newID(ctx context.Context, wanted string) (string, error) {
	if wanted == "" {
		return transport.Hex(uuid.New()), nil
	}
	id, err := uuid.Parse(wanted)
	if err != nil {
		return "", fmt.Errorf("%w: %.40q: %w", ErrRefused, wanted, err)
	}
	switch _, err := c.Get(ctx, id); {
	case err == nil:
		return "", fmt.Errorf("%w: there is a conversation %s already", ErrRefused, id)
	case !errors.Is(err, ErrNotFound):
		return "", err
	}
	return transport.Hex(id), nil
}

// otherProfile returns the profile to switch to, "" if it is the active one.
func (c *Client) otherProfile(ctx context.Context, wanted string) (string, error) {
	if wanted == "" {
		return "", nil
	}
	profiles, err := c.Profiles(ctx)
	if err != nil {
		return "", err
	}
	for _, p := range profiles {
		switch {
		case p.Name != wanted:
		case p.Active:
			return "", nil
		default:
			return wanted, nil
		}
	}
	return "", fmt.Errorf("profile %q: %w", wanted, ErrNotFound)
}

// begin sends the start, once. If its answer is lost, it looks for the task.
func (c *Client) begin(ctx context.Context, req v1.StartRequest) (v1.Task, error) {
	task, err := c.v1.Start(ctx, req)
	if err == nil && task.ID != "" {
		return task, nil
	}
	if err == nil {
		err = fmt.Errorf("start: %w: the answer has no task", ErrWrongEndpoint)
	}
	if transport.Declined(err) {
		return v1.Task{}, err
	}
	looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	for n := range 3 {
		tasks, listErr := c.v1.NewestTasks(looking)
		if listErr == nil {
			for _, t := range tasks.Items {
				if t.Request != nil && transport.Hex(t.Request.ConversationID) == req.ConversationID {
					return t, nil
				}
			}
		}
		if c.t.Sleep(looking, 2*time.Second<<n) != nil {
			break
		}
	}
	return v1.Task{}, fmt.Errorf("start conversation %s: %w: %w", req.ConversationID, ErrUncertain, err)
}

// equip gives a new conversation what a start cannot: its title, another profile,
// and then its first message.
func (c *Client) equip(ctx context.Context, conv Conversation, r StartRequest, profile string) (Conversation, error) {
	if r.Title != "" {
		if err := c.title(ctx, conv, r.Title); err != nil {
			c.log.WarnContext(ctx, "a new conversation keeps the title that the server gave it", "conversation", conv.ID, "err", err)
		} else {
			conv.Title = clean(r.Title)
		}
	}
	if profile == "" {
		return conv, nil
	}
	if err := c.v1.SwitchProfile(ctx, conv.ID, profile); err != nil {
		removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
		defer cancel()
		// Nothing was said in it yet.
		return Conversation{}, errors.Join(fmt.Errorf("switch to profile %q: %w", profile, err), c.v1.Delete(removing, conv.ID))
	}
	if r.Text == "" && len(r.Images) == 0 {
		return conv, nil
	}
	return conv, c.Send(ctx, conv.ID, r.Text, r.Images)
}
