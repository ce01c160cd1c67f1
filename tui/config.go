package tui

import (
	"context"
	"io"
	"os/exec"
	"time"

	"github.com/ohgw/ohgw/internal/gateway"
)

// Config is all that a chat needs of the world. Endpoint, In, Out, NewID and
// Now are required; a nil function takes away what it is for, and the chat
// says so when somebody asks for it.
type Config struct {
	Endpoint gateway.Endpoint
	Place    Place
	Hints    Hints

	In      io.Reader
	Out     io.Writer
	Environ []string // "NAME=value"; TERM, COLORTERM, NO_COLOR and LANG matter
	NoColor bool     // no colours, whatever Environ says
	Plain   bool     // line by line, for screen readers: no screen, no cursor movement

	// Interrupt brings a value for each Ctrl+C while Plain; on a screen that is
	// a key like others. Nil: Ctrl+C is the caller's, who ends ctx.
	Interrupt <-chan struct{}

	Start Start

	NewID func() string // a fresh UUID, the id of a conversation
	Now   func() time.Time

	// Recent keeps the conversations; nil keeps none.
	Recent Recent
	// Edit puts a text where an editor finds it. It is called outside of the
	// event loop, and the editor gets the terminal while it runs.
	Edit func(text string) (*Draft, error)
	// Copy puts a text into the clipboard of the system. The terminal is asked
	// to do the same (OSC 52), so no Copy is no loss on most of them.
	Copy func(ctx context.Context, text string) error
	// ReadImage makes an attachment of the file at path, which may begin with ~.
	ReadImage func(ctx context.Context, path string) (Image, error)
	// PasteImage makes an attachment of the picture in the clipboard.
	PasteImage func(ctx context.Context) (Image, error)
	// Save writes text to the file at path, which may begin with ~, overwrites
	// nothing, and tells where it wrote.
	Save func(ctx context.Context, path, text string) (string, error)
}

// Place is where the questions go, in words for a person.
type Place struct {
	Title   string // "127.0.0.1:6449", "in this process"
	Backend string // "agent-server", "embedded", ...; empty when nobody knows
	Notice  string // shown at the start, e.g. that a daemon was started here
	Demo    bool   // the answers are scripted
}

// Hints are commands that help in a state the chat cannot leave by itself,
// each as it is typed into a shell.
type Hints struct {
	Unreachable []string // starts what is not there
	Locked      []string // gets a key that is accepted
	NoModels    []string // makes a model, and checks it
	// Resume is the command that goes on with a conversation later. It is
	// printed when the chat ends; nil prints nothing.
	Resume func(conversation string) string
}

// Start is how a chat begins.
type Start struct {
	Model        string // empty: the first of the list
	Conversation string // empty: a new one
	System       string
	Text         string // asked at once when it is not empty
	Images       []Image
	Timeout      time.Duration // of each run; 0 is the gateway's own
}

// Image is a picture that goes with a question.
type Image struct {
	Name    string // for people, e.g. the last part of its path
	DataURL string
	Size    int64 // bytes of the picture itself
}

// Draft is a text in the hands of an editor.
type Draft struct {
	Cmd *exec.Cmd
	// Read gives the text as the editor left it and takes the file away. It is
	// called once, also when the editor failed.
	Read func() (string, error)
}

// Recent keeps what conversations there were, for a later chat to go on with.
// Its methods are called outside of the event loop.
type Recent interface {
	// List gives them, the latest first.
	List(ctx context.Context) ([]Conversation, error)
	// Remember adds c, or takes it in the place of the one with its ID.
	Remember(ctx context.Context, c Conversation) error
}

// Conversation is one that can be gone on with.
type Conversation struct {
	ID    string
	Model string
	Title string    // the beginning of its first question, one line
	Place string    // Place.Title of the chat that had it
	Turns int       // questions asked
	Used  time.Time // of the last question
}
