package tui

import (
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/human"
	"github.com/ohgw/ohgw/tui/session"
)

// sheet is an answer that is written line by line. The zero value is empty.
type sheet struct {
	text    string // the answer so far
	written int    // bytes of text that are on the paper
	before  string // what is on the paper of an answer that begins again
	queue   int
	phase   string // of the call of the model
	lost    bool
	told    map[string]bool // actions, and results of them, that are on the paper
}

// came writes what a piece adds to the answer, as far as its lines are complete.
func (p *sheet) came(line func(string), piece gateway.Piece) {
	switch piece := piece.(type) {
	case gateway.Started:
		// An answer that begins again is not written again.
		if p.before == "" {
			p.before = p.text[:p.written]
		}
		p.text, p.written, p.lost = "", 0, false
	case gateway.Waiting:
		p.queued(line, piece.Queue)
	case gateway.Lost:
		if !p.lost {
			line("Connection lost, reconnecting.")
		}
		p.lost = true
	case gateway.Text:
		p.text += string(piece)
		if p.written == 0 {
			p.text = strings.TrimLeft(p.text, "\n")
		}
		p.flush(line, false)
	case gateway.Progress:
		p.flush(line, true)
		line("Working: " + string(piece))
	case gateway.Call:
		p.flush(line, true)
		p.called(line, session.ActionOf(piece))
	case gateway.Block:
		p.flush(line, true)
		p.refused(line, &session.Block{Block: piece})
	case gateway.Retry:
		p.flush(line, true)
		line("Waiting: " + retrying(piece, 0) + ".")
	case gateway.Phase:
		p.waits(line, piece)
	}
}

// queued writes the place of the question in the queue when it changes.
func (p *sheet) queued(line func(string), queue int) {
	if queue != p.queue && queue > 0 {
		line("Waiting in the queue: " + strconv.Itoa(queue) + " before this one.")
	}
	p.queue = queue
}

// waits says what the call of the model waits for: once, not for each percent.
func (p *sheet) waits(line func(string), phase gateway.Phase) {
	if phase.Name != p.phase && phase.Waits() != "" {
		line("Waiting: " + phase.Waits() + ".")
	}
	p.phase = phase.Name
}

// flush writes the lines that are complete, or all there is.
func (p *sheet) flush(line func(string), all bool) {
	if p.before != "" {
		switch {
		case strings.HasPrefix(p.text, p.before):
			p.written, p.before = len(p.before), ""
		case strings.HasPrefix(p.before, p.text) && !all:
			return // Not yet further than what is written.
		case !all || p.text != "":
			p.before = ""
			line("The answer starts again.")
		}
	}
	end := strings.LastIndexByte(p.text, '\n') + 1
	if all {
		end = len(p.text)
	}
	if end <= p.written {
		return
	}
	line(strings.TrimSuffix(p.text[p.written:end], "\n"))
	p.written = end
}

// ended writes the rest of the answer, and how it ended.
func (p *sheet) ended(line func(string), e session.End) {
	switch {
	case e.Stopped:
		p.flush(line, true)
		line("Stopped after " + human.Duration(e.Took) + ".")
	case e.Failure != nil:
		p.flush(line, true)
		line("Error: " + human.Sentence(e.Failure.Message))
		line("Next: " + e.Next)
	default:
		p.text = strings.TrimRight(p.text, "\n")
		p.written = min(p.written, len(p.text))
		p.flush(line, true)
		if notice := strings.TrimSpace(e.Notice); notice != "" && !strings.HasSuffix(p.text, notice) {
			line(notice)
		}
		how := strings.NewReplacer(" · ", ", ", " → ", " tokens in, ", " tokens", " out").Replace(e.Summary())
		line("Done: " + how + ".")
	}
}
