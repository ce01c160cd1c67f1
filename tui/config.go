package tui

import (
	"context"
	"io"
	"os/exec"
	"time"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/session"
)

// Config is all that a chat needs of the world. Endpoint, In, Out, NewID and
// Now are required. A nil function disables its command; the chat says so when
// the command is used.
type Config struct {
	Endpoint gateway.Endpoint
	Place    Place
	Hints    Hints

	In      io.Reader
	Out     io.Writer
	Environ []string // "NAME=value"; TERM, COLORTERM, NO_COLOR and LANG matter
	NoColor bool     // no colours, whatever Environ says
	Theme   Theme    // the zero Theme is Auto
	Vim     bool     // the input has the keys of vi
	Notify  bool     // of the end of a long turn, where the user looks elsewhere
	Mouse   bool     // clicks and the wheel are the chat's from the start
	Plain   bool     // line by line, for screen readers: no screen, no cursor movement

	// Interrupt brings a value for each Ctrl+C while Plain; on a screen that is
	// a key like others. Nil: Ctrl+C is the caller's, who ends ctx.
	Interrupt <-chan struct{}

	Start Start

	NewID func() string // a fresh UUID, the id of a conversation
	Now   func() time.Time

	// Recent keeps the conversations; nil keeps none.
	Recent Recent
	// Locate describes the directory of a conversation; "" is one of the gateway's
	// choice. It may read files.
	Locate func(dir string) Where
	// History returns what was said in conversations, and removes them; nil where the
	// gateway cannot do that.
	History gateway.History
	// Guard is the sandbox of the agents; nil where its state is unknown and no decision
	// is possible.
	Guard gateway.Guard
	// Local is the directory of the conversation, if it is on this machine; nil: no
	// files are completed, and no commands run.
	Local Local
	// Store keeps a setting of the chat for later chats: "theme" with a string,
	// "mouse", "vim" and "notify" with a bool.
	Store func(key string, value any) error
	// Lend keeps Ctrl+C from ending ctx while another program has the terminal,
	// until giveBack is called. Nil where Ctrl+C does not end ctx.
	Lend func() (giveBack func())
	// AddModel is the command that asks for a new model and its key. It gets the
	// terminal while it runs.
	AddModel func() (*exec.Cmd, error)
	// Edit puts a text where an editor finds it. It is called outside of the
	// event loop, and the editor gets the terminal while it runs.
	Edit func(text string) (*Draft, error)
	// Copy puts a text into the clipboard of the system. The terminal is asked
	// to do the same (OSC 52), so no Copy is not a loss on most of them.
	Copy func(ctx context.Context, text string) error
	// ReadImage makes an attachment of the file at path, which may begin with ~.
	ReadImage func(ctx context.Context, path string) (Image, error)
	// PasteImage makes an attachment of the picture in the clipboard.
	PasteImage func(ctx context.Context) (Image, error)
	// ReadPicture reads a picture of the agent's machine. Nil: that is another machine, and
	// no pictures are shown.
	ReadPicture func(path string) ([]byte, error)
	// Save writes text to the file at path, which may begin with ~, overwrites
	// nothing, and tells where it wrote.
	Save func(ctx context.Context, path, text string) (string, error)
}

// What a chat is about, for those who make a Config.
type (
	// Place is where the questions go, in words for a person.
	Place = session.Place
	// Where is the directory of a conversation, for people.
	Where = session.Where
	// Hints are commands that help in a state the chat cannot leave by itself.
	Hints = session.Hints
	// Start is how a chat begins.
	Start = session.Start
	// Image is a picture that goes with a question.
	Image = session.Image
	// Local is the directory of a conversation on this machine.
	Local = session.Local
	// File is a file that a question refers to.
	File = session.File
	// Recent stores the recent conversations.
	Recent = session.Recent
	// Conversation is one that can be gone on with.
	Conversation = session.Conversation
)

// Draft is a text in the hands of an editor.
type Draft struct {
	Cmd *exec.Cmd
	// Read gives the text as the editor left it and takes the file away. It is
	// called once, also when the editor failed.
	Read func() (string, error)
}

// session is what both views need of the world. again and models are how a user
// of the view asks again and sees the models; redials is whether the view looks
// for a gateway that was lost.
func (c Config) session(again, models string, redials bool) session.Config {
	return session.Config{
		Endpoint: c.Endpoint, Place: c.Place, Hints: c.Hints, Start: c.Start, NewID: c.NewID, Now: c.Now,
		Recent: c.Recent, Locate: c.Locate, History: c.History, Guard: c.Guard, Local: c.Local, ReadImage: c.ReadImage, Save: c.Save, Again: again, Models: models, Redials: redials,
	}
}
