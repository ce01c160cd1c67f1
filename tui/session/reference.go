package session

import (
	"context"
	"io"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/wrap"
)

// Local is what this machine has of the directory that a conversation works in.
// Its methods are called outside of the session's goroutine.
type Local interface {
	// Names lists what is below dir, as paths with slashes; those of directories
	// end with a slash. hidden: also names that begin with a dot. cut: there are
	// more.
	Names(ctx context.Context, dir string, hidden bool) (names []string, cut bool, err error)
	// Find finds the file or directory that path names, as it was written: it is
	// absolute, below dir, or begins with ~. ok is false if there is none.
	Find(dir, path string) (f File, ok bool)
	// Run runs a command line in dir and writes its output to out. The end of ctx
	// ends it; code is then -1, and the error that of ctx.
	Run(ctx context.Context, dir, line string, out io.Writer) (code int, err error)
}

// File is a file or a directory that a question refers to.
type File struct {
	Path    string // absolute
	Picture bool   // it goes with the question as a picture
}

// Limits of the references in a question: a long text that was pasted has signs
// that are not meant.
const (
	maxReferring  = 64 << 10 // bytes of text
	maxReferences = 50
)

// mention is a path in a question: the bytes from begin, before end.
type mention struct {
	begin, end int
	path       string
}

// mentions finds the paths after a sign @ that begins a word. A path in quotation
// marks may have spaces.
func mentions(text string) []mention {
	var found []mention
	for i := 0; i < len(text) && len(found) < maxReferences; i++ {
		if text[i] != '@' || i > 0 && !strings.ContainsRune(" \t\n([{\"'`", rune(text[i-1])) {
			continue
		}
		rest := text[i+1:]
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			if n := strings.IndexAny(quoted, "\"\n"); n > 0 && quoted[n] == '"' {
				found = append(found, mention{i, i + n + 3, quoted[:n]})
			}
			continue
		}
		n := strings.IndexAny(rest, " \t\n")
		if n < 0 {
			n = len(rest)
		}
		if n > 0 {
			found = append(found, mention{i, i + 1 + n, rest[:n]})
		}
	}
	return found
}

// Mention is how a path is written in a question.
func Mention(path string) string {
	if strings.ContainsAny(path, " \t") {
		return `@"` + path + `"`
	}
	return "@" + path
}

// Files are the files of the conversation's directory that questions refer to.
type Files struct{ *core }

// mentioned reports whether a text may refer to files of dir.
func (s Files) mentioned(dir, text string) bool {
	return s.cfg.Local != nil && dir != "" && len(text) <= maxReferring && len(mentions(text)) > 0
}

// referredMsg is a question with the files it refers to.
type referredMsg struct {
	id     int
	text   string
	images []Image
	err    error // the first picture that could not be read
}

// refer replaces each mention of a file of dir in a question by its absolute path, and
// reads the pictures among them.
func (s Files) refer(dir string, o Outgoing) tea.Cmd {
	ctx, local, read := s.ctx, s.cfg.Local, s.cfg.ReadImage
	return func() tea.Msg {
		msg := referredMsg{id: o.id, text: o.Text}
		for _, m := range slices.Backward(mentions(o.Text)) {
			f, end, ok := find(local, dir, m)
			if !ok {
				continue
			}
			path := f.Path
			if strings.ContainsAny(path, " \t") {
				path = `"` + path + `"`
			}
			msg.text = msg.text[:m.begin] + path + msg.text[end:]
			if !f.Picture || read == nil {
				continue
			}
			if img, err := read(ctx, f.Path); err == nil {
				msg.images = append([]Image{img}, msg.images...)
			} else {
				msg.err = err
			}
		}
		return msg
	}
}

// find finds what a mention names; end is where it ends. Signs that end a
// sentence may follow a path.
func find(local Local, dir string, m mention) (f File, end int, ok bool) {
	if f, ok := local.Find(dir, m.path); ok {
		return f, m.end, true
	}
	short := strings.TrimRight(m.path, ".,;:!?)]}\"'`")
	if short == "" || short == m.path {
		return File{}, 0, false
	}
	f, ok = local.Find(dir, short)
	return f, m.begin + 1 + len(short), ok
}

// referred takes in a question with its files.
func (s *Session) referred(msg referredMsg) tea.Cmd {
	s.referring = false
	i := slices.IndexFunc(s.Queue, func(o Outgoing) bool { return o.id == msg.id })
	if i < 0 {
		return s.Next() // It was given back meanwhile.
	}
	o := &s.Queue[i]
	o.Sent, o.unread = msg.text, false
	o.Images = append(o.Images, msg.images...)
	var said tea.Cmd
	if msg.err != nil {
		said = s.view.Say("picture not attached: " + wrap.Cut(msg.err.Error(), MaxCause))
	}
	return tea.Batch(said, s.Next())
}

// NamesMsg is the list of the files to refer to, or why there is none.
type NamesMsg struct {
	Dir    string
	Hidden bool
	Names  []string
	Cut    bool
	Err    error
}

// Names lists the files of dir, the conversation's directory; nil if there are none
// on this machine.
func (s Files) Names(dir string, hidden bool) tea.Cmd {
	ctx, local := s.ctx, s.cfg.Local
	if local == nil || dir == "" {
		return nil
	}
	return func() tea.Msg {
		names, cut, err := local.Names(ctx, dir, hidden)
		return NamesMsg{dir, hidden, names, cut, err}
	}
}
