//go:build e2e && unix

package scale_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The benchmarks print figures and judge none.

// milliseconds prints the middle and the worst hundredth of some times.
func milliseconds(b *testing.B, name string, times []time.Duration) {
	b.Helper()
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2].Seconds()*1000, name+"-p50-ms")
	b.ReportMetric(times[len(times)*99/100].Seconds()*1000, name+"-p99-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkState is a turn of an agent that answers at once, of a gateway with a state
// directory and of one that shares a database: in turn, so that both have the same
// machine. "more" is the difference of a pair.
func BenchmarkState(b *testing.B) {
	of := map[string]*world{
		"files":    newWorld(b, options{gateways: 1, alone: true, direct: true}),
		"postgres": newWorld(b, options{gateways: 1, direct: true}),
	}
	for _, m := range []mode{keyed, marked} {
		for _, stream := range []bool{false, true} {
			b.Run(fmt.Sprintf("keyed=%v/first-byte=%v", m == keyed, stream), func(b *testing.B) {
				took := map[string][]time.Duration{}
				for b.Loop() {
					for name, w := range of {
						a := w.message(m, "")
						a.stream = stream
						began := time.Now()
						r := post(b.Context(), w.gateways[0].URL, a, 0)
						if r.err != nil {
							b.Fatal(r.err)
						}
						if stream {
							took[name] = append(took[name], r.firstByte.Sub(began))
						} else {
							took[name] = append(took[name], time.Since(began))
						}
					}
				}
				var more []time.Duration
				for i, t := range took["postgres"] {
					more = append(more, t-took["files"][i])
				}
				for name, times := range took {
					milliseconds(b, name, times)
				}
				milliseconds(b, "more", more)
			})
		}
	}
}

// BenchmarkStatements counts what a turn asks of the database.
func BenchmarkStatements(b *testing.B) {
	w := newWorld(b, options{gateways: 1})
	for _, m := range modes {
		b.Run(string(m), func(b *testing.B) {
			g := w.gateways[0]
			statements, trips, began := g.wire.statements.Load(), g.wire.trips.Load(), time.Now()
			for b.Loop() {
				if r := post(b.Context(), g.URL, w.message(m, ""), 0); r.err != nil {
					b.Fatal(r.err)
				}
			}
			in := time.Since(began)
			asked, went := g.wire.statements.Load(), g.wire.trips.Load()
			wait(b.Context(), in) // what the gateway asks meanwhile, it asks without turns
			b.ReportMetric(float64(asked-statements-(g.wire.statements.Load()-asked))/float64(b.N), "statements/turn")
			b.ReportMetric(float64(went-trips-(g.wire.trips.Load()-went))/float64(b.N), "round-trips/turn")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkDaemons is turns of agents that think for 300 ms, with 6 or 16 runs for each
// gateway and twice as many clients: with 16, three gateways fill two cores.
func BenchmarkDaemons(b *testing.B) {
	for _, each := range []int{6, 16} {
		var one float64
		for n := 1; n <= 3; n++ {
			b.Run(fmt.Sprintf("runs=%d/daemons=%d", each, n), func(b *testing.B) {
				rate := turns(b, n, each)
				if n == 1 {
					one = rate
				}
				b.ReportMetric(rate, "turns/s")
				b.ReportMetric(rate/one, "x-one")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// turns is how many turns gateways do in a second.
func turns(b *testing.B, gateways, each int) float64 {
	b.Helper()
	w := newWorld(b, options{gateways: gateways, direct: true, room: 64, args: []string{"--max-runs", strconv.Itoa(each * gateways)}})
	var left atomic.Int64
	left.Store(int64(b.N * each * gateways))
	var clients sync.WaitGroup
	b.ResetTimer()
	for range 2 * each * gateways {
		clients.Go(func() {
			for left.Add(-1) >= 0 {
				if o := w.ask(b.Context(), w.message(marked, "[[wait 300ms]]")); o.err != nil {
					b.Error(o.err)
				}
			}
		})
	}
	clients.Wait()
	return float64(b.N*each*gateways) / b.Elapsed().Seconds()
}

// BenchmarkStateStart is a start until the gateway answers, and the memory that it has
// then.
func BenchmarkStateStart(b *testing.B) {
	of := map[string]*world{
		"files":    newWorld(b, options{gateways: 1, alone: true, direct: true}),
		"postgres": newWorld(b, options{gateways: 1, direct: true}),
	}
	took, memory := map[string][]time.Duration{}, map[string][]int{}
	for b.Loop() {
		for name, w := range of {
			g := w.gateways[0]
			g.kill()
			began := time.Now()
			g.start(b)
			took[name] = append(took[name], time.Since(began))
			memory[name] = append(memory[name], resident(g.pid()))
		}
	}
	for name, times := range took {
		milliseconds(b, name, times)
		slices.Sort(memory[name])
		b.ReportMetric(float64(memory[name][len(memory[name])/2])/1024, name+"-MB")
	}
}

// resident is the memory that a process holds, in kilobytes; 0 where the system does
// not report it.
func resident(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			n, _ := strconv.Atoi(string(bytes.Fields(rest)[0]))
			return n
		}
	}
	return 0
}
