package moving

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Target is the account that a conversation goes to.
type Target interface {
	Get(ctx context.Context, id string) (account.Conversation, error)
	Start(ctx context.Context, r account.StartRequest, report func(account.Progress)) (account.Conversation, error)
	Wake(ctx context.Context, id string, report func(account.Progress)) (account.Runtime, error)
	Fill(ctx context.Context, id string, archive io.Reader) error
	Send(ctx context.Context, id, text string, images []string) error
	Note(ctx context.Context, id, text string) error
	Events(ctx context.Context, id string, q account.EventQuery) (account.EventPage, error)
	Rename(ctx context.Context, id, title string) error
}

// Push starts a conversation on a server that continues one of this machine.
type Push struct {
	From   control.Library
	To     Target
	Server string // its name
	ID     string // of the conversation here

	Files   *Files               // nil: none
	Start   account.StartRequest // repository, branch, profile, model and title of the new one
	Message string               // what the agent does there; "": nothing yet
	Go      bool                 // with a push that was not finished
	// State is the directory where a push that was not finished is remembered.
	State string

	Now    func() time.Time
	Report func(account.Progress)
	// Watch sees what leaves.
	Watch func(name string, size int64, from io.Reader) io.Reader
}

// The steps of a push, each of which is noted before it is made.
const (
	stepStart = "start" // the start was sent
	stepFiles = "files" // the conversation is there; its files are sent
	stepSay   = "say"   // the message was sent
	stepTitle = "title" // everything is there but the title
)

// Unfinished is a push that ended in the middle.
type Unfinished struct {
	New    string    `json:"id"` // of the conversation there
	Server string    `json:"server"`
	Step   string    `json:"step"`
	At     time.Time `json:"at"`
}

// UnfinishedError is a failure after which a conversation may be on the server.
type UnfinishedError struct {
	Unfinished

	Err error
}

// Error is what the push says.
func (e *UnfinishedError) Error() string {
	return "the push to " + e.Server + " is not finished: " + e.Err.Error()
}

// Unwrap is the cause.
func (e *UnfinishedError) Unwrap() error { return e.Err }

// shownAfter is how long a server may take until it shows an event.
const shownAfter = 35 * time.Second

func (p *Push) note() string { return filepath.Join(p.State, p.ID+".json") }

// Begun is the push of this conversation that was not finished; nil: there is none.
func (p *Push) Begun() (*Unfinished, error) {
	data, err := os.ReadFile(p.note())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var u Unfinished
	if err == nil {
		err = json.Unmarshal(data, &u)
	}
	if err != nil {
		return nil, fault.New("what is known of an unfinished push cannot be read: "+p.note(), "look for its conversation: ohgw conversations list --server "+p.Server+"; then remove the file", err)
	}
	return &u, nil
}

// Run does it and gives the id of the new conversation. One start is sent for a push,
// however often it is run. A failure after it is an UnfinishedError, and a Run with Go
// goes on.
func (p *Push) Run(ctx context.Context) (id string, err error) {
	if err := paths.MakePrivate(p.State); err != nil {
		return "", unwritable(p.State, err)
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(p.State, p.ID+".lock"), filelock.Options{Timeout: -1, Mode: 0o600})
	if busy, ok := errors.AsType[*filelock.BusyError](err); ok {
		return "", &fault.Error{Msg: "another process is pushing this conversation: " + busy.Holder.String(), Hint: "wait until it is done", Code: fault.Conflict, Err: err}
	}
	if err != nil {
		return "", unwritable(p.State, err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	begun, err := p.Begun()
	switch {
	case err != nil:
		return "", err
	case begun != nil && (!p.Go || begun.Server != p.Server):
		return "", Refused(p.ID, begun)
	case begun == nil:
		begun = &Unfinished{New: uuid.New(), Server: p.Server}
	}
	said, err := history(ctx, p.From, p.ID)
	if err != nil {
		return "", err
	}
	if err := p.steps(ctx, begun, said); err != nil {
		return "", err
	}
	return begun.New, os.Remove(p.note())
}

// Refused says that a push was not finished.
func Refused(id string, u *Unfinished) error {
	return &fault.Error{
		Msg:  "a push of this conversation to the server " + u.Server + " was not finished",
		Hint: fmt.Sprintf("go on: ohgw conversations push %s --server %s --continue", id, u.Server), Code: fault.Conflict,
	}
}

// steps makes the steps that are missing.
func (p *Push) steps(ctx context.Context, u *Unfinished, said string) error {
	title, err := p.start(ctx, u)
	if err != nil {
		return err
	}
	broken := func(err error) error { return &UnfinishedError{*u, err} }
	if u.Step == stepFiles {
		if _, err := p.To.Wake(ctx, u.New, p.Report); err != nil {
			return broken(err)
		}
		if err := p.send(ctx, u.New, said); err != nil {
			return broken(err)
		}
	}
	if u.Step != stepTitle {
		if err := p.say(ctx, u, said); err != nil {
			return broken(err)
		}
	}
	if title == "" {
		return nil
	}
	if err := p.To.Rename(ctx, u.New, title); err != nil {
		return broken(err)
	}
	return nil
}

// start starts the conversation, unless it is there, and gives its title.
func (p *Push) start(ctx context.Context, u *Unfinished) (title string, err error) {
	record, err := p.From.Record(ctx, p.ID)
	if err != nil {
		return "", err //nolint:wrapcheck // its own error
	}
	if record.Status == event.Running {
		return "", &fault.Error{Msg: "the agent is running", Hint: "wait for the end of its run, or stop it, and push again", Code: fault.Conflict}
	}
	title = cmp.Or(p.Start.Title, record.Title)
	if u.Step != "" {
		switch _, err := p.To.Get(ctx, u.New); {
		case errors.Is(err, account.ErrNotFound) && u.Step != stepStart:
			u.New, u.Step = uuid.New(), "" // somebody has removed it
		case errors.Is(err, account.ErrNotFound) && p.Now().Sub(u.At) < startGrace:
			return "", &UnfinishedError{*u, fault.New("the conversation may still be starting on the server", "look again in some minutes, with --continue", err)}
		case errors.Is(err, account.ErrNotFound):
			u.Step = "" // the same id: the server has it once at the most
		case err != nil:
			return "", &UnfinishedError{*u, err}
		case u.Step == stepStart:
			return title, p.reached(u, stepFiles)
		default:
			return title, nil
		}
	}
	if err := p.reached(u, stepStart); err != nil {
		return "", err
	}
	req := p.Start
	req.ID, req.Text, req.Title = u.New, "", title
	made, err := p.To.Start(ctx, req, p.Report)
	switch {
	case errors.Is(err, account.ErrUncertain):
		return "", &UnfinishedError{*u, err}
	case err != nil:
		return "", errors.Join(err, os.Remove(p.note())) // Nothing of it is there.
	}
	u.New = made.ID
	return title, p.reached(u, stepFiles)
}

// startGrace is how long after a start its conversation may still appear.
const startGrace = 6 * time.Minute

// reached notes the step that is made next.
func (p *Push) reached(u *Unfinished, step string) error {
	u.Step, u.At = step, p.Now()
	data, err := json.Marshal(u)
	if err == nil {
		err = atomicfile.Write(p.note(), data, atomicfile.Options{MaxMode: 0o600})
	}
	if err != nil {
		return unwritable(p.note(), err)
	}
	return nil
}

// The names of the history in the workspace. Git does not see it.
const (
	historyDir  = ".ohgw-history"
	HistoryFile = historyDir + "/history.md"
)

// send sends the files and the history, which are packed meanwhile.
func (p *Push) send(ctx context.Context, id, said string) error {
	files := p.Files
	if files == nil {
		files = &Files{}
	}
	packing, cancel := context.WithCancel(ctx)
	defer cancel()
	more := []extra{{HistoryFile, said}, {historyDir + "/.gitignore", "*\n"}}
	plain, plainEnd := io.Pipe()
	packed, packedEnd := io.Pipe()
	done := make(chan error, 2)
	go func() {
		err := files.pack(packing, plainEnd, more)
		_ = plainEnd.CloseWithError(err) // It never fails.
		done <- err
	}()
	go func() {
		z, _ := gzip.NewWriterLevel(packedEnd, gzip.BestSpeed) // The level is one.
		_, err := io.Copy(z, p.Watch("workspace", files.size()+int64(len(said)), plain))
		err = errors.Join(err, z.Close())
		_ = errors.Join(packedEnd.CloseWithError(err), plain.CloseWithError(io.ErrClosedPipe)) // They never fail.
		done <- nil
	}()
	err := p.To.Fill(ctx, id, packed)
	cancel()
	_ = packed.CloseWithError(io.ErrClosedPipe) // It never fails.
	packErr := errors.Join(<-done, <-done)
	if own, ok := errors.AsType[*fault.Error](packErr); ok {
		return own // The transfer ended because of it.
	}
	return err
}

// maxEnd is how much of the history is in the message, in bytes.
const maxEnd = 8 << 10

// say sends the message that tells the agent there what was before. Without a message
// of the user it starts no run.
func (p *Push) say(ctx context.Context, u *Unfinished, said string) error {
	if u.Step == stepSay {
		page, err := p.To.Events(ctx, u.New, account.EventQuery{Kind: "MessageEvent"})
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			if e.Source == "user" {
				return p.reached(u, stepTitle)
			}
		}
		if p.Now().Sub(u.At) < shownAfter {
			return fault.New("the server does not yet show whether it has the message", "wait half a minute, and repeat the command with --continue", nil)
		}
	}
	if err := p.reached(u, stepSay); err != nil {
		return err
	}
	text, err := p.context(ctx, said)
	if err != nil {
		return err
	}
	if p.Message == "" {
		err = p.To.Note(ctx, u.New, text)
	} else {
		err = p.To.Send(ctx, u.New, text, nil)
	}
	switch {
	case err == nil:
		return p.reached(u, stepTitle)
	case errors.Is(err, account.ErrUncertain):
		return err
	}
	return errors.Join(err, p.reached(u, stepFiles)) // It did not arrive.
}

// context is the first message.
func (p *Push) context(ctx context.Context, said string) (string, error) {
	record, err := p.From.Record(ctx, p.ID)
	if err != nil {
		return "", err //nolint:wrapcheck // its own error
	}
	text := "This conversation continues one that another agent had on another machine"
	if record.Title != "" {
		text += ", about: " + record.Title
	}
	text += ".\n\n"
	if dir := Directory(record); dir != "" && p.Files != nil {
		text += "Its files are in your working directory; there they were in " + dir + ".\n"
	}
	text += "What was said and done is in " + HistoryFile + " in your working directory; read it where you need more than this.\n"
	if said != "" {
		text += "\nThe end of it:\n\n" + end(said, maxEnd)
	}
	if p.Message != "" {
		text += "\n---\n\n" + p.Message
	}
	return text, nil
}

// Directory is where a conversation of this machine works.
func Directory(r control.Record) string {
	var s stored
	_ = json.Unmarshal(r.State, &s) // what cannot be read has none
	return s.Workspace.WorkingDir
}

// Kept are the names of what a conversation of this machine has and no push takes.
type Kept struct {
	Secrets, Servers []string
	Waits            bool // actions wait for a confirmation
}

// KeptOf reads them.
func KeptOf(r control.Record) Kept {
	var s stored
	_ = json.Unmarshal(r.State, &s) // what cannot be read has none
	return Kept{names(s.Secrets.Sources), s.servers(), r.Status == event.Waiting}
}
