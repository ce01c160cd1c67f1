package session

import (
	"context"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/safe"
)

// Config is all that a session needs of the world. Endpoint, NewID and Now are required;
// a nil function takes away what it is for, and the chat says so when the user asks for
// it.
type Config struct {
	Endpoint gateway.Endpoint
	Place    Place
	Hints    Hints
	Start    Start
	NewID    func() string // a fresh UUID, the id of a conversation
	Now      func() time.Time

	Recent  Recent
	History gateway.History
	Guard   gateway.Guard // nil: the sandbox is unknown, and no decision is possible
	// Locate describes the directory of a conversation; "" is one of the gateway's
	// choice. It may read files, and is called outside of the session's goroutine.
	Locate    func(dir string) Where
	Local     Local // nil: the agent's files are not on this machine
	ReadImage func(ctx context.Context, path string) (Image, error)
	Save      func(ctx context.Context, path, text string) (string, error)

	// Again and Models are how a user of the view asks again and sees the models,
	// in a sentence: "press r", "Ctrl+P".
	Again, Models string
	// Redials: a gateway that is lost is looked for, and the question is asked
	// again as soon as it answers. Otherwise that is left to the user.
	Redials bool
}

// Place is where the questions go, in words for a person.
type Place struct {
	Title   string // "127.0.0.1:6449", "in this process"
	Backend string // "agent-server", "embedded", ...; empty when unknown
	Notice  string // shown at the start, e.g. that a daemon was started here
	Demo    bool   // the answers are scripted
}

// Where is the directory of a conversation, for people.
type Where struct {
	Dir    string // "~/src/ohgw"; empty: not known
	Branch string // that git has checked out there; empty: none
	// Away is said where Dir is empty: that the agent does not work where the chat was
	// opened, and how it would. The longest comes first; the first that has room is shown.
	Away []string
}

// String is the directory with its branch, in one line.
func (w Where) String() string {
	s := safe.Line(w.Dir)
	if b := safe.Line(w.Branch); b != "" {
		s += " (" + b + ")"
	}
	return s
}

// Name is the place in a sentence, such as "the gateway in this process".
func (p Place) Name() string {
	if p.Title == "" {
		return "the gateway"
	}
	title := safe.Line(p.Title)
	if strings.HasPrefix(title, "in ") {
		return "the gateway " + title
	}
	return title
}

// At is the place as an answer to "where".
func (p Place) At() string {
	if title := safe.Line(p.Title); strings.HasPrefix(title, "in ") {
		return title
	}
	return "at " + p.Name()
}

// Hints are commands that help in a state the chat cannot leave by itself,
// each as it is typed into a shell.
type Hints struct {
	Unreachable []string // starts what is not there
	Locked      []string // gets a key that is accepted
	NoModels    []string // makes a model, and checks it
	// Resume returns the command that continues a conversation later. The chat prints it
	// when it ends; nil prints nothing.
	Resume func(conversation string) string
	// Left is a sentence about the directory of the conversation, absolute, which is
	// printed when the chat ends; empty prints nothing. It may read files.
	Left func(dir string) string
}

// Leave returns the lines that are printed when a chat ends that has c.
func (h Hints) Leave(c Conversation) []string {
	var lines []string
	if c.Turns == 0 {
		return lines
	}
	if h.Resume != nil {
		lines = append(lines, "Continue later with: "+h.Resume(c.ID))
	}
	if h.Left != nil {
		if text := h.Left(c.Workspace); text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

// Start is how a chat begins.
type Start struct {
	Model string // empty: the first of the list
	// Find is not nil where Model is as the user typed it, because there was no list. It
	// gives the id that Model stands for in a list, or why there is none, for people. It
	// may read files, and is called outside of the session's goroutine.
	Find         func(ctx context.Context, models []gateway.Model) (id string, err error)
	Conversation string // empty: a new one
	System       string
	Text         string // asked at once when it is not empty
	Images       []Image
	Timeout      time.Duration // of each run; 0 is the gateway's own
	// Resumes is the directory that Conversation works in; empty: not known. With
	// Insists another one is an error.
	Resumes string
	Insists bool
	// Workspace is the directory, absolute, that new conversations work in; empty:
	// the gateway's choice.
	Workspace string
}

// Image is a picture that goes with a question.
type Image struct {
	Name    string // for people, e.g. the last part of its path
	DataURL string
	Size    int64 // bytes of the picture itself
}

// Label is the picture in a line.
func (i Image) Label() string { return safe.Line(i.Name) + " · " + human.Size(i.Size) }

// Recent keeps the conversations that there were, for a later chat to continue. Its
// methods are called outside of the session's goroutine.
type Recent interface {
	// List gives them, the latest first.
	List(ctx context.Context) ([]Conversation, error)
	// Remember adds c, or takes it in the place of the one with its ID.
	Remember(ctx context.Context, c Conversation) error
	// Rename gives the one with an ID another title.
	Rename(ctx context.Context, id, title string) error
	// Forget takes the one with an ID out of the list.
	Forget(ctx context.Context, id string) error
}

// Conversation is one that can be gone on with.
type Conversation struct {
	ID    string
	Model string
	Title string    // the beginning of its first question, one line
	Place string    // Place.Title of the chat that had it
	Turns int       // questions asked
	Used  time.Time // of the last question
	// Workspace is the directory that it works in; empty: not known.
	Workspace string
}
