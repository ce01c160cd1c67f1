package main

import (
	"fmt"
	"strconv"
	"strings"
)

// runTime is how long a run goes on, in seconds.
const runTime = 60

// What a turn costs Postgres at least: one statement each to claim it, to note that it is
// sent, to note that it runs, and to end it. The prototype took 0.28 ms of a core for one.
const (
	statementCost = 0.00028
	beforeRun     = 3
	atEndOfRun    = 1
)

// What it costs today, by BenchmarkTurn of internal/state/pg with 7,000 runs that go on:
// what is sent in one round trip is counted as one statement. A turn without a key has the
// wait for the disk, too, and a one-shot the note of when it may be removed.
const (
	costToday   = 0.00027
	beforeToday = 5
	atEndToday  = 3
	costOfOne   = 0.00014 // of a statement that reads or writes one row, as signs of life and polls do
)

// today is a model with the statements of today. Tokens are polled twice a second.
func today(m model) model {
	m.cost, m.before, m.atEnd, m.poll = costToday, beforeToday, atEndToday, 0.5
	return m
}

// usualModel is gateways that do what they do all the time.
func usualModel(gateways int, turns float64, cores int) model {
	return model{
		seed: 20, gateways: gateways, turns: turns, cores: cores, cost: statementCost, before: beforeRun, atEnd: atEndOfRun, turn: runTime,
		beat: 5, poll: 1, reap: 2, reapers: 1, length: 60,
	}
}

// row is a line of the table.
type row struct {
	what string
	model
}

func rows() []row {
	with := func(what string, m model, change func(*model)) row {
		if change != nil {
			change(&m)
		}
		return row{what, m}
	}
	peak, many := usualModel(18, 580, 2), usualModel(1000, 580, 2)
	return []row{
		with("the average hour of a million conversations", usualModel(18, 116, 2), nil),
		with("the peak", peak, nil),
		with("two gateways die", peak, func(m *model) { m.die = 2 }),
		with("all die at once; takeovers have no limit", peak, func(m *model) { m.die = 18 }),
		with("the same; 8 takeovers at a time for each gateway, new work first", peak, func(m *model) { m.die, m.atOnce, m.classes = 18, 8, true }),
		with("1,000 gateways, each with a reaper", many, func(m *model) { m.reapers = 1000 }),
		with("one gateway reaps for all", many, nil),
		with("and tokens are polled every 10 s", many, func(m *model) { m.poll = 10 }),
		with("8 round trips a turn of 0.27 ms, as measured: the average hour", today(usualModel(18, 116, 2)), nil),
		with("the same: the peak", today(usualModel(18, 580, 2)), nil),
		with("ten million conversations, with 4 statements", usualModel(1000, 5800, 8), func(m *model) { m.poll = 10 }),
	}
}

// tables is what the docs show, as Markdown.
func tables() string {
	var b strings.Builder
	b.WriteString("| gateways · turns/s · cores | busy | statements/s | statement p50 · p99 | takeovers: number · p50 · last | |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- |\n")
	for _, r := range rows() {
		got := r.run()
		fmt.Fprintf(&b, "| %s · %s · %d | %.0f %% | %s | %s · %s | %s | %s |\n", thousands(r.gateways), thousands(int(r.turns)), r.cores, 100*got.busy,
			thousands(int(got.statements)), duration(at(got.took, 0.5)), duration(at(got.took, 0.99)), takeovers(got), r.what)
	}
	b.WriteString("\n| gateways | connections, sessions included | signs of life and polls a second | share of one core of Postgres for those |\n")
	b.WriteString("| --- | --- | --- | --- |\n")
	for _, n := range []int{2, 7, 18, 100, 1000} {
		m := today(usualModel(n, 0, 1))
		m.length, m.cost = 300, costOfOne
		got := m.run()
		fmt.Fprintf(&b, "| %s | %s | %s | %.1f %% |\n", thousands(n), thousands(n*connections), thousands(int(got.statements)), 100*got.busy)
	}
	return b.String()
}

// connections is how many a gateway has at most: its pool, and its session.
const connections = 12 + 1

func takeovers(r result) string {
	if len(r.takeovers) == 0 {
		return ""
	}
	return fmt.Sprintf("%s · %s · %s", thousands(len(r.takeovers)), duration(at(r.takeovers, 0.5)), duration(r.takeovers[len(r.takeovers)-1]))
}

func duration(seconds float64) string {
	if seconds < 0.1 {
		return fmt.Sprintf("%.1f ms", 1000*seconds)
	}
	if seconds < 1 {
		return fmt.Sprintf("%.0f ms", 1000*seconds)
	}
	return fmt.Sprintf("%.1f s", seconds)
}

// thousands is a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
