package answer

import (
	"fmt"
	"io"
	"strings"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/netcause"
	"github.com/ohgw/ohgw/internal/plainjson"
	"github.com/ohgw/ohgw/setup"
)

// ForPeople prints an answer for people; live: each piece at once, else the answer at the
// end. Where nothing comes for a while, it says what ohgw waits for.
func ForPeople(app *kit.App, live bool) Show {
	return speak(app, &textAnswer{App: app, live: live})
}

// textAnswer prints an answer for people: the text to stdout, the rest to
// stderr.
type textAnswer struct {
	*kit.App

	live    bool   // each piece at once, else the answer at the end
	open    bool   // the last line on stdout has not ended
	parted  bool   // what was printed last is not a part of the text
	pending string // of the text: what the agent says on its way, until it is known as that
}

// Piece implements [Show].
func (t *textAnswer) Piece(p Piece) error {
	switch {
	case p.started != nil:
		if names := p.started.Ignored; len(names) > 0 {
			t.Note("note: %s had no effect", setup.Clean(strings.Join(names, ", ")))
		}
	case p.waiting && p.queue > 0:
		return t.aside(fmt.Sprintf("waiting: %d requests ahead of this one", p.queue))
	case p.lost != nil:
		return t.aside(fmt.Sprintf("the connection was lost (%s); trying again", setup.Clean(netcause.Of(p.lost.Err).Error())))
	case p.restart:
		t.pending = ""
		return t.aside("the answer starts again from its beginning")
	case p.line != "":
		if said := strings.TrimSpace(t.pending); said != "" {
			t.pending = ""
			if err := t.aside(harmless(said)); err != nil {
				return err
			}
		}
		return t.aside(setup.Clean(p.line))
	case p.text != "" && t.live:
		if t.parted {
			p.text = strings.TrimLeft(p.text, "\n") // the paragraphs are parted already
		}
		t.parted = t.parted && p.text == ""
		return t.write(p.text)
	case p.text != "":
		t.pending += p.text
	}
	return nil
}

// cutOff is said of an answer that is not whole.
const cutOff = "The answer was cut off: the model reached its length limit."

// aside prints a line that is not a part of the answer.
func (t *textAnswer) aside(line string) error {
	if t.Quiet {
		return nil
	}
	if t.open && t.Stdout.TTY() { // both are one screen
		if err := t.write("\n"); err != nil {
			return err
		}
	}
	t.parted = t.Stdout.TTY() && t.Stderr.TTY()
	t.Note("%s", t.Stderr.Styled(iostream.Faint, line))
	return nil
}

func (t *textAnswer) write(text string) error {
	if t.Stdout.TTY() {
		text = harmless(text)
	}
	if text != "" {
		t.open = !strings.HasSuffix(text, "\n")
	}
	return kit.Put(t.Stdout, text)
}

// End implements [Show].
func (t *textAnswer) End(turn Turn, whole bool) error {
	if !t.live && whole {
		if err := t.write(turn.Answer); err != nil {
			return err
		}
		if turn.Notice != "" {
			t.Note("%s", harmless(turn.Notice))
		}
	}
	if t.open {
		if err := t.write("\n"); err != nil {
			return err
		}
	}
	if whole && turn.Notice == "" && turn.Finish == "length" {
		return t.aside(cutOff)
	}
	return nil
}

// putJSON writes a document to stdout in a single write.
func putJSON(w io.Writer, v any, indent string) error {
	text, err := plainjson.Indent(v, "", indent)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return kit.Put(w, string(text)+"\n")
}
