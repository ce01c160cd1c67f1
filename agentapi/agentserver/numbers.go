package agentserver

// numbers are the numbers of the events that came from a socket. Numbers count the
// log from 0.
type numbers struct {
	cursor int            // all up to it came, or need not come
	id     string         // of the event with that number; "" if unknown
	ahead  map[int]string // the ids of those that came after a gap
}

// beginAt forgets all that came and begins after a number.
func (n *numbers) beginAt(cursor int) { *n = numbers{cursor: cursor} }

// add notes an event that came.
func (n *numbers) add(seq int, id string) {
	if seq <= n.cursor {
		return
	}
	if n.ahead == nil {
		n.ahead = make(map[int]string)
	}
	n.ahead[seq] = id
	n.close()
}

// skip notes that nothing up to a number will come any more, and reports whether an
// event has not.
func (n *numbers) skip(through int) (skipped bool) {
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
func (n *numbers) close() {
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

// differ reports whether an event is not the one that came with the number of the
// cursor.
func (n *numbers) differ(seq int, id string) bool {
	return seq == n.cursor && n.id != "" && id != n.id
}
