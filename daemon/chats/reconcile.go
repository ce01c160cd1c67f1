package chats

import "slices"

// Kind says what a request is to the conversations of its chat. It is the
// value of the header X-OpenHands-Reconciled.
type Kind string

// The kinds.
const (
	// Continued: the conversation goes on.
	Continued Kind = "continued"
	// Forked: a copy of the conversation up to an earlier message goes on.
	Forked Kind = "forked"
	// Quoted: a new conversation is told what the chat shows.
	Quoted Kind = "quoted"
	// New: a new conversation, and nothing to tell it.
	New Kind = "new"
)

// Turn is a message of the user that a conversation has, or was told of.
type Turn struct {
	User Digest `json:"u,omitempty"`
	// Answers are all forms in which the chat has shown the answer: as it was
	// delivered, and as the UI has changed it and the agent was told.
	Answers []Digest `json:"a,omitempty"`
	// After is the last event before the turn: a fork that goes back to the
	// turn ends there. It is empty if that event is not known, or if the turn
	// was only added to the conversation as context.
	After string `json:"e,omitempty"`
	// Stopped: its run was ended because the client went.
	Stopped bool `json:"s,omitempty"`

	// partial is the beginning of the answer that the chat shows, if it is one.
	partial Digest
	// waits: its run has not begun, and may never.
	waits bool
	draft *draft // the answer while it is written; nil for turns of another life
	asked manner // zero for turns of another life

	// visit and gateway are for gateways that share the chat: whose turn it is, and which of
	// them has the run. An empty gateway: the run is over.
	visit, gateway string
}

// Rules is what the identity of a chat says about its transcripts.
type Rules struct {
	// Shared: several chats have this id. A conversation is continued only
	// where an answer of it proves that it is the one.
	Shared bool
	// Whole: the client sends all of its chat each time, so that a message
	// without a history is the first one of the chat.
	Whole bool
}

// Plan is what is to be done with a request.
type Plan struct {
	Kind Kind
	// Branch is the index of the branch that the request belongs to, -1 if it
	// belongs to none. A new conversation works in the workspace of that branch.
	Branch int
	// Keep is how many turns of the branch stay.
	Keep int
	// From and Rest are the rounds that the conversation has: those from
	// From to before Rest are the last of the turns that stay. What comes before
	// and after them it must be told.
	From, Rest int
}

// Reconcile says what a request with this history is to the conversations of
// its chat, given their turns. docs/chat-uis.md has the rules as a table.
//
// The history decides: where its last round that is known stands is where
// the user is. Turns that come later in the conversation were taken back.
func Reconcile(history []Round, branches [][]Turn, rules Rules) Plan {
	if len(history) == 0 {
		return first(branches, rules)
	}
	best := alignment{branch: -1}
	with := newAligner(history, rules.Shared)
	for i := len(branches) - 1; i >= 0; i-- { // of equals, the latest
		if a := with.align(branches[i], best.rest); a.betterThan(best) {
			a.branch = i
			best = a
		}
	}
	if best.branch < 0 {
		p := Plan{Kind: Quoted, Branch: -1}
		if !rules.Shared {
			p.Branch = len(branches) - 1
		}
		return p
	}
	turns := branches[best.branch]
	p := Plan{Kind: Continued, Branch: best.branch, Keep: best.end, From: best.rest - best.run, Rest: best.rest}
	switch {
	case p.Keep == len(turns):
	case turns[p.Keep].After != "":
		p.Kind = Forked
	default:
		p = Plan{Kind: Quoted, Branch: best.branch}
	}
	return p
}

// first is the plan for a message without a history.
func first(branches [][]Turn, rules Rules) Plan {
	p := Plan{Kind: New, Branch: len(branches) - 1}
	switch {
	case rules.Shared:
		p.Branch = -1
	case p.Branch < 0:
	case len(branches[p.Branch]) == 0:
		p.Kind = Continued // a first try that never began
	case !rules.Whole:
		p.Kind, p.Keep = Continued, len(branches[p.Branch])
	}
	return p
}

// alignment is a way to lay a history over the turns of a branch.
type alignment struct {
	branch int
	rest   int  // rounds up to the last one that is known
	end    int  // turns up to that one
	run    int  // how many match, going back from there
	score  int  // how well they do
	whole  bool // both begin with the first message
	last   bool // end is that of the conversation
}

// betterThan prefers what leaves fewer rounds unknown, then what matches
// better, then what begins where the chat does, then the end of the
// conversation.
func (a alignment) betterThan(b alignment) bool {
	switch {
	case b.run == 0:
		return a.run > 0
	case a.rest != b.rest:
		return a.rest > b.rest
	case a.score != b.score:
		return a.score > b.score
	case a.whole != b.whole:
		return a.whole
	default:
		return a.last && !b.last
	}
}

// likeness is how well a round and a turn match.
type likeness int

const (
	different likeness = 0
	byUser    likeness = 1 // the message of the user is the same
	byAnswer  likeness = 2 // a long answer is the same
	byBoth    likeness = 4
)

// matches compares a round with a turn. UIs change answers (they cut and
// translate them, and let them be edited), and some change the message that is
// asked when they add what they have found to it; none changes both.
func (e Round) matches(t Turn) likeness {
	return likenessOf(e.User != "" && e.User == t.User, t.shows(e.Answer) || e.Answer != "" && e.Answer == t.partial, e.Long)
}

// likenessOf is the likeness of a round and a turn of which the message of
// the user is the same, or the answer, which may be long.
func likenessOf(user, answer, long bool) likeness {
	switch {
	case user && answer:
		return byBoth
	case answer && long:
		return byAnswer
	case user:
		return byUser
	}
	return different
}

// shows reports whether the answer is one that the agent knows of.
func (t Turn) shows(answer Digest) bool {
	return answer != "" && slices.Contains(t.Answers, answer)
}
