// Package sequence finds gaps and repetitions in what comes from the sockets of an
// agent-server: events with numbers, events with ids alone, and the pieces of a text.
// Its types keep no events and do no I/O. They are for one goroutine.
package sequence

// Numbers are the numbers of the events that came from a socket. Numbers count the
// log from 0.
type Numbers struct {
	cursor int            // all up to it came, or need not come
	id     string         // of the event with that number; "" if unknown
	ahead  map[int]string // the ids of those that came after a gap
}

// BeginAt forgets all that came and begins after a number.
func (n *Numbers) BeginAt(cursor int) { *n = Numbers{cursor: cursor} }

// Cursor is the number up to which all events came, or need not come.
func (n *Numbers) Cursor() int { return n.cursor }

// Known reports whether the id of the event at the cursor is known.
func (n *Numbers) Known() bool { return n.id != "" }

// Ahead is how many events came after a gap.
func (n *Numbers) Ahead() int { return len(n.ahead) }

// Add notes an event that came.
func (n *Numbers) Add(seq int, id string) {
	if seq <= n.cursor {
		return
	}
	if n.ahead == nil {
		n.ahead = make(map[int]string)
	}
	n.ahead[seq] = id
	n.close()
}

// Skip notes that nothing up to a number will come any more, and reports whether an
// event has not.
func (n *Numbers) Skip(through int) (skipped bool) {
	for n.cursor < through {
		n.cursor++
		id, came := n.ahead[n.cursor]
		n.id, skipped = id, skipped || !came
		delete(n.ahead, n.cursor)
	}
	n.close()
	return skipped
}

// close moves the cursor to the next gap.
func (n *Numbers) close() {
	for {
		id, came := n.ahead[n.cursor+1]
		if !came {
			return
		}
		n.cursor++
		n.id = id
		delete(n.ahead, n.cursor)
	}
}

// Differs reports whether an event is not the one that came with the number of the
// cursor.
func (n *Numbers) Differs(seq int, id string) bool {
	return seq == n.cursor && n.id != "" && id != n.id
}
