package chats

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/openai"
)

type turnText = openai.Turn

// Request is a request of a chat.
type Request struct {
	ID      ID
	History []openai.Turn // the messages before the one that is asked
	Text    string        // the message that is asked
	// Begun is an answer that is to go on: the last of History. Text is the
	// message that it answers, which is not asked again.
	Begun string
	// System is the system text of the request. Tools: it offers tools.
	System string
	Tools  bool
	// NoQuotes: the agent is not told what the chat shows.
	NoQuotes bool
}

// Visit is a request of a chat and the run that answers it.
type Visit struct {
	// Conversation is the one that the request runs in.
	Conversation string
	// Made: the id of Conversation was just made, so no agent has it.
	Made bool
	// Origin is the conversation that a new one takes the place of; empty if
	// there is none. It is copied up to the event From, where that is given.
	Origin, From string
	// Workspace is where a new conversation works; empty: wherever new ones do.
	Workspace string
	// Aside: the client asks something beside a run of the chat. The question has
	// nothing to do with the chat's directory: Workspace and Origin are empty.
	// Direct: the request is not a task for an agent.
	Aside, Direct bool

	r       *Registry
	chat    *chat
	req     Request
	history []Round
	plan    Plan
	draft   *draft
	gone    bool // its conversation was forgotten
	opened  bool
	told    []Turn // what the conversation has when the run begins, before this turn
	settled bool
	closed  bool

	// These are for gateways that share the chat.
	id        string // of the visit
	reserved  bool   // the turn is in the chat, and it is not known yet whether it runs
	workspace string // of the conversation, once it is open
}

// draft is an answer as it is shown, while it is written.
type draft struct {
	mu   sync.Mutex
	text Text
}

func (l *draft) add(piece string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Add(piece)
}

// forget frees the text, which is not compared any more.
func (l *draft) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = Text{}
}

func (l *draft) digest() Digest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Digest()
}

func (l *draft) beginsWith(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return text != "" && strings.HasPrefix(l.text.Beginning(), text)
}

// Planned is what the request is expected to be; [Visit.Compose] knows.
func (v *Visit) Planned() string { return string(v.plan.Kind) }

// Settle lets other requests of the chat be decided. started says that the
// request has a run of its own: the chat knows of it from now on. A nil visit is that of
// a request without a chat.
func (v *Visit) Settle(started bool) {
	if v == nil || v.settled {
		return
	}
	v.settled = true
	defer v.chat.mu.Unlock()
	switch {
	case started && !v.reserved:
		v.commit()
	case !started && v.reserved:
		v.retract()
	}
}

// commit notes the turn. It holds a place in the chat until it begins, so that
// a request that follows at once knows of it. The caller holds the chat.
func (v *Visit) commit() {
	c := v.chat
	v.place()
	c.underway = append(c.underway, underway{conversation: v.Conversation, draft: v.draft, visit: v.id, system: Of(v.req.System), tools: v.req.Tools})
	v.r.acquire(c.key) // until the run has ended
}

// place puts the turn into its branch. The caller holds the chat.
func (v *Visit) place() {
	c := v.chat
	own := Turn{User: Of(v.req.Text), waits: true, draft: v.draft, asked: mannerOf(v.req)}
	if v.r.shared != nil && !v.sign(&own) {
		return // it is there already
	}
	b := c.find(v.Conversation)
	if b == nil {
		b = &branch{Conversation: v.Conversation, Workspace: v.Workspace}
		if v.plan.Kind == Forked {
			b.Turns = slices.Clone(c.Branches[v.plan.Branch].Turns[:v.plan.Keep])
		}
		c.Branches = slices.DeleteFunc(c.Branches, func(old *branch) bool {
			if len(old.Turns) == 0 {
				c.drop(old, "")
			}
			return len(old.Turns) == 0
		})
		c.makeRoom(v.req.ID.Shared, v.r.cfg.Now())
		c.Branches = append(c.Branches, b)
	}
	for _, t := range b.Turns {
		if t.draft != nil && (t.Stopped || len(t.Answers) > 0) {
			t.draft.forget() // this request has been compared with it
			delete(c.drafts, t.visit)
		}
	}
	b.Turns = append(b.Turns, own)
	b.Used = v.r.cfg.Now()
}

// underway is a run of a chat that has not ended.
type underway struct {
	conversation string
	draft        *draft // nil: another gateway has it
	visit        string
	system       Digest
	tools        bool
}

// manner is how a request asks.
type manner struct {
	known  bool
	system Digest
	tools  bool
}

func mannerOf(req Request) manner {
	return manner{known: true, system: Of(req.System), tools: req.Tools}
}

// differs reports whether one of two requests is the agent's, and the other is
// something else that a client asks in the name of the chat: only one has tools,
// and the one without them has a system text of its own.
func (m manner) differs(other manner) bool {
	if !m.known || !other.known || m.tools == other.tools || m.system == other.system {
		return false
	}
	return m.tools && other.system != "" || other.tools && m.system != ""
}

// aside reports whether a request that no conversation of the chat knows comes
// beside a run of another kind: one of the two has no tools, and their system
// texts differ. Coding clients ask for titles and summaries in the name of the
// chat. Two agents must not work in one directory because of that. Direct: the
// run is the agent's, so the request is not a task for one.
func (c *chat) aside(req Request) (aside, direct bool) {
	system := Of(req.System)
	for _, u := range c.underway {
		if u.system != system && (!u.tools || !req.Tools) {
			aside, direct = true, direct || u.tools
		}
	}
	return aside, direct && system != ""
}

// besides is aside for a request without a history, which is the next message
// of its chat for all that anybody knows: it has another system text than the run,
// and exactly one of the two has tools. Direct: the run is the agent's. Aside: the
// request is, so it does not wait for the end of the other and go on there.
func (c *chat) besides(req Request) (aside, direct bool) {
	system := Of(req.System)
	for _, u := range c.underway {
		if u.system != system && u.tools != req.Tools {
			aside, direct = aside || req.Tools, direct || u.tools && system != ""
		}
	}
	return aside, direct
}

// makeRoom forgets conversations of the chat, those first that were not used for
// longest, until there is room for another one. The caller holds c.mu.
func (c *chat) makeRoom(shared bool, now time.Time) {
	most, turns := maxBranches, 0
	if shared {
		most = maxShared
		for _, b := range c.Branches {
			turns += len(b.Turns)
		}
	}
	for len(c.Branches) > 0 {
		last := -1
		for i, b := range c.Branches {
			older := last < 0 || b.Used.Before(c.Branches[last].Used)
			if older && !slices.ContainsFunc(c.underway, func(u underway) bool { return u.conversation == b.Conversation }) {
				last = i
			}
		}
		if last < 0 {
			return
		}
		b := c.Branches[last]
		if len(c.Branches) < most && turns <= maxSharedTurns && (!shared || now.Sub(b.Used) < keepShared) {
			return
		}
		turns -= len(b.Turns)
		c.forget(last)
	}
}

// forget forgets a conversation, but not that there was one.
func (c *chat) forget(i int) {
	b := c.Branches[i]
	c.Branches = slices.Delete(c.Branches, i, i+1)
	var answer Digest
	if n := len(b.Turns); n > 0 && len(b.Turns[n-1].Answers) > 0 {
		answer = b.Turns[n-1].Answers[len(b.Turns[n-1].Answers)-1]
		c.Gone = lastOf(append(c.Gone, answer), maxGone)
	}
	c.drop(b, answer)
}

// drop notes for the file that a conversation was forgotten, with its last
// answer if it had one. Where the file is written as a whole it lacks it anyway.
func (c *chat) drop(b *branch, answer Digest) {
	if c.saved == nil {
		return
	}
	c.unsaved.Drop = append(c.unsaved.Drop, b.Conversation)
	if answer != "" {
		c.unsaved.Gone = append(c.unsaved.Gone, answer)
	}
}

// lost reports whether a history is of a conversation that was forgotten.
func (c *chat) lost(history []Round) bool {
	if len(c.Gone) == 0 {
		return false
	}
	answers := make(map[Digest]bool, len(history))
	for _, e := range history {
		if e.Answer != "" {
			answers[e.Answer] = true
		}
	}
	return slices.ContainsFunc(c.Gone, func(d Digest) bool { return answers[d] })
}

// lastOf are the last n of a list.
func lastOf(list []Digest, n int) []Digest { return slices.Clone(list[max(0, len(list)-n):]) }

// own is the branch and the place of the visit's turn in it. The caller holds
// the chat.
func (v *Visit) own() (*branch, int) {
	b := v.chat.find(v.Conversation)
	if b == nil {
		return nil, -1 // so many branches were made that it was forgotten
	}
	return b, slices.IndexFunc(b.Turns, func(t Turn) bool { return t.draft == v.draft })
}

// Gone is the line of progress of a chat whose conversation was removed.
const Gone = "The conversation of this chat no longer exists, so a new one was started."

// Compose returns what goes before the user's message, now that the conversation
// is open and all earlier requests to it have ended, what the request turned
// out to be, and a line for the user where that is not what they expect.
func (v *Visit) Compose(info agentapi.Info, forked bool) (text, kind, line string) {
	v.chat.mu.Lock()
	defer v.chat.mu.Unlock()
	b, at := v.own()
	if at < 0 {
		return "", v.Planned(), ""
	}
	v.opened, b.Workspace, v.workspace = true, info.Workspace, info.Workspace
	if info.Created && !forked {
		if at > 0 || v.gone {
			line = Gone
		}
		v.told = asTold(v.history)
		if len(v.history) == 0 || v.req.NoQuotes {
			return "", string(New), line
		}
		return openai.Quote(v.req.History, maxQuote), string(Quoted), line
	}
	n := v.note(b.Turns[:at])
	v.told = n.turns
	k := Continued
	if forked {
		k = Forked
		n.wentBack = true
	}
	return n.text(v.req), string(k), ""
}

// Begin notes that the agent is about to be told.
func (v *Visit) Begin(base turn.Baseline) {
	v.chat.mu.Lock()
	defer v.chat.mu.Unlock()
	v.r.change(v.chat, func() *branch { return v.begin(base) })
}

// begin changes the chat as Begin says, and returns the branch to store; nil: none.
func (v *Visit) begin(base turn.Baseline) *branch {
	b, at := v.own()
	if at < 0 {
		return nil
	}
	own, told := b.Turns[at], v.told
	own.waits, own.After = false, base.After
	if own.After == agentapi.FromStart {
		own.After = "" // nothing comes before it
	}
	if last := len(told) - 1; v.req.Begun != "" && last >= 0 && told[last].User == own.User {
		// To the chat it is one turn.
		own.After, own.Answers = told[last].After, told[last].Answers
		told = told[:last]
	}
	if v.opened {
		b.Workspace = v.workspace
	}
	b.Turns = slices.Concat(told, []Turn{own}, b.Turns[at+1:])
	return b
}

// End notes how the run ended. One that never began was never said.
func (v *Visit) End(began, stopped bool) {
	defer v.r.release(v.chat)
	v.chat.mu.Lock()
	defer v.chat.mu.Unlock()
	v.chat.underway = slices.DeleteFunc(v.chat.underway, func(u underway) bool { return u.draft == v.draft })
	v.r.change(v.chat, func() *branch { return v.end(began, stopped) })
}

// end changes the chat as End says, and returns the branch to store; nil: none.
func (v *Visit) end(began, stopped bool) *branch {
	b, at := v.own()
	switch {
	case at < 0:
		return nil
	case !v.opened && v.plan.Kind != Continued && len(b.Turns) == at+1:
		// The conversation was never made.
		v.chat.Branches = slices.DeleteFunc(v.chat.Branches, func(other *branch) bool { return other == b })
	case !began:
		saved := !b.Turns[at].waits
		b.Turns = slices.Delete(b.Turns, at, at+1)
		if saved {
			return b
		}
	case stopped:
		b.Turns[at].Stopped, b.Turns[at].gateway = true, ""
		return b
	default:
		b.Turns[at].gateway = ""
	}
	if v.r.shared == nil {
		return nil
	}
	return b
}

// Show notes a piece of the answer that is on its way to the user.
func (v *Visit) Show(piece string) { v.draft.add(piece) }

// Shown notes that the user has the whole answer. conversation is the one that
// it came from: an earlier request may have started the run.
func (v *Visit) Shown(conversation string) {
	answer, user := v.draft.digest(), Of(v.req.Text)
	if answer == "" {
		return
	}
	v.chat.mu.Lock()
	defer v.chat.mu.Unlock()
	v.r.change(v.chat, func() *branch { return v.shown(conversation, user, answer) })
}

// shown changes the chat as Shown says, and returns the branch to store; nil: none.
func (v *Visit) shown(conversation string, user, answer Digest) *branch {
	b := v.chat.find(conversation)
	if b == nil {
		return nil
	}
	for i, t := range slices.Backward(b.Turns) {
		if t.User == user {
			if t.shows(answer) {
				return nil
			}
			b.Turns[i].Answers = append(slices.Clone(t.Answers), answer)
			return b
		}
	}
	return nil
}

// Close says that the client has what it wanted, or is gone. It settles a visit that has
// started nothing. A nil visit is that of a request without a chat.
func (v *Visit) Close() {
	v.Settle(false)
	if v != nil && !v.closed {
		v.closed = true
		v.r.release(v.chat)
	}
}

// asTold are rounds that a conversation was told of.
func asTold(history []Round) []Turn {
	turns := make([]Turn, 0, len(history))
	for _, e := range history {
		t := Turn{User: e.User}
		if e.Answer != "" {
			t.Answers = []Digest{e.Answer}
		}
		turns = append(turns, t)
	}
	return turns
}
