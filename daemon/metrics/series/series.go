// Package series keeps counters, gauges and histograms, and writes them as
// Prometheus reads them: its text format, version 0.0.4.
//
// It knows no metric of its own. A Set is filled before it is used; from then
// on its metrics are for many goroutines. Invariants: a counter never goes
// down; what is written is sorted by name and labels; no label value can break
// its line.
package series

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Kind is what Prometheus calls the type of a metric.
type Kind string

// The kinds.
const (
	KindCounter   Kind = "counter"
	KindGauge     Kind = "gauge"
	KindHistogram Kind = "histogram"
	KindSummary   Kind = "summary"
)

// Family is one metric with all its samples.
type Family struct {
	Name, Help string
	Kind       Kind
	Samples    []Sample
}

// Sample is one line of a metric.
type Sample struct {
	Suffix string // of the name, such as "_sum"
	Labels []Label
	Value  float64
}

// Label is a name and a value. The name is the program's own.
type Label struct{ Name, Value string }

// One is a metric with a single value.
func One(kind Kind, name, help string, value float64) Family {
	return Family{Name: name, Help: help, Kind: kind, Samples: []Sample{{Value: value}}}
}

// Set is the metrics of a program.
type Set struct {
	sources []func() []Family
}

// Add adds metrics that are asked for when they are written.
func (s *Set) Add(source func() []Family) { s.sources = append(s.sources, source) }

// Write writes all metrics that have a sample.
func (s *Set) Write(w io.Writer) error {
	var families []Family
	for _, source := range s.sources {
		families = append(families, source()...)
	}
	slices.SortFunc(families, func(a, b Family) int { return cmp.Compare(a.Name, b.Name) })
	var text []byte
	for _, f := range families {
		text = f.append(text)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// maxLabels is how many labels a metric may have.
const maxLabels = 3

// values are the values of a metric's labels, in the order of their names.
type values [maxLabels]string

// vector is what counters, gauges and histograms have in common: one T for
// each combination of label values.
type vector[T any] struct {
	name, help string
	labels     []string // sorted

	mu     sync.Mutex
	series map[values]*T
}

func newVector[T any](name, help string, labels []string) *vector[T] {
	if len(labels) > maxLabels || !slices.IsSorted(labels) {
		panic("series: the labels of " + name + " are too many, or not sorted")
	}
	v := &vector[T]{name: name, help: help, labels: labels, series: map[values]*T{}}
	if len(labels) == 0 {
		v.series[values{}] = new(T) // it is there from the start
	}
	return v
}

// with calls do with the series of these label values. It panics when their
// number is not that of the labels, which is a mistake in the program.
func (v *vector[T]) with(list []string, do func(*T)) {
	if len(list) != len(v.labels) {
		panic("series: wrong number of label values for " + v.name)
	}
	var key values
	copy(key[:], list)
	v.mu.Lock()
	defer v.mu.Unlock()
	one := v.series[key]
	if one == nil {
		one = new(T)
		v.series[key] = one
	}
	do(one)
}

// family copies the metric as it is now, its series sorted; samples gives the lines
// of one series.
func (v *vector[T]) family(kind Kind, samples func(labels []Label, one *T) []Sample) []Family {
	v.mu.Lock()
	defer v.mu.Unlock()
	keys := make([]values, 0, len(v.series))
	for key := range v.series {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b values) int { return slices.Compare(a[:], b[:]) })
	f := Family{Name: v.name, Help: v.help, Kind: kind}
	for _, key := range keys {
		labels := make([]Label, len(v.labels))
		for i, name := range v.labels {
			labels[i] = Label{name, key[i]}
		}
		f.Samples = append(f.Samples, samples(labels, v.series[key])...)
	}
	return []Family{f}
}
