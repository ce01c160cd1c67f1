// Command testevents reads the events of `go test -json` for scripts/gotest and
// scripts/flakes. It imports the standard library only, so that both need only Go.
//
//	testevents counts <EVENTS                a line for each test and package: failures, runs, package, test
//	testevents printed PACKAGE TEST <EVENTS  what the failed runs of one test, or of the package (''), have printed
//	testevents beside <EVENTS                the packages that failed while no test of them did
//	testevents races <EVENTS                 the reports of data races
//	testevents skipped <EVENTS               a line for each test or subtest that is skipped: package, test
//
// It runs nothing and judges nothing. Lines that are not events are ignored.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	err := errors.Join(run(os.Args[1:], os.Stdin, out), out.Flush())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testevents:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	var read error
	all := events(in, &read)
	switch {
	case slices.Equal(args, []string{"counts"}):
		counts(all, out)
	case slices.Equal(args, []string{"beside"}):
		beside(all, out)
	case slices.Equal(args, []string{"races"}):
		races(all, out)
	case slices.Equal(args, []string{"skipped"}):
		skipped(all, out)
	case len(args) == 3 && args[0] == "printed":
		printed(all, test{args[1], args[2]}, out)
	default:
		return errors.New("usage: testevents counts | printed PACKAGE TEST | beside | races | skipped")
	}
	return read
}

// test is a test, or with an empty name the package itself.
type test struct{ Package, Test string }

type event struct {
	test

	Action, Output string
}

// events yields those of a stream; failed is set if it cannot be read.
func events(in io.Reader, failed *error) iter.Seq[event] {
	return func(yield func(event) bool) {
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadBytes('\n')
			var e event
			if json.Unmarshal(line, &e) == nil && e.Package != "" && !yield(e) {
				return
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					*failed = fmt.Errorf("read events: %w", err)
				}
				return
			}
		}
	}
}

// counts lists the tests in the order in which they have ended first.
func counts(all iter.Seq[event], out io.Writer) {
	type count struct{ failures, runs int }
	of, order := map[test]*count{}, []test{}
	for e := range all {
		if e.Action != "pass" && e.Action != "fail" {
			continue
		}
		c := of[e.test]
		if c == nil {
			c = &count{}
			of[e.test], order = c, append(order, e.test)
		}
		c.runs++
		if e.Action == "fail" {
			c.failures++
		}
	}
	for _, t := range order {
		fmt.Fprintf(out, "%d\t%d\t%s\t%s\n", of[t].failures, of[t].runs, t.Package, t.Test)
	}
}

// printed prints what a test and its subtests have printed in each run that failed.
// A package, and a test, may have a name that begins with another's.
func printed(all iter.Seq[event], of test, out io.Writer) {
	var text strings.Builder
	for e := range all {
		own := e.Test == of.Test
		if e.Package != of.Package || !own && !strings.HasPrefix(e.Test, of.Test+"/") {
			continue
		}
		switch {
		case e.Action == "output":
			text.WriteString(e.Output)
		case own && (e.Action == "run" || e.Action == "start"): // of a test, of a package
			text.Reset()
		case own && e.Action == "fail":
			shorten(text.String(), out)
		}
	}
}

// beside lists the packages with a run that failed while no test of that run did.
func beside(all iter.Seq[event], out io.Writer) {
	failed, listed := map[string]bool{}, map[string]bool{}
	for e := range all {
		switch {
		case e.Action == "start":
			failed[e.Package] = false
		case e.Action != "fail":
		case e.Test != "":
			failed[e.Package] = true
		case !failed[e.Package] && !listed[e.Package]:
			listed[e.Package] = true
			fmt.Fprintln(out, e.Package)
		}
	}
}

// What is printed of a longer text: lines at its begin and at its end, where the failure
// is, and bytes of a line.
const (
	head = 40
	tail = 80
	wide = 2000
)

func shorten(text string, out io.Writer) {
	lines := slices.Collect(strings.Lines(text))
	if left := len(lines) - head - tail; left > 0 {
		lines = slices.Concat(lines[:head], []string{fmt.Sprintf("[%d lines left out]\n", left)}, lines[len(lines)-tail:])
	}
	for _, line := range lines {
		line = strings.TrimSuffix(line, "\n")
		if left := len(line) - wide; left > 0 {
			line = fmt.Sprintf("%s [%d bytes left out]", strings.ToValidUTF8(line[:wide], ""), left)
		}
		fmt.Fprintln(out, line)
	}
}

// races prints the reports of the race detector, package by package: packages run at the
// same time, so that their events are mixed.
func races(all iter.Seq[event], out io.Writer) {
	of, order := map[string]*bytes.Buffer{}, []string{}
	for e := range all {
		if e.Action != "output" {
			continue
		}
		if of[e.Package] == nil {
			of[e.Package], order = &bytes.Buffer{}, append(order, e.Package)
		}
		of[e.Package].WriteString(e.Output)
	}
	for _, p := range order {
		on := false
		for line := range strings.Lines(of[p].String()) {
			on = on || strings.HasPrefix(line, "WARNING: DATA RACE")
			if on {
				fmt.Fprintln(out, strings.TrimSuffix(line, "\n"))
			}
			over := strings.HasPrefix(line, "=") && strings.Trim(line, "=\n") == ""
			on = on && !over
		}
	}
}

// skipped lists the tests and subtests that skip themselves.
func skipped(all iter.Seq[event], out io.Writer) {
	listed := map[test]bool{}
	for e := range all {
		if e.Action != "skip" || e.Test == "" || listed[e.test] { // a package without tests is skipped, too
			continue
		}
		listed[e.test] = true
		fmt.Fprintf(out, "%s\t%s\n", e.Package, e.Test)
	}
}
