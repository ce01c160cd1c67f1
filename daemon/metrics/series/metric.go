package series

import "slices"

// Counter counts what happens.
type Counter struct{ vector *vector[float64] }

// Counter adds a counter. The names of its labels are sorted.
func (s *Set) Counter(name, help string, labels ...string) *Counter {
	c := &Counter{newVector[float64](name, help, labels)}
	s.Add(func() []Family { return c.vector.family(KindCounter, single) })
	return c
}

// Add counts by n for these label values. A counter never goes down: an n that
// is negative or not a number counts nothing.
func (c *Counter) Add(n float64, labels ...string) {
	c.vector.with(labels, func(sum *float64) {
		if n > 0 {
			*sum += n
		}
	})
}

// Gauge is a value that goes up and down.
type Gauge struct{ vector *vector[float64] }

// Gauge adds a gauge. The names of its labels are sorted.
func (s *Set) Gauge(name, help string, labels ...string) *Gauge {
	g := &Gauge{newVector[float64](name, help, labels)}
	s.Add(func() []Family { return g.vector.family(KindGauge, single) })
	return g
}

// Add changes the gauge by n for these label values.
func (g *Gauge) Add(n float64, labels ...string) {
	g.vector.with(labels, func(value *float64) { *value += n })
}

func single(labels []Label, value *float64) []Sample {
	return []Sample{{Labels: labels, Value: *value}}
}

// Histogram counts values by their size.
type Histogram struct {
	bounds []float64
	vector *vector[observed]
}

// observed is one series of a histogram.
type observed struct {
	counts []uint64 // by bucket; the last one is for what is above all bounds
	sum    float64
}

// Histogram adds a histogram. The bounds are the upper ones of the buckets,
// sorted; the names of the labels are sorted, too.
func (s *Set) Histogram(name, help string, bounds []float64, labels ...string) *Histogram {
	h := &Histogram{bounds, newVector[observed](name, help, labels)}
	s.Add(func() []Family { return h.vector.family(KindHistogram, h.samples) })
	return h
}

// Observe counts a value for these label values.
func (h *Histogram) Observe(value float64, labels ...string) {
	bucket, _ := slices.BinarySearch(h.bounds, value)
	h.vector.with(labels, func(o *observed) {
		if o.counts == nil {
			o.counts = make([]uint64, len(h.bounds)+1)
		}
		o.counts[bucket]++
		o.sum += value
	})
}

func (h *Histogram) samples(labels []Label, o *observed) []Sample {
	lines := make([]Sample, 0, len(h.bounds)+3)
	var count uint64
	for i := range len(h.bounds) + 1 {
		bound := "+Inf"
		if i < len(h.bounds) {
			bound = number(h.bounds[i])
		}
		if o.counts != nil {
			count += o.counts[i]
		}
		lines = append(lines, Sample{"_bucket", append(slices.Clip(labels), Label{"le", bound}), float64(count)})
	}
	return append(lines, Sample{"_sum", labels, o.sum}, Sample{"_count", labels, float64(count)})
}
