package main

import (
	"math/rand/v2"
	"slices"
)

// model is gateways in front of a database. Times are in seconds.
type model struct {
	seed     uint64
	gateways int
	turns    float64 // that begin in a second, as a Poisson process
	cores    int
	cost     float64 // of a statement on a core, mean of an exponential distribution
	before   int     // statements of a turn until its run goes on
	atEnd    int     // and when it is over
	turn     float64 // how long a run goes on, mean of an exponential distribution

	beat, poll, reap float64 // how often each gateway does that; 0: never
	reapers          int     // gateways that look for runs of dead ones; each look is three statements

	die     int  // gateways that die in the middle; all: they are started again at once
	atOnce  int  // takeovers of one gateway at the same time; 0: no limit
	classes bool // new work goes before takeovers

	length float64 // measured seconds
}

const (
	warmUp     = 10.0
	opening    = 0.1 // of a conversation, before its message is sent
	perReap    = 3   // statements
	perTaking  = 2
	retryFirst = 0.5 // when clients repeat a request whose connection broke, at the earliest
	retryLast  = 1.0
)

// result is what a run of a model shows.
type result struct {
	busy       float64   // of all cores
	statements float64   // in a second
	wait       float64   // mean, before a core takes a statement; without those of takeovers
	took       []float64 // of statements that are not of takeovers, sorted
	takeovers  []float64 // when they were done, after the death, sorted
}

// at is the value below which a share of the sorted values is.
func at(sorted []float64, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// simulation is a model that runs.
type simulation struct {
	model
	world

	dice   *rand.Rand
	taking []int // takeovers that each gateway has begun
	queued [][]func()
	result result
	waits  float64
	count  int
	used   float64 // of cores, before the measured time
	death  float64
}

func (m model) run() result {
	s := &simulation{
		model: m, dice: rand.New(rand.NewPCG(m.seed, 1)),
		taking: make([]int, m.gateways), queued: make([][]func(), m.gateways),
	}
	s.db = database{cores: m.cores, classes: m.classes, measure: s.measure}
	s.start()
	s.world.run(warmUp)
	s.used, s.count, s.waits, s.result.took = s.db.used, 0, 0, nil
	s.death = warmUp + m.length/3
	s.after(s.death-warmUp, s.kill)
	s.world.run(warmUp + m.length)
	r := s.result
	r.busy = (s.db.used - s.used) / m.length / float64(m.cores)
	r.statements = float64(s.count) / m.length
	r.wait = s.waits / float64(max(1, len(r.took)))
	slices.Sort(r.took)
	slices.Sort(r.takeovers)
	return r
}

// start begins what goes on all the time. As many runs go on from the beginning as do
// on average.
func (s *simulation) start() {
	if s.turns > 0 {
		s.after(s.dice.ExpFloat64()/s.turns, s.arrive)
		for range int(s.turns * s.turn) {
			s.after(s.dice.ExpFloat64()*s.turn, func() { s.chain(s.atEnd, usual, nil) })
		}
	}
	for i := range s.gateways {
		s.every(s.beat, 1)
		s.every(s.poll, 1)
		if i < s.reapers {
			s.every(s.reap, perReap)
		}
	}
}

// every repeats statements, from a random time on.
func (s *simulation) every(seconds float64, statements int) {
	if seconds <= 0 {
		return
	}
	var again func()
	again = func() {
		s.chain(statements, usual, nil)
		s.after(seconds, again)
	}
	s.after(s.dice.Float64()*seconds, again)
}

// arrive begins a turn, and plans the arrival of the next one.
func (s *simulation) arrive() {
	s.after(s.dice.ExpFloat64()/s.turns, s.arrive)
	s.chain(1, usual, func() {
		s.after(s.dice.ExpFloat64()*opening, func() {
			s.chain(s.before-1, usual, func() {
				s.after(s.dice.ExpFloat64()*s.turn, func() { s.chain(s.atEnd, usual, nil) })
			})
		})
	})
}

// chain sends statements one after the other.
func (s *simulation) chain(n int, c class, done func()) {
	if n <= 0 {
		if done != nil {
			done()
		}
		return
	}
	s.submit(statement{service: s.dice.ExpFloat64() * s.cost, class: c, done: func() { s.chain(n-1, c, done) }})
}

// kill ends gateways. The clients of their runs repeat their requests.
func (s *simulation) kill() {
	if s.die == 0 {
		return
	}
	lost := int(s.turns * s.turn * float64(s.die) / float64(s.gateways))
	for range lost {
		wait := retryFirst + s.dice.Float64()*(retryLast-retryFirst)
		s.after(wait, func() { s.takeOver(s.survivor()) })
	}
}

// survivor is a gateway that lives. If all have died, they are there again.
func (s *simulation) survivor() int {
	if s.die == s.gateways {
		return s.dice.IntN(s.gateways)
	}
	return s.die + s.dice.IntN(s.gateways-s.die)
}

// takeOver has a gateway take a run over, when it has few enough in hand.
func (s *simulation) takeOver(gateway int) {
	if s.atOnce > 0 && s.taking[gateway] >= s.atOnce {
		s.queued[gateway] = append(s.queued[gateway], func() { s.takeOver(gateway) })
		return
	}
	s.taking[gateway]++
	s.chain(perTaking, late, func() {
		s.result.takeovers = append(s.result.takeovers, s.now-s.death)
		s.taking[gateway]--
		if waiting := s.queued[gateway]; len(waiting) > 0 {
			s.queued[gateway] = waiting[1:]
			waiting[0]()
		}
	})
}

func (s *simulation) measure(st statement, waited, took float64) {
	s.count++
	if st.class == usual {
		s.waits += waited
		s.result.took = append(s.result.took, took)
	}
}
