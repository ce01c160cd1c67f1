package main

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// arrivals is a model of nothing but turns of one statement each: an M/M/c queue.
func arrivals(seed uint64, perSecond float64, cores int) model {
	return model{seed: seed, gateways: 1, turns: perSecond, cores: cores, cost: 0.001, before: 1, length: 200}
}

// erlangC is the probability that an arrival of an M/M/c queue waits, where load is the
// arrivals in the mean time of a service.
func erlangC(c int, load float64) float64 {
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= load / float64(k+1)
	}
	term *= float64(c) / (float64(c) - load)
	return term / (sum + term)
}

func near(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.Abs(got-want) > share*want {
		t.Errorf("%s = %.6g, want %.6g within %g %%", what, got, want, 100*share)
	}
}

func TestErlangCIsThatOfOneServer(t *testing.T) {
	t.Parallel()
	near(t, "erlangC(1, 0.7)", erlangC(1, 0.7), 0.7, 1e-12) // it waits whenever the server is busy
	near(t, "erlangC(2, 1)", erlangC(2, 1), 1.0/3, 1e-12)
}

func TestTheQueueIsThatOfTheTheory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cores     int
		perSecond float64
	}{{1, 500}, {2, 1000}, {2, 1600}, {8, 6400}} {
		m := arrivals(7, c.perSecond, c.cores)
		r := m.run()
		load := c.perSecond * m.cost
		near(t, "busy", r.busy, load/float64(c.cores), 0.02)
		near(t, "statements a second", r.statements, c.perSecond, 0.02)
		near(t, "mean wait", r.wait, erlangC(c.cores, load)/(float64(c.cores)/m.cost-c.perSecond), 0.06)
	}
}

func TestTurnsHaveTheirStatements(t *testing.T) {
	t.Parallel()
	m := model{seed: 3, gateways: 10, turns: 100, cores: 4, cost: 0.001, before: 3, atEnd: 1, turn: 20, beat: 5, poll: 1, reap: 2, reapers: 1, length: 200}
	r := m.run()
	perSecond := 100*4.0 + 10/5.0 + 10.0 + perReap/2.0
	near(t, "statements a second", r.statements, perSecond, 0.02)
	near(t, "busy", r.busy, perSecond*m.cost/4, 0.02)
}

func TestNewWorkGoesFirst(t *testing.T) {
	t.Parallel()
	m := model{seed: 5, gateways: 4, turns: 500, cores: 2, cost: 0.001, before: 1, turn: 60, length: 120, die: 4}
	plain := m.run()
	m.classes, m.atOnce = true, 8
	first := m.run()
	if want := 4 * 500 * 60 / 4; len(plain.takeovers) != want || len(first.takeovers) != want {
		t.Errorf("%d and %d takeovers, want %d", len(plain.takeovers), len(first.takeovers), want)
	}
	if a, b := at(plain.took, 0.99), at(first.took, 0.99); a < 1 || b > 0.02 {
		t.Errorf("a statement of new work takes up to %v s among takeovers, and up to %v s before them", a, b)
	}
}

func TestTheSameSeedIsTheSameRun(t *testing.T) {
	t.Parallel()
	m := arrivals(1, 1000, 2)
	m.length = 20
	if diff := cmp.Diff(m.run().took, m.run().took); diff != "" {
		t.Error(diff)
	}
	other := m
	other.seed = 2
	if slices.Equal(m.run().took, other.run().took) {
		t.Error("another seed is the same run")
	}
}
