package responses

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/daemon/openai"
)

// maxNamed is how many of the responses that the items of an input name are looked
// for, the newest first.
const maxNamed = 16

// imply finds what a request goes on from that does not name it, but sends all of
// the chat: by the ids of earlier items, else by the name of the chat, which is
// looked for later, else by what was said. docs/clients.md has the rules.
func (p *response) imply(h http.Header, branch string) error {
	if p.Alone || p.Options.Conversation != "" || len(p.ask.Items) == 0 && len(p.History) == 0 {
		return nil
	}
	rec, known, err := p.byItem()
	if rec == nil && err == nil {
		rec, known = p.bySaid(h), len(p.History)
	}
	if rec == nil || err != nil {
		return err
	}
	p.implied, p.unknown = true, p.History[known:]
	if !rec.Unstored {
		p.ask.Echo.PreviousResponseID = &rec.ID
	}
	return p.goOnFrom(rec, branch)
}

// past says which responses in memory count for the request.
func (p *response) past() Past {
	return Past{Token: p.client.ID, Model: p.ask.Model, Now: p.api.core.Now(), Loose: p.api.core.OneShotTTL}
}

// byItem finds the response that the last item of an earlier answer belongs to,
// and how much of the history is up to that item.
func (p *response) byItem() (rec *Record, known int, err error) {
	looked := make(map[string]bool)
	for i := len(p.ask.Items) - 1; i >= 0 && len(looked) < maxNamed; i-- {
		item := p.ask.Items[i]
		id := ResponseOf(item.ID)
		if id == "" || looked[id] {
			continue
		}
		looked[id] = true
		if rec := p.api.Store.ByItem(p.past(), id); rec != nil {
			return rec, item.Turns, nil
		}
		rec, err := p.api.responseOf(p.client, id)
		switch {
		case err == nil:
			return rec, item.Turns, nil
		case errors.Is(err, ErrNotFound), errors.Is(err, ErrDamaged), errors.Is(err, ErrNewer):
			// The chat is told to a new conversation, if nothing else is known of it.
		default:
			return nil, 0, storedProblem(err)
		}
	}
	return nil, 0, nil
}

// bySaid finds the response that the history ends with, for a client that does not
// name its chat.
func (p *response) bySaid(h http.Header) *Record {
	if n := len(p.History); n == 0 || p.History[n-1].Role != "assistant" {
		return nil
	}
	if _, named := p.api.completions.Chats.Find(h, p.ask.Label, p.client.ChatBy); named {
		return nil
	}
	return p.api.Store.BySaid(p.past(), chats.Transcript(p.History))
}

// repeatsChat reports whether a client without a chat sends all of it each time, as far
// as the request shows: it names nothing that the response goes on from.
func (p *response) repeatsChat() bool {
	return p.Options.Conversation == "" && p.ask.Conversation == "" && (p.prev == nil || p.implied)
}

// said collects what the agent gets besides the message: the instructions, if they are
// others than before, what a conversation that goes on does not know of the history, and
// what the client's approvals decide.
func (p *response) said() completions.Said {
	if p.prev == nil {
		said := completions.Said{}
		if p.repeatsChat() && p.api.completions.Quoted(p.Call) != "" {
			said.Kind = string(chats.Quoted)
		}
		return said
	}
	said := completions.Said{Instructed: true}
	if len(p.ask.Approvals) > 0 {
		said.Decision = p.decided()
		said.Instead = cmp.Or(said.Decision.Reason, approval) // sent where nothing waits any more
	}
	instructions := ""
	if p.System != "" && systemHash(p.System) != p.prev.System {
		instructions = "New instructions for this task:\n\n" + p.System + "\n\nThe task:\n\n"
	}
	if !p.fork && !p.implied {
		said.Before, said.NoSystem = instructions, true
		return said
	}
	said.Kind = string(chats.Continued)
	if p.fork {
		said.Kind = string(chats.Forked)
	}
	said.Compose = p.composer(instructions)
	return said
}

// composer returns what says what goes before the message in a conversation that may
// have to be copied or made again. What was said before is read where it is quoted: most
// conversations go on, or are copied.
func (p *response) composer(instructions string) func(info agentapi.Info, forked bool) (text, kind, line string) {
	news := ""
	if !p.api.completions.IgnoreHistory {
		news = chats.News(p.unknown)
	}
	return func(info agentapi.Info, forked bool) (text, kind, line string) {
		switch {
		case forked:
			return news + instructions, string(chats.Forked), ""
		case !info.Created:
			return news + instructions, string(chats.Continued), ""
		case p.fork: // which the backend cannot copy
			return p.quoted(), string(chats.Quoted), ""
		}
		return p.quoted(), string(chats.Quoted), chats.Gone
	}
}

// quoted is what a new conversation is told of what was said before.
func (p *response) quoted() string {
	if p.implied {
		return p.api.completions.Quoted(p.Call)
	}
	return openai.Quote(p.chain(), openai.MaxQuote)
}
