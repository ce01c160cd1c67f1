// Package gateway is a client of a gateway's /v1: what a chat needs of it, and
// nothing that another OpenAI client could not do. It runs no question twice:
// a question carries a key of its own, and asking again with it joins the run.
package gateway

import (
	"context"
	"iter"
	"strconv"
	"time"
)

// Endpoint is where questions go. [Client] is the one over HTTP.
type Endpoint interface {
	// Models lists what can be asked, in the order of the gateway.
	Models(ctx context.Context) ([]Model, error)

	// Ask sends a question and yields the pieces of its answer, a [Done] last.
	// A connection that is lost on the way is found again without a word but a
	// [Lost]; an error is final, is yielded last and is a *Error, or ctx's.
	// Ending the iteration, or ctx, stops the run, at once if the gateway can be
	// told, else after its grace.
	Ask(ctx context.Context, q Question) iter.Seq2[Piece, error]
}

// Model is one that can be asked.
type Model struct {
	ID          string // what to send, e.g. "openhands_work"
	Name        string // for people
	Description string // the provider and the model
	Created     time.Time
	// Plain says that no agent is behind it: it is for titles and tags, and is
	// not offered where people choose whom to talk to.
	Plain bool
}

// Preferred returns the model to ask when the user names none: the first with an
// agent, else the first. It is empty if there are no models.
func Preferred(models []Model) string {
	for _, m := range models {
		if !m.Plain {
			return m.ID
		}
	}
	if len(models) > 0 {
		return models[0].ID
	}
	return ""
}

// Question is one message of the user.
type Question struct {
	Model        string
	Conversation string // a UUID; an unknown one makes a conversation with it
	System       string
	Text         string
	Goal         string        // what the text is to reach: a judge looks after each run; empty: one run answers
	Images       []string      // data URLs
	Timeout      time.Duration // of the run; 0 is the gateway's own
	// Key marks the question: one with the same key joins the earlier one's run
	// or gets its answer, and never runs again. Empty: Ask makes one.
	Key string
	// Decision answers actions that wait for a confirmation. With Accept they
	// run and the text has no effect; with Reject the agent reads the text.
	Decision Decision
	// Details asks for the agent's actions with their results, and for what the
	// sandbox refuses: they come as Call and Block pieces, in place of lines of
	// progress.
	Details bool
	// Confirmation is the mode of the conversation from this question on; empty: as
	// it is. A lower one than the gateway's takes a key that may choose it.
	Confirmation Confirmation
	// Workspace is the directory, absolute, that a new conversation works in;
	// empty: the gateway chooses. A known conversation that works in another one
	// is refused. It takes a key that may choose directories.
	Workspace string
	// ReadOnly says that a new conversation does not change the files there, for
	// which its agent has to run in a sandbox.
	ReadOnly bool
}

// Confirmation says which actions of a conversation wait for a person.
type Confirmation string

// The modes.
const (
	ConfirmNever  Confirmation = "never"
	ConfirmRisky  Confirmation = "risky" // as the model rates them
	ConfirmAlways Confirmation = "always"
)

// Decision is the answer to actions that wait for a confirmation.
type Decision string

// The decisions. The zero Decision means that there is no decision.
const (
	Accept Decision = "accept"
	Reject Decision = "reject"
)

// Piece is a part of an answer: Started, Waiting, Lost, Text, Progress, Call,
// Retry, Phase, Block or Done.
type Piece interface{ piece() }

type (
	// Started comes first, when the gateway has taken the question.
	Started struct {
		Conversation string
		RequestID    string
		Ignored      []string // what of the question had no effect
		Replayed     bool     // an earlier answer, or the rest of one
		Workspace    string   // where the conversation works; empty if the gateway does not say
	}
	// Waiting comes while nothing else does: the gateway is alive.
	Waiting struct {
		// Queue is how many questions come before this one; 0 when it runs.
		Queue int
	}
	// Lost reports that the connection broke and is being found again. What
	// follows the next Started is the whole answer from its beginning.
	Lost struct {
		Attempt int // from 1
		Err     error
	}
	// Text is a piece of the answer.
	Text string
	// Progress is one line about what the agent does.
	Progress string
	// Done ends an answer.
	Done struct {
		Finish    string // "stop", "length"
		RunStatus string // "finished", "paused", "waiting_for_confirmation", ...
		// Notice is what the person must know beside the answer. The text ends
		// with it, too: a paragraph of its own.
		Notice string
		// Waiting are the actions that wait for a confirmation.
		Waiting []Action
		// TextBefore is how many bytes of the text came before the final answer:
		// what the agent said on its way.
		TextBefore int
		// Blocked is what the sandbox refused in the turn.
		Blocked []Block
		Usage   Usage
		Context Context
	}
)

// Call is an action of the agent as it stands: it comes when it begins, and
// again with the same ID when it has its result.
type Call struct {
	ID    string `json:"id"`
	State string `json:"state"` // "running", "done", "failed", "rejected", "interrupted", "waiting"
	Tool  string `json:"tool"`
	Kind  string `json:"kind"` // "command", "edit", "read", "tasks", "mcp", "think", "other"
	Line  string `json:"line"`
	Input string `json:"input"`

	Seconds   *float64 `json:"seconds"`
	ExitCode  *int     `json:"exit_code"`
	Output    string   `json:"output"`
	OutputCut int      `json:"output_cut"` // bytes that are missing in Output
	Path      string   `json:"path"`
	Diff      string   `json:"diff"` // unified, without a header
	DiffCut   int      `json:"diff_cut"`
	Added     int      `json:"added"`
	Removed   int      `json:"removed"`
	Tasks     []Task   `json:"tasks"`
	Picture   *Picture `json:"picture"`         // nil: there is none
	Refused   []Block  `json:"sandbox_refused"` // without what opens it
}

// Picture is a picture that the agent's browser showed, as a file of the agent's machine.
type Picture struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Width  int    `json:"width"` // 0: not known
	Height int    `json:"height"`
}

// Task is one step of the agent's plan.
type Task struct {
	Title  string `json:"title"`
	Notes  string `json:"notes"`
	Status string `json:"status"` // "todo", "in_progress", "done"
}

// Retry is a repeated request to the model's provider that is about to be sent.
type Retry struct {
	Attempt int     `json:"attempt"`
	Of      int     `json:"of"`
	Seconds float64 `json:"seconds"` // until then
	Cause   string  `json:"cause"`
	Line    string  `json:"-"` // the same in a line, for people
}

// Context is how much of the model's context is used, in tokens; 0 is unknown.
type Context struct {
	Tokens int64 `json:"tokens"`
	Window int64 `json:"window"`
}

// Phase is where the call of the model stands, as far as the server of the model reports it.
type Phase struct {
	Name    string `json:"name"`           // "loading", "reading", "writing", "done"
	Prompt  int64  `json:"prompt_tokens"`  // of the prompt
	Read    int64  `json:"read_tokens"`    // of the prompt so far; with "done", those that were not known from before
	Written int64  `json:"written_tokens"` // with "done"

	ReadSeconds  float64 `json:"read_seconds"`  // with "done"
	WriteSeconds float64 `json:"write_seconds"` // with "done"
}

// Waits returns what a phase waits for, in a few words for people; "" for one that waits for
// nothing: "reading the prompt, 1,925 tokens, 52%".
func (p Phase) Waits() string {
	switch p.Name {
	case "loading":
		return "loading the model"
	case "reading":
		if p.Prompt <= 0 {
			return "reading the prompt"
		}
		text := "reading the prompt, " + grouped(p.Prompt) + " tokens"
		if p.Read > 0 {
			const all = 100
			text += ", " + strconv.FormatInt(min(all, all*p.Read/p.Prompt), 10) + "%"
		}
		return text
	}
	return ""
}

// grouped is a number with commas: "1,925".
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func (Phase) piece()    {}
func (Started) piece()  {}
func (Waiting) piece()  {}
func (Lost) piece()     {}
func (Text) piece()     {}
func (Progress) piece() {}
func (Done) piece()     {}
func (Call) piece()     {}
func (Retry) piece()    {}

// Action is an action of the agent in a few words.
type Action struct {
	Tool string `json:"tool"` // "terminal", "file_editor", ...
	Line string `json:"line"` // what it would do, in one line: "$ rm -rf build"
}

// Usage is what a turn took.
type Usage struct {
	Prompt, Cached, Completion, Reasoning int64
	// Cost is in US dollars; nil if the cost is unknown.
	Cost *float64
}

// Error is why there is no answer, or none to its end.
type Error struct {
	Kind         Kind
	Status       int    // of HTTP; 0 where there was none
	Code         string // of the envelope, e.g. "llm_error"
	Message      string // for people
	Conversation string // where the run was, if one was begun
	RetryAfter   time.Duration
	Err          error // the cause; nil when the gateway said it
}

// Kind tells errors apart.
type Kind int

// Kinds of errors.
const (
	Failed      Kind = iota // the run failed; asking again runs again
	Unreachable             // nothing answers there
	Locked                  // the key is missing or wrong
	Busy                    // too many runs; try again later
	Refused                 // the question cannot be asked like this
	Stranger                // what answers is not a gateway
)

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }
