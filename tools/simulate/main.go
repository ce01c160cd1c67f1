// Command simulate shows how much of a Postgres several gateways need: it simulates the
// statements of turns, of gateways that only live, and of gateways that die, as a queue
// in front of the cores of the database. Its seeds are fixed, so it prints the same
// tables every time. It writes them into docs/scale.md; without an argument it
// prints them.
//
// It does not simulate the disk, the network or the agents.
package main

import (
	"fmt"
	"os"
	"strings"
)

//go:generate go run . ../../docs/scale.md

// The lines of a page between which the tables are put.
const (
	begin = "<!-- go generate: begin -->\n"
	end   = "<!-- go generate: end -->\n"
)

func main() {
	if len(os.Args) > 2 {
		fmt.Fprintln(os.Stderr, "usage: simulate [PAGE]")
		os.Exit(2)
	}
	text := tables()
	if len(os.Args) == 1 {
		fmt.Print(text)
		return
	}
	if err := write(os.Args[1], text); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

// write puts text between the marks of a page.
func write(path, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	from, to, ok := marks(string(page))
	if !ok {
		return fmt.Errorf("%s has no lines %q and %q", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	page = []byte(string(page[:from]) + text + string(page[to:]))
	if err := os.WriteFile(path, page, 0o644); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// marks are the places in a page between which the tables are.
func marks(page string) (from, to int, ok bool) {
	from = strings.Index(page, begin)
	if from < 0 {
		return 0, 0, false
	}
	from += len(begin)
	to = strings.Index(page[from:], end)
	return from, from + to, to >= 0
}
