package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/internal/plainjson"
	"github.com/ohgw/ohgw/internal/recordfile"
)

// book is a record in memory, and the line that a record begins with.
type book struct {
	Version int               `json:"version"`
	Spent   map[Period]window `json:"spent"`
	Runs    map[string]Open   `json:"runs"` // that go on, by conversation
}

// window is what was spent since a period began.
type window struct {
	From   int64   `json:"from"` // Unix time
	Cost   float64 `json:"cost"`
	Tokens int64   `json:"tokens"`
}

func (w window) amount() Amount { return Amount{w.Cost, w.Tokens} }

// Open is a run that goes on.
type Open struct {
	Before Amount `json:"before"` // what its conversation had used when it began
	Paid   Amount `json:"paid"`
}

// change is a line behind the first one.
type change struct {
	At     int64   `json:"at"` // Unix time
	Run    string  `json:"run,omitempty"`
	Begins *Amount `json:"begins,omitempty"` // the run begins, and its conversation had used that
	Ends   bool    `json:"ends,omitempty"`
	Cost   float64 `json:"cost,omitempty"` // paid now
	Tokens int64   `json:"tokens,omitempty"`
}

// version is that of records that this package writes.
const version = 1

func openDir(state string) *recordfile.Dir {
	if state == "" {
		return recordfile.Open("")
	}
	return recordfile.Open(filepath.Join(state, dirName))
}

func eachRecord(dir *recordfile.Dir, each func(id string) error) error {
	return dir.Each(context.Background(), func(name string, _ time.Time) error { return each(name) })
}

// read reads a record; without one, nothing was spent.
func read(dir *recordfile.Dir, id string) (book, error) {
	data, err := dir.Read(id)
	if errors.Is(err, fs.ErrNotExist) {
		return book{Version: version, Spent: map[Period]window{}, Runs: map[string]Open{}}, nil
	}
	if err != nil {
		return book{}, err
	}
	var b book
	first, changes := recordfile.Lines(data)
	if err := json.Unmarshal(first, &b); err != nil {
		return b, fmt.Errorf("the record is damaged: %w", err)
	}
	switch {
	case b.Version > version:
		return b, errors.New("the record was written by a newer ohgw")
	case b.Version < 1 || b.Spent == nil || b.Runs == nil:
		return b, errors.New("the record is damaged")
	}
	for line := range changes {
		var c change
		if json.Unmarshal(line, &c) == nil { // else it was cut off
			b.apply(c)
		}
	}
	return b, nil
}

// keep writes the whole record.
func (b *book) keep(dir *recordfile.Dir, id string) error {
	data, err := plainjson.Marshal(b)
	if err != nil {
		return err
	}
	return dir.Write(id, append(data, '\n'))
}

func (c change) encode() []byte {
	data, err := plainjson.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("budget: encode: %v", err)) // numbers and ids only
	}
	return data
}

// at returns what was spent in the period of a time. Where the clock was set back, what
// was spent later counts, too: it renews with the period that is now.
func (b *book) at(p Period, now time.Time) window {
	w, from := b.Spent[p], p.begin(now)
	if p == Total {
		return w
	}
	if w.From < from.Unix() {
		return window{From: from.Unix()}
	}
	w.From = from.Unix()
	return w
}

// apply makes a change.
func (b *book) apply(c change) {
	paid := Amount{c.Cost, c.Tokens}
	if paid != (Amount{}) {
		for _, p := range Periods() {
			w := b.at(p, time.Unix(c.At, 0))
			w.Cost, w.Tokens = w.Cost+paid.Cost, w.Tokens+paid.Tokens
			b.Spent[p] = w
		}
	}
	switch r := b.Runs[c.Run]; {
	case c.Run == "":
	case c.Begins != nil:
		b.Runs[c.Run] = Open{Before: *c.Begins}
	case c.Ends:
		delete(b.Runs, c.Run)
	default:
		r.Paid = r.Paid.Plus(paid)
		b.Runs[c.Run] = r
	}
}

// above is how much more a total is than what is paid; never negative.
func above(total, paid Amount) Amount {
	more := total.Minus(paid)
	return Amount{max(0, more.Cost), max(0, more.Tokens)}
}
