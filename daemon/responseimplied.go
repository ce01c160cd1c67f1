package daemon

import (
	"errors"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/responses"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/uuid"
)

// maxNamed is how many of the responses that the items of an input name are looked
// for, the newest first.
const maxNamed = 16

// imply finds what a request goes on from that does not name it, but sends all of
// the chat: by the ids of earlier items, else by the name of the chat, which is
// looked for later, else by what was said. docs/clients.md has the rules.
func (p *response) imply(h http.Header, branch string) error {
	if p.alone || p.options.conversation != "" || len(p.ask.Items) == 0 && len(p.History) == 0 {
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
func (p *response) past() responses.Past {
	return responses.Past{Token: p.client.ID, Model: p.ask.Model, Now: p.d.cfg.Now(), Loose: p.d.cfg.OneShotTTL}
}

// byItem finds the response that the last item of an earlier answer belongs to,
// and how much of the history is up to that item.
func (p *response) byItem() (rec *responses.Record, known int, err error) {
	looked := make(map[string]bool)
	for i := len(p.ask.Items) - 1; i >= 0 && len(looked) < maxNamed; i-- {
		item := p.ask.Items[i]
		id := responses.ResponseOf(item.ID)
		if id == "" || looked[id] {
			continue
		}
		looked[id] = true
		if rec := p.d.responses.ByItem(p.past(), id); rec != nil {
			return rec, item.Turns, nil
		}
		rec, err := p.d.responseOf(p.client, id)
		switch {
		case err == nil:
			return rec, item.Turns, nil
		case errors.Is(err, responses.ErrNotFound), errors.Is(err, responses.ErrDamaged), errors.Is(err, responses.ErrNewer):
			// The chat is told to a new conversation, if nothing else is known of it.
		default:
			return nil, 0, storedProblem(err)
		}
	}
	return nil, 0, nil
}

// bySaid finds the response that the history ends with, for a client that does not
// name its chat.
func (p *response) bySaid(h http.Header) *responses.Record {
	if n := len(p.History); n == 0 || p.History[n-1].Role != "assistant" {
		return nil
	}
	if _, named := p.d.cfg.Chats.Find(h, p.ask.Label, p.client.ChatBy); named {
		return nil
	}
	return p.d.responses.BySaid(p.past(), chats.Transcript(p.History))
}

// repeatsChat reports whether the client sends all of the chat each time, as far
// as the request shows: it names nothing that the response goes on from.
func (p *response) repeatsChat() bool {
	return p.chat == nil && p.options.conversation == "" && p.ask.Conversation == "" && (p.prev == nil || p.implied)
}

// tell sees to it that a conversation which goes on gets the instructions, if they
// are others than before, and what it does not know of the history.
func (p *response) tell(req *run.Request, rec *responses.Record) {
	if p.prev == nil {
		if p.repeatsChat() && req.Quoted != "" {
			req.Kind = string(chats.Quoted)
		}
		return
	}
	p.instructed = true
	instructions := ""
	if req.System != "" && rec.System != p.prev.System {
		instructions = "New instructions for this task:\n\n" + req.System + "\n\nThe task:\n\n"
	}
	if !p.fork && !p.implied {
		req.Message.Text = instructions + req.Message.Text
		req.System = ""
		return
	}
	quoted := req.Quoted
	if !p.implied {
		quoted = openai.Quote(p.chain(), maxQuote)
	}
	news := ""
	if !p.d.cfg.IgnoreHistory {
		news = chats.News(p.unknown)
	}
	req.Kind = string(chats.Continued)
	if p.fork {
		req.Kind = string(chats.Forked)
		if p.ask.Store {
			req.ConversationID = uuid.New()
		}
	}
	req.Compose = func(info agentapi.Info, forked bool) (text, kind, line string) {
		switch {
		case forked:
			return news + instructions, string(chats.Forked), ""
		case !info.Created:
			return news + instructions, string(chats.Continued), ""
		case p.fork: // which the backend cannot copy
			return quoted, string(chats.Quoted), ""
		}
		return quoted, string(chats.Quoted), chats.Gone
	}
}
