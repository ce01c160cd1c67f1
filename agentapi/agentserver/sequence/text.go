package sequence

// Delta is a piece of a text, as the session socket has it.
type Delta struct {
	// Item is the id of the event that the text will be in. Order counts the deltas
	// of an attempt from 0, Attempt the attempts from 1.
	Item    string `json:"item_id"`
	Attempt int    `json:"attempt"`
	Order   int    `json:"order"`
	Kind    string `json:"kind"` // "text" or Reasoning
	Content string `json:"content"`
}

// Reasoning is the kind of deltas of what the model thinks.
const Reasoning = "reasoning"

// Text is the text that the model writes: its deltas have the id of the event in which it
// ends. The zero value is not a text.
type Text struct {
	id      string
	attempt int
	next    int  // the order of the next delta
	texts   int  // deltas of text of this attempt that were delivered
	parted  bool // a blank line is due before the next piece of text
	cut     bool // a connection was lost since the last delta
	lossy   bool // a delta is missing: no more are delivered
}

const gap = "\n\n"

// Interrupted notes that deltas may be missing from now on.
func (i *Text) Interrupted() { i.cut = true }

// Taken notes that an event has the pieces before it.
func (i *Text) Taken() { i.parted, i.texts = false, 0 }

// Add takes in a delta and reports whether it is to be delivered. With open false, or
// for an event that was delivered, it is not. A text that no event has taken, of an
// attempt that failed, is followed by a blank line, as in the embedded agent.
func (i *Text) Add(f *Delta, open bool, delivered func(id string) bool) bool {
	switch {
	case f.Item != i.id:
		parted := i.parted || i.texts > 0 && !delivered(i.id)
		*i = Text{id: f.Item, attempt: 1, parted: parted}
	case f.Attempt == i.attempt+1 && f.Order == 0 && !i.cut:
		// The server takes a new id of the provider's answer for a new attempt, and some
		// providers have one for each chunk: then an attempt is a single delta.
		i.parted = i.parted || i.texts > 1
		i.attempt, i.next, i.texts = f.Attempt, 0, 0
	}
	i.lossy = i.lossy || !open || f.Attempt != i.attempt || f.Order != i.next || delivered(f.Item)
	i.next, i.cut = f.Order+1, false
	if i.lossy {
		return false
	}
	if f.Kind != Reasoning {
		if i.parted {
			f.Content = gap + f.Content
		}
		i.parted = false
		i.texts++
	}
	return true
}
