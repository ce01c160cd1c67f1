package series_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/daemon/metrics/series"
)

func text(t interface{ Fatal(...any) }, set *series.Set) string {
	var b strings.Builder
	if err := set.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTheTextIsPrometheus(t *testing.T) {
	t.Parallel()
	set := &series.Set{}
	requests := set.Counter("b_total", "Help with a \\ and\na line.", "code", "path")
	requests.Add(1, "200", `/"x"\`+"\n")
	requests.Add(2, "200", "/a")
	set.Counter("unused_total", "Never counted.", "label")
	set.Gauge("c_open", "There from the start.")
	took := set.Histogram("a_seconds", "Buckets add up.", []float64{.5, 1, 2.5}, "route")
	for _, v := range []float64{.1, 1, 2, 100} { // 1 is in the bucket up to 1
		took.Observe(v, "r")
	}
	set.Add(func() []series.Family {
		return []series.Family{series.One(series.KindGauge, "d", "Huge.", math.Inf(1))}
	})
	want := `# HELP a_seconds Buckets add up.
# TYPE a_seconds histogram
a_seconds_bucket{route="r",le="0.5"} 1
a_seconds_bucket{route="r",le="1"} 2
a_seconds_bucket{route="r",le="2.5"} 3
a_seconds_bucket{route="r",le="+Inf"} 4
a_seconds_sum{route="r"} 103.1
a_seconds_count{route="r"} 4
# HELP b_total Help with a \\ and\na line.
# TYPE b_total counter
b_total{code="200",path="/\"x\"\\\n"} 1
b_total{code="200",path="/a"} 2
# HELP c_open There from the start.
# TYPE c_open gauge
c_open 0
# HELP d Huge.
# TYPE d gauge
d +Inf
`
	if diff := cmp.Diff(want, text(t, set)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPrometheusReadsEveryLabelAndValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set := &series.Set{}
		counts := map[string]float64{}
		counter := set.Counter("n_total", rapid.String().Draw(t, "help"), "label")
		for _, label := range rapid.SliceOf(rapid.String()).Draw(t, "labels") {
			n := rapid.Float64Range(0, 1e300).Draw(t, "n")
			counter.Add(n, label)
			counts[strings.ToValidUTF8(label, "\uFFFD")] += n
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(text(t, set)))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, m := range families["n_total"].GetMetric() {
			got[m.GetLabel()[0].GetValue()] += m.GetCounter().GetValue()
		}
		if diff := cmp.Diff(counts, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestAHistogramIsReadBack(t *testing.T) {
	t.Parallel()
	bounds := []float64{.1, 1, 10}
	rapid.Check(t, func(t *rapid.T) {
		set := &series.Set{}
		h := set.Histogram("h", "help", bounds)
		list := rapid.SliceOf(rapid.Float64Range(-1, 100)).Draw(t, "values")
		for _, v := range list {
			h.Observe(v)
		}
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(text(t, set)))
		if err != nil {
			t.Fatal(err)
		}
		got := families["h"].GetMetric()[0].GetHistogram()
		if int(got.GetSampleCount()) != len(list) {
			t.Errorf("count = %d, want %d", got.GetSampleCount(), len(list))
		}
		for i, bucket := range got.GetBucket()[:len(bounds)] {
			want := 0
			for _, v := range list {
				if v <= bounds[i] {
					want++
				}
			}
			if int(bucket.GetCumulativeCount()) != want {
				t.Errorf("up to %g: %d, want %d", bounds[i], bucket.GetCumulativeCount(), want)
			}
		}
	})
}

func TestACounterNeverGoesDown(t *testing.T) {
	t.Parallel()
	set := &series.Set{}
	c := set.Counter("n_total", "help")
	for _, n := range []float64{3, -5, math.NaN(), math.Inf(-1)} {
		c.Add(n)
	}
	if got := text(t, set); !strings.Contains(got, "n_total 3\n") {
		t.Errorf("want 3 in\n%s", got)
	}
}

func TestManyGoroutinesLoseNoCount(t *testing.T) {
	t.Parallel()
	set := &series.Set{}
	c, g := set.Counter("n_total", "help", "label"), set.Gauge("g", "help")
	h := set.Histogram("h", "help", []float64{1}, "label")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 500 {
				label := string(rune('a' + i%3))
				c.Add(1, label)
				h.Observe(float64(i%2), label)
				g.Add(1)
				if i%100 == 0 {
					_ = set.Write(new(strings.Builder)) // a scrape meanwhile; the race detector watches
				}
			}
		})
	}
	wg.Wait()
	for _, want := range []string{`n_total{label="a"} 1336`, `n_total{label="c"} 1328`, `h_count{label="a"} 1336`, "g 4000"} {
		if got := text(t, set); !slices.Contains(strings.Split(got, "\n"), want) {
			t.Errorf("no line %q in\n%s", want, got)
		}
	}
}

func TestMistakesOfTheProgramPanic(t *testing.T) {
	t.Parallel()
	set := &series.Set{}
	for name, do := range map[string]func(){
		"a missing label":  func() { set.Counter("a", "help", "x", "y").Add(1, "1") },
		"unsorted labels":  func() { set.Counter("b", "help", "y", "x") },
		"a fourth label":   func() { set.Gauge("c", "help", "a", "b", "c", "d") },
		"too many values":  func() { set.Histogram("d", "help", nil).Observe(1, "x") },
		"an unknown value": func() { set.Gauge("e", "help").Add(1, "x") },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			do()
		})
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestAReaderThatIsGoneIsAnError(t *testing.T) {
	t.Parallel()
	set := &series.Set{}
	set.Gauge("g", "help")
	if err := set.Write(broken{}); err == nil {
		t.Error("no error")
	}
}
