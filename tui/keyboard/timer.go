package keyboard

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// arm starts the timer for what is alone if nothing follows.
func (r *Reader) arm() {
	var wait time.Duration
	switch {
	case r.closed || r.send == nil:
		return
	case len(r.burst) > 0 && len(r.held) > 1: // The line is slow: the paste may go on behind it.
		wait = pieceTime
	case len(r.burst) > 0 && len(r.held)+len(r.reports) > 0:
		wait = answerTime
	case len(r.burst) > 0:
		wait = burstTime
	case len(r.held) != 1 || r.pasting:
		return
	case r.now().Sub(r.began) < dueTime:
		wait = answerTime
	default:
		wait = escTime
	}
	r.turn++
	turn := r.turn
	r.wait.Add(1)
	r.timer = time.AfterFunc(wait, func() {
		defer r.wait.Done()
		if msg, send := r.alone(turn); msg != nil {
			send(msg)
		}
	})
}

// stop stops the timer. One that has fired already finds that its turn is over.
func (r *Reader) stop() {
	r.turn++
	if r.timer != nil && r.timer.Stop() {
		r.wait.Done()
	}
	r.timer = nil
}

// alone takes what nothing follows: a paste, or an Esc.
func (r *Reader) alone(turn int) (tea.Msg, func(tea.Msg)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if turn != r.turn || r.closed {
		return nil, nil
	}
	r.timer = nil
	if text := r.burst; len(text) > 0 {
		r.burst = nil
		r.arm() // for an Esc behind it
		return tea.PasteMsg{Content: string(text)}, r.send
	}
	r.held, r.escAt = nil, r.now()
	return tea.KeyPressMsg{Code: tea.KeyEscape}, r.send
}
