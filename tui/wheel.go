package tui

import (
	"time"
)

// wheel distinguishes the wheel of a mouse from arrow keys. Terminals turn the wheel of a
// mouse that no program captures into arrow keys, at least three at once. No user presses
// keys that fast.
type wheel struct {
	do      action
	at      time.Time
	count   int // of the same, at the pace of a wheel
	rolling bool
	before  written // what there was before the first of them
}

const (
	// wheelPace is less than the time between two repetitions of a held key.
	wheelPace = 15 * time.Millisecond
	// wheelFade is how slow a gesture on a touchpad may become at its end.
	wheelFade = 150 * time.Millisecond
	// wheelCount is how many arrows are the wheel.
	wheelCount = 3
)

// arrow takes an arrow key, and gives how many lines it scrolls down; none if it
// was pressed. can reports whether there is something to scroll. What the first
// arrows of a wheel did to the input is taken back.
func (w *wheel) arrow(do action, now time.Time, in *composer, can func(down bool) bool) (lines int) {
	pace := wheelPace
	if w.rolling {
		pace = wheelFade
	}
	if w.do == do && now.Sub(w.at) < pace {
		w.count++
	} else {
		*w = wheel{do: do, count: 1, before: in.written()}
	}
	w.at = now
	lines = 1
	if !w.rolling {
		if w.count < wheelCount || !can(do == later) {
			return 0
		}
		w.rolling, lines = true, w.count
		in.undo(w.before)
	}
	if do == earlier {
		return -lines
	}
	return lines
}
