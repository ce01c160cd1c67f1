package chats

import "slices"

// maxSteps bounds the pairs of a round and a turn that one [Reconcile]
// compares one by one, after all of them were compared 64 at a time. Only
// chats beyond all measure come near it, and lose the best of equal places.
const maxSteps = 1 << 19

// aligner lays one history over the turns of several branches. It compares an
// round with 64 turns at a time: bit j of a row says that turn j matches.
type aligner struct {
	history []Round
	prove   bool

	users, answers     map[Digest]int // the rows of each text of the history
	userRow, answerRow []int          // the same for each round; -1: no text
	steps              int            // compared one by one

	// For one branch:
	words        int      // of a row
	byUser       []uint64 // rows: the turns with a message of the user
	byAnswer     []uint64 // rows: the turns with an answer
	fits, proven []uint64
	valid        []uint64 // of the last round that has a place
}

func newAligner(history []Round, prove bool) *aligner {
	a := &aligner{history: history, prove: prove, users: make(map[Digest]int), answers: make(map[Digest]int)}
	number := func(m map[Digest]int, d Digest) int {
		if d == "" {
			return -1
		}
		n, known := m[d]
		if !known {
			n = len(m)
			m[d] = n
		}
		return n
	}
	for _, e := range history {
		a.userRow = append(a.userRow, number(a.users, e.User))
		a.answerRow = append(a.answerRow, number(a.answers, e.Answer))
	}
	return a
}

// align finds the best place for the history in the turns of a branch that is
// at least as good as one with so many rounds known.
func (a *aligner) align(turns []Turn, atLeast int) alignment {
	rows := a.index(turns)
	rest := a.lastPlace()
	if rest == 0 || rest < atLeast {
		return alignment{}
	}
	best := alignment{}
	consider := func(end int) {
		if a.valid[(end-1)/64]>>((end-1)%64)&1 == 0 {
			return
		}
		if c := a.walk(len(turns), rest, end); c.betterThan(best) || c.score == best.score && c.whole == best.whole && c.end > best.end {
			best = c
		}
	}
	if rest <= len(turns) {
		consider(rest) // where both begin with the first message: the usual place
	}
	for end := len(turns); end > 0; end-- {
		most := min(rest, end) // how many can match, and how well
		score := most*int(byUser) + min(most, rows)*int(byBoth-byUser)
		if best.run > 0 && (a.steps > maxSteps || best.beats(score, end)) {
			break
		}
		if end != rest {
			consider(end)
		}
	}
	return best
}

// beats reports whether no place at end or before it is better than a, if it has
// that score at most.
func (a alignment) beats(score, end int) bool {
	return score < a.score || score == a.score && (a.whole || a.end > end)
}

// index notes which turns have which texts of the history, and gives the
// number of rounds whose answer any of them has.
func (a *aligner) index(turns []Turn) (answered int) {
	a.words = (len(turns) + 63) / 64
	a.byUser = zeroed(a.byUser, len(a.users)*a.words)
	a.byAnswer = zeroed(a.byAnswer, len(a.answers)*a.words)
	found := make([]bool, len(a.answers))
	mark := func(d Digest, j int) {
		if row, known := a.answers[d]; known {
			a.byAnswer[row*a.words+j/64] |= 1 << (j % 64)
			found[row] = true
		}
	}
	for j := range turns {
		t := &turns[j]
		if row, known := a.users[t.User]; known {
			a.byUser[row*a.words+j/64] |= 1 << (j % 64)
		}
		for _, d := range t.Answers {
			mark(d, j)
		}
		mark(t.partial, j)
	}
	for _, row := range a.answerRow {
		if row >= 0 && found[row] {
			answered++
		}
	}
	return answered
}

// lastPlace finds the last round that has a place in the turns: the number
// of rounds up to it, 0 if none has. The places are in a.valid.
func (a *aligner) lastPlace() (rest int) {
	a.fits, a.proven, a.valid = zeroed(a.fits, a.words), zeroed(a.proven, a.words), zeroed(a.valid, a.words)
	for i := range a.history {
		e := &a.history[i]
		users, answers := a.row(a.byUser, a.userRow[i]), a.row(a.byAnswer, a.answerRow[i])
		var carryFits, carryProven uint64
		if i > 0 {
			carryFits = 1 // the turns begin here
		}
		place := false
		for w := range a.words {
			var u, s uint64
			if users != nil {
				u = users[w]
			}
			if answers != nil {
				s = answers[w]
			}
			match, proof := u, u&s
			if e.Long {
				match, proof = u|s, s
			}
			nextFits, nextProven := a.fits[w]>>63, a.proven[w]>>63
			fits, proven := match, match&(proof|a.proven[w]<<1|carryProven)
			if i > 0 {
				fits = match & (a.fits[w]<<1 | carryFits)
			}
			a.fits[w], a.proven[w], carryFits, carryProven = fits, proven, nextFits, nextProven
			place = place || proven != 0 || !a.prove && fits != 0
		}
		if place {
			rest = i + 1
			for w := range a.words {
				a.valid[w] = a.proven[w]
				if !a.prove {
					a.valid[w] |= a.fits[w]
				}
			}
		}
	}
	return rest
}

// walk compares, going back from a round and a turn.
func (a *aligner) walk(turns, rest, end int) alignment {
	c := alignment{rest: rest, end: end, last: end == turns}
	for c.run < min(rest, end) {
		how := a.matches(rest-1-c.run, end-1-c.run)
		if how == different {
			break
		}
		c.score += int(how)
		c.run++
	}
	a.steps += c.run + 1
	c.whole = c.run == rest && c.run == end
	return c
}

// matches is [Round.matches] of a round and a turn, by their bits.
func (a *aligner) matches(i, j int) likeness {
	users, answers := a.row(a.byUser, a.userRow[i]), a.row(a.byAnswer, a.answerRow[i])
	user := users != nil && users[j/64]>>(j%64)&1 != 0
	answer := answers != nil && answers[j/64]>>(j%64)&1 != 0
	return likenessOf(user, answer, a.history[i].Long)
}

// row is a row by its number; nil if there is none.
func (a *aligner) row(rows []uint64, number int) []uint64 {
	if number < 0 {
		return nil
	}
	return rows[number*a.words : (number+1)*a.words]
}

// zeroed is a slice of n zeroes, in the memory of s if that is enough.
func zeroed(s []uint64, n int) []uint64 {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}
