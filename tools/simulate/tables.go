package main

import (
	"fmt"
	"strconv"
	"strings"
)

// runTime is how long a run goes on, in seconds.
const runTime = 60

// What a turn costs Postgres. The package internal/state/pg makes six round trips: claim,
// sending, running and the look after the start; then the end, and the note that the client
// has the answer. A seventh one of turns without a key waits for the disk. Decision 44 has
// measured 2.0 ms of a core for these seven: 0.28 ms for one of them.
const (
	statementCost = 0.00028
	beforeRun     = 4
	atEndOfRun    = 2
)

// costOfOne is that of a statement that reads or writes one row, as signs of life and polls do.
const costOfOne = 0.00014

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
	short := func(m *model) { m.length = 15 }
	unkeyed := func(m *model) { m.before++ }
	peak, many := usualModel(18, 580, 2), usualModel(1000, 580, 2)
	return []row{
		with("the average hour of a million conversations", usualModel(18, 116, 2), nil),
		with("the peak", peak, nil),
		with("the peak, without keys: seven round trips a turn", peak, unkeyed),
		with("two gateways die", peak, func(m *model) { m.die = 2 }),
		with("all die at once; takeovers have no limit", peak, func(m *model) { m.die = 18 }),
		with("the same; 8 takeovers at a time for each gateway, new work first", peak, func(m *model) { m.die, m.atOnce, m.classes = 18, 8, true }),
		with("1,000 gateways, each with a reaper", many, func(m *model) { m.reapers = 1000 }),
		with("one gateway reaps for all", many, nil),
		with("the same; tokens are polled every 10 s", many, func(m *model) { m.poll = 10 }),
		with("three million conversations at their peak, one gateway reaps", usualModel(54, 1740, 4), nil),
		with("ten million conversations on average", usualModel(180, 1160, 4), nil),
		with("ten million at their peak, 16 cores", usualModel(180, 5800, 16), short),
		with("ten million at their peak, too few cores", usualModel(180, 5800, 8), short),
	}
}

// tables writes what the docs show, as Markdown.
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
		m := usualModel(n, 0, 1)
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
