package metrics

import (
	"time"

	"github.com/ohgw/ohgw/daemon/metrics/series"
)

// Places are the places for runs of all gateways that share a state.
type Places struct{ Used, Free, Waiting int }

// Ledger counts what a gateway asks of the state that it shares with others.
type Ledger struct {
	took      *series.Histogram
	takeovers *series.Counter
	fenced    *series.Counter
}

// ledgerBuckets are for statements of a database, in seconds.
var ledgerBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}

// Ledger makes the metrics of a shared state. places is called for each scrape; it is
// false where nobody can tell.
func (m *Metrics) Ledger(places func() (Places, bool)) *Ledger {
	s := &m.set
	l := &Ledger{
		took:      s.Histogram("ohgw_ledger_seconds", "Duration of the questions to the database that gateways share, by operation; waiting for a turn is not included.", ledgerBuckets, "op"),
		takeovers: s.Counter("ohgw_takeovers_total", "Runs taken over from another gateway."),
		fenced:    s.Counter("ohgw_fenced_total", "Operations refused because another gateway has the run."),
	}
	s.Add(func() []series.Family {
		p, ok := places()
		if !ok {
			return nil
		}
		slots := series.Family{
			Kind: series.KindGauge, Name: "ohgw_slots", Help: "Places for runs of all gateways together, by state.",
			Samples: []series.Sample{place("free", p.Free), place("used", p.Used)},
		}
		return []series.Family{slots, series.One(series.KindGauge, "ohgw_queue_depth", "Requests of all gateways that wait for a place or for their conversation.", float64(p.Waiting))}
	})
	return l
}

func place(state string, n int) series.Sample {
	return series.Sample{Labels: []series.Label{{Name: "state", Value: state}}, Value: float64(n)}
}

// Asked counts one question.
func (l *Ledger) Asked(op string, took time.Duration) { l.took.Observe(seconds(took), op) }

// TakenOver counts runs that were another gateway's.
func (l *Ledger) TakenOver(n int) { l.takeovers.Add(float64(n)) }

// Fenced counts an operation for a run that is another gateway's.
func (l *Ledger) Fenced() { l.fenced.Add(1) }
