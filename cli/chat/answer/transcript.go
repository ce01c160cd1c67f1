package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/gateway"
)

// Piece is a part of an answer as it is printed, once: what a connection that
// was found again repeats is left out.
type Piece struct {
	started *gateway.Started // the first time only
	queue   int              // how many come first; with waiting
	waiting bool
	lost    *gateway.Lost
	restart bool // what came so far is void: a different answer begins
	text    string
	line    string // of progress
	again   bool   // the line announces that the model is asked again
	phase   *gateway.Phase
}

// Transcript is what a turn has brought so far.
type Transcript struct {
	text     strings.Builder
	Progress []string // the lines of it

	begun bool
	queue int
	Speed Speed
	// What was shown before the connection was lost, and is repeated now.
	oldText  string
	oldLines int
}

// Add takes a piece and gives what of it is new.
func (t *Transcript) Add(p gateway.Piece) []Piece {
	switch p := p.(type) {
	case gateway.Started:
		if !t.begun {
			t.begun = true
			return []Piece{{started: &p}}
		}
		if t.text.Len() >= len(t.oldText) { // else that connection was lost in the middle of the repetition
			t.oldText = t.text.String()
		}
		t.oldLines = max(t.oldLines, len(t.Progress))
		t.text.Reset()
		t.Progress = nil
	case gateway.Waiting:
		if p.Queue != t.queue {
			t.queue = p.Queue
			return []Piece{{waiting: true, queue: p.Queue}}
		}
	case gateway.Lost:
		return []Piece{{lost: &p}}
	case gateway.Phase:
		t.Speed.add(p)
		return []Piece{{phase: &p}}
	case gateway.Text:
		return t.addText(string(p))
	case gateway.Progress:
		return t.addLine(Piece{line: string(p)})
	case gateway.Retry:
		if p.Line == "" { // the gateway shows no progress
			return []Piece{{again: true}}
		}
		return t.addLine(Piece{line: p.Line, again: true})
	}
	return nil
}

func (t *Transcript) addLine(p Piece) []Piece {
	t.Progress = append(t.Progress, p.line)
	if len(t.Progress) > t.oldLines {
		return []Piece{p}
	}
	return nil
}

func (t *Transcript) addText(text string) []Piece {
	from := t.text.Len()
	t.text.WriteString(text)
	if from >= len(t.oldText) {
		return []Piece{{text: text}}
	}
	n := min(len(text), len(t.oldText)-from)
	if text[:n] == t.oldText[from:from+n] {
		if n == len(text) {
			return nil
		}
		return []Piece{{text: text[n:]}}
	}
	// After a crash a gateway knows the answer only, not how it was written.
	t.oldText = ""
	return []Piece{{restart: true}, {text: t.text.String()}}
}

// Answer is the final answer: without what the agent said before it, and
// without the notice that ends the text.
func (t *Transcript) Answer(d gateway.Done) string {
	text := t.text.String()
	if d.TextBefore <= len(text) {
		text = text[d.TextBefore:]
	}
	if d.Notice != "" {
		text = strings.TrimSuffix(strings.TrimSuffix(text, d.Notice), "\n\n")
	}
	return text
}

// harmless takes out of a text what a terminal would obey, and leaves its lines.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, text)
}

// Sentence turns a sentence from outside into the message of an error: without its full
// stop, and in lower case unless it begins with a name.
func Sentence(s string) string {
	s = strings.TrimSuffix(strings.TrimSpace(s), ".")
	first, size := utf8.DecodeRuneInString(s)
	second, _ := utf8.DecodeRuneInString(s[size:])
	if unicode.IsUpper(first) && !unicode.IsUpper(second) {
		return string(unicode.ToLower(first)) + s[size:]
	}
	return s
}
