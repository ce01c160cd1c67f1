// Command figures keeps a line of figures for each release, and says which of them have become
// worse. It imports the standard library only, so that it needs only Go.
//
//	figures FILE <OUTPUT          compares the output of benchmarks with the last line of FILE
//	figures FILE RELEASE <OUTPUT  the same, and writes the line of RELEASE
//
// Its figures are ratios of one run, such as what a request takes in ohgw by what it takes in a
// bare proxy. A machine that is slow or busy does not change them much. The unit of a ratio
// begins with x-, where less is better, or with of-, where more is. A ratio that is repeated in
// OUTPUT counts by its median. FILE is a table with tabs: a column for each figure, a line for
// each release, the newest last.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	err := errors.Join(run(os.Args[1:], os.Stdin, out), out.Flush())
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) < 1 || len(args) > 2 {
		return errors.New("usage: figures FILE [RELEASE] <OUTPUT")
	}
	table, err := load(args[0])
	if err != nil {
		return err
	}
	now, err := measured(in)
	if err != nil {
		return err
	}
	if len(now) == 0 {
		return errors.New("the output has no ratios; run scripts/bench-outside")
	}
	table.compare(now, out)
	if len(args) == 1 {
		return nil
	}
	table.put(args[1], now)
	return os.WriteFile(args[0], []byte(table.String()), 0o644)
}

// figure is a ratio by its benchmark and unit.
type figure struct {
	name  string
	value float64
}

// moreIsBetter reports whether a figure is a share: see the package.
func moreIsBetter(name string) bool {
	return strings.HasPrefix(name[strings.LastIndexByte(name, ' ')+1:], "of-")
}

var (
	isRatio = regexp.MustCompile(`^(x|of)-`)
	// procs is how many processors a benchmark had, which ends its name.
	procs = regexp.MustCompile(`-\d+$`)
)

// measured reads the ratios of benchmarks in the order of their first lines.
func measured(in io.Reader) ([]figure, error) {
	all := make(map[string][]float64)
	var order []string
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		bench := strings.TrimSuffix(procs.ReplaceAllString(strings.TrimPrefix(words[0], "Benchmark"), ""), "/of=ohgw")
		for i := 2; i+1 < len(words); i += 2 { // behind the name and the number of its rounds
			value, err := strconv.ParseFloat(words[i], 64)
			if err != nil || !isRatio.MatchString(words[i+1]) {
				continue
			}
			name := bench + " " + words[i+1]
			if all[name] == nil {
				order = append(order, name)
			}
			all[name] = append(all[name], value)
		}
	}
	list := make([]figure, len(order))
	for i, name := range order {
		list[i] = figure{name, median(all[name])}
	}
	return list, lines.Err()
}

func median(values []float64) float64 {
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// table is the file: the names of its figures, and a line for each release.
type table struct {
	names []string
	lines []line
}

type line struct {
	release string
	values  map[string]float64
}

// unknown is a figure that a release does not have.
const unknown = "-"

// load reads a table. A file that does not exist has no lines.
func load(path string) (*table, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &table{}, nil
	}
	if err != nil {
		return nil, err
	}
	rows := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	head := strings.Split(rows[0], "\t")
	t := &table{names: head[1:]}
	for i, row := range rows[1:] {
		cells := strings.Split(row, "\t")
		if len(cells) != len(head) {
			return nil, fmt.Errorf("%s: line %d has %d cells, the head has %d", path, i+2, len(cells), len(head))
		}
		l := line{cells[0], make(map[string]float64)}
		for j, cell := range cells[1:] {
			if cell == unknown {
				continue
			}
			if l.values[head[j+1]], err = strconv.ParseFloat(cell, 64); err != nil {
				return nil, fmt.Errorf("%s: line %d: %w", path, i+2, err)
			}
		}
		t.lines = append(t.lines, l)
	}
	return t, nil
}

// put writes the line of a release: in the place of an earlier one, or behind all others.
func (t *table) put(release string, now []figure) {
	l := line{release, make(map[string]float64)}
	for _, f := range now {
		if l.values[f.name] = f.value; !slices.Contains(t.names, f.name) {
			t.names = append(t.names, f.name)
		}
	}
	t.lines = append(slices.DeleteFunc(t.lines, func(l line) bool { return l.release == release }), l)
}

// String returns the table as its file has it.
func (t *table) String() string {
	var s strings.Builder
	s.WriteString("release")
	for _, name := range t.names {
		s.WriteString("\t" + name)
	}
	for _, l := range t.lines {
		s.WriteString("\n" + l.release)
		for _, name := range t.names {
			cell := unknown
			if v, ok := l.values[name]; ok {
				cell = strconv.FormatFloat(v, 'g', 3, 64)
			}
			s.WriteString("\t" + cell)
		}
	}
	return s.String() + "\n"
}

const (
	// lost is the part of a figure that has to be lost before it is shown: repeated runs on one
	// machine differ by less.
	lost = 0.25
	red  = "\x1b[31m"
	off  = "\x1b[0m"
)

// compare prints figures beside those of the last release that has them. One that is worse by a
// quarter is red.
func (t *table) compare(now []figure, out io.Writer) {
	for _, f := range now {
		before, release, known := t.last(f.name)
		switch {
		case !known:
			fmt.Fprintf(out, "%-44s %8.3g\n", f.name, f.value)
		case f.isWorseThan(before):
			fmt.Fprintf(out, "%s%-44s %8.3g, %.3g in %s: worse by a quarter or more%s\n", red, f.name, f.value, before, release, off)
		default:
			fmt.Fprintf(out, "%-44s %8.3g, %.3g in %s\n", f.name, f.value, before, release)
		}
	}
}

// last returns a figure of the last release that has it.
func (t *table) last(name string) (value float64, release string, ok bool) {
	for _, l := range slices.Backward(t.lines) {
		if v, ok := l.values[name]; ok {
			return v, l.release, true
		}
	}
	return 0, "", false
}

// isWorseThan reports whether a figure has lost a quarter.
func (f figure) isWorseThan(before float64) bool {
	if moreIsBetter(f.name) {
		return f.value <= before*(1-lost)
	}
	return before <= f.value*(1-lost)
}
