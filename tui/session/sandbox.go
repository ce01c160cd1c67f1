package session

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
	"github.com/ohgw/ohgw/tui/transcript"
)

const (
	// heldTime is how long a gateway holds a program that the sandbox stopped.
	heldTime = time.Minute
	// maxBlocks is how many different refusals of one answer are listed.
	maxBlocks = 100
)

// Sandbox is the sandbox of the gateway's agents, and what it refused in the
// conversation.
type Sandbox struct {
	*core

	Known  gateway.Sandbox // the zero Sandbox: not known
	Blocks []*Block        // what was refused in the conversation, the oldest first
	Asked  *Block          // the one that the person is asked about, or nil

	turn    *Turn    // the latest one in which something was refused, or nil
	before  int      // how many of Blocks are older than the last question
	made    int      // how many blocks there were in this chat
	granted []string // what was allowed since the last question, and no command waits for
	// undecidable: the gateway takes no decisions about this conversation's sandbox.
	undecidable bool
}

// clear forgets what was refused: another conversation is shown.
func (s *Sandbox) clear() {
	s.Blocks, s.Asked, s.turn, s.before, s.granted, s.undecidable = nil, nil, nil, 0, nil, false
}

// Block is something that the sandbox refused in this conversation. Its texts are
// harmless, one line each. With an empty Allow the chat cannot open it.
type Block struct {
	gateway.Block
	// Until is when a program that is held stops waiting.
	Until time.Time
	// Scope is what was decided; "" while nothing is.
	Scope gateway.Scope

	id     int
	waited bool // it was held when it was decided
}

// What is what was refused, for people: "example.com:443", "write /etc/hosts".
func (b *Block) What() string {
	if b.Access == "net" {
		return b.Target
	}
	return b.Access + " " + b.Target
}

// Decided is what was decided, for people; "" while nothing is.
func (b *Block) Decided() string {
	switch b.Scope {
	case gateway.GrantOnce:
		return "allowed once"
	case gateway.GrantConversation:
		return "allowed in this conversation"
	case gateway.GrantWorkspace:
		return "allowed in this workspace"
	case gateway.GrantNothing:
		return "stays refused"
	}
	return ""
}

// Command is the command that opens it for the workspace; "" if none does.
func (b *Block) Command() string {
	if b.Allow == "" {
		return ""
	}
	return "ohgw sandbox allow " + b.Allow
}

// harmlessBlock is a block as it may be shown. What is shown must be what would be
// allowed: a name that has to be changed for that cannot be allowed here.
func harmlessBlock(g gateway.Block) gateway.Block {
	shown := gateway.Block{Access: name(g.Access), Target: name(g.Target), Why: name(g.Why), Allow: name(g.Allow), Held: g.Held}
	if shown.Access != g.Access || shown.Target != g.Target || shown.Allow != g.Allow {
		shown.Allow, shown.Held = "", false
	}
	return shown
}

// refused takes in what the sandbox refused just now.
func (s *Sandbox) refused(t *Turn, g gateway.Block) tea.Cmd {
	s.turn = t
	g = harmlessBlock(g)
	b := s.blockOf(g)
	switch {
	case b == nil:
		return s.block(t, g)
	case b.Scope == "":
		held := g.Held && !b.Held
		ended := b.Held && !g.Held
		b.Held = g.Held
		t.writing().Refuse(s.refusal(b))
		switch {
		case held:
			cmd := s.hold(b)
			s.view.Came(g)
			return cmd
		case ended:
			s.unhold(b)
		}
		return nil
	case t.again != nil, b.Scope == gateway.GrantNothing, b.waited && !g.Held:
		t.writing().Refuse(s.refusal(b)) // An answer that begins again has it again.
		return nil
	}
	return s.block(t, g) // It was allowed once.
}

// block adds a refusal that is not known yet.
func (s *Sandbox) block(t *Turn, g gateway.Block) tea.Cmd {
	if len(s.Blocks)-s.before >= maxBlocks {
		return nil
	}
	s.made++
	b := &Block{Block: g, id: s.made}
	s.Blocks = append(s.Blocks, b)
	t.writing().Refuse(s.refusal(b))
	var cmd tea.Cmd
	if b.Held {
		cmd = s.hold(b)
	}
	s.view.Came(g)
	return cmd
}

// blockOf is the latest refusal of the same in this answer, or nil.
func (s *Sandbox) blockOf(g gateway.Block) *Block {
	for i := len(s.Blocks) - 1; i >= s.before; i-- {
		if b := s.Blocks[i]; b.Access == g.Access && b.Target == g.Target {
			return b
		}
	}
	return nil
}

// hold asks the person about a program that waits, until it does not wait any more.
func (s *Sandbox) hold(b *Block) tea.Cmd {
	b.Until = s.cfg.Now().Add(heldTime)
	if s.decides() && (s.Asked == nil || !s.Asked.Held) {
		s.Asked = b
	}
	return after(s.ctx, heldTime, heldMsg{b, b.Until})
}

// heldMsg says that a program has waited long enough.
type heldMsg struct {
	block *Block
	until time.Time
}

// holdEnded follows the end of a wait.
func (s *Sandbox) holdEnded(msg heldMsg) tea.Cmd {
	b := msg.block
	if !b.Held || b.Until != msg.until {
		return nil
	}
	s.unhold(b)
	return s.view.Say("no answer in time: " + b.What() + " is refused")
}

// unhold notes that no command waits for a decision about b any more.
func (s *Sandbox) unhold(b *Block) {
	asked := s.Asked == b
	b.Held = false
	s.restate(b)
	if asked {
		s.askNext()
	}
}

// askNext asks about the next program that waits; nothing else opens by itself.
func (s *Sandbox) askNext() {
	s.Asked = nil
	for _, b := range s.Blocks[s.before:] {
		if b.Held && b.Scope == "" && s.decides() {
			s.Asked = b
			return
		}
	}
}

// end takes in that the turn has ended: nothing of it waits any more. all is
// what the gateway counts in the end.
func (s *Sandbox) end(t *Turn, all []gateway.Block) {
	s.turn = t
	for _, g := range all {
		g = harmlessBlock(g)
		g.Held = false
		if s.blockOf(g) == nil {
			s.block(t, g)
		}
	}
	for _, b := range s.Blocks[s.before:] {
		if b.Held {
			s.unhold(b)
		}
	}
}

// pass takes the hints off the refusals of the answers before: the next letter
// of the user is about something else.
func (s *Sandbox) pass() {
	old := s.Blocks[s.before:]
	s.before, s.Asked, s.granted = len(s.Blocks), nil, nil
	for _, b := range old {
		s.restate(b)
	}
}

// refusal converts a block for the log.
func (s *Sandbox) refusal(b *Block) transcript.Refusal {
	r := transcript.Refusal{ID: b.id, What: b.What(), State: b.Decided()}
	fresh := len(s.Blocks) > s.before && b.id >= s.Blocks[s.before].id
	switch {
	case r.State != "":
	case b.Allow == "":
		r.State = b.Why
	case !s.decides() || !fresh:
		r.State = b.Command()
	case b.Held:
		r.State = "waits for you · a: allow"
	default:
		r.State = "a: allow"
	}
	return r
}

// decides reports whether the person can decide here about what was refused.
func (s *Sandbox) decides() bool { return s.cfg.Guard != nil && !s.undecidable }

// restate shows what is new of a block.
func (s *Sandbox) restate(b *Block) {
	r := s.refusal(b)
	if s.turn != nil && s.turn.again != nil {
		s.turn.again.answer.Restate(r)
	}
	for _, m := range s.Log.Messages() {
		if a, ok := m.(*transcript.Answer); ok && a.Restate(r) {
			return
		}
	}
}

// Allowable is what the person can decide about, the latest first; nil if there is
// nothing. With earlier also what was refused before the last question.
func (s *Sandbox) Allowable(earlier bool) *Block {
	first := s.before
	if earlier {
		first = 0
	}
	for i := len(s.Blocks) - 1; i >= first && s.decides(); i-- {
		if b := s.Blocks[i]; b.Scope == "" && b.Allow != "" {
			return b
		}
	}
	return nil
}

// Ask opens the question whether something refused may be done after all. It
// reports whether there is something to decide.
func (s *Sandbox) Ask(earlier bool) bool {
	if b := s.Allowable(earlier); b != nil {
		s.Asked = b
	}
	return s.Asked != nil
}

// LeaveOpen closes the question without a decision.
func (s *Sandbox) LeaveOpen() { s.Asked = nil }

// grantedMsg is how the gateway took a decision.
type grantedMsg struct {
	block *Block
	convo string
	err   error
}

// Grant decides about what is asked in the conversation of that ID.
func (s *Sandbox) Grant(id string, scope gateway.Scope) tea.Cmd {
	b := s.Asked
	if b == nil || s.cfg.Guard == nil {
		return nil
	}
	b.Scope, b.waited, b.Held = scope, b.Held, false
	s.restate(b)
	s.askNext()
	guard, ctx, wire := s.cfg.Guard, s.ctx, b.Block
	return s.Work(func() tea.Msg { return grantedMsg{b, id, guard.Grant(ctx, id, wire, scope)} })
}

// decided says what was decided, or why it was not.
func (s *Sandbox) decided(msg grantedMsg) tea.Cmd {
	b := msg.block
	if msg.err != nil {
		b.Scope = ""
		if gateway.IsForOthers(msg.err) {
			s.undecidable = true // The next decision would fail like this one.
			s.askNext()
		}
		for _, b := range s.Blocks[s.before:] {
			s.restate(b)
		}
		said := "Not decided about " + b.What() + ": " + human.Sentence(safe.Text(asGateway(msg.err).Message))
		if c := b.Command(); c != "" {
			said += "\n" + c
		}
		s.Note(said, true)
		return nil
	}
	if b.Scope == gateway.GrantNothing {
		return s.view.Say(b.What() + " stays refused")
	}
	said := "Sandbox: " + b.What() + " is " + b.Decided()
	if b.waited {
		s.note(said + "; the program goes on.")
		return nil
	}
	s.note(said + "; the agent has to try again.")
	s.granted = append(s.granted, b.What())
	if s.Allowable(false) == nil {
		s.view.Offer("Try again: " + enumerate(s.granted) + " allowed now.")
	}
	return nil
}

// enumerate is a list with its verb: "a and b are".
func enumerate(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last] + " are"
}
