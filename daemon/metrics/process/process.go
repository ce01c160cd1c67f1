// Package process has the figures of the process itself under the names that
// Prometheus' clients for Go use, so that dashboards for Go programs work.
//
// The figures of the Go runtime (go_*) are the same everywhere. Those of the
// system (process_*) are what the system tells without cgo: a figure that
// cannot be had is left out, not 0.
package process

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/ohgw/ohgw/daemon/metrics/series"
)

// Families reads the figures as they are now.
func Families() []series.Family {
	families := append(fromRuntime(), fromGC()...)
	threads, _ := runtime.ThreadCreateProfile(nil)
	families = append(families,
		series.One(series.KindGauge, "go_goroutines", "Number of goroutines that currently exist.", float64(runtime.NumGoroutine())),
		series.One(series.KindGauge, "go_threads", "Number of OS threads created.", float64(threads)),
		series.Family{
			Name: "go_info", Help: "Information about the Go environment.", Kind: series.KindGauge,
			Samples: []series.Sample{{Labels: []series.Label{{Name: "version", Value: runtime.Version()}}, Value: 1}},
		},
	)
	var s system
	s.read()
	return append(families, s.families...)
}

// system collects what the operating system says about the process.
type system struct{ families []series.Family }

func (s *system) gauge(name, help string, value float64) {
	s.families = append(s.families, series.One(series.KindGauge, name, help, value))
}

func (s *system) cpu(seconds float64) {
	s.families = append(s.families, series.One(series.KindCounter, "process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", seconds))
}

func (s *system) start(seconds float64) {
	s.gauge("process_start_time_seconds", "Start time of the process since the Unix epoch in seconds.", seconds)
}

func (s *system) openFiles(n int) {
	s.gauge("process_open_fds", "Number of open file descriptors.", float64(n))
}

func (s *system) memory(resident, virtual uint64) {
	s.gauge("process_resident_memory_bytes", "Resident memory size in bytes.", float64(resident))
	s.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", float64(virtual))
}

// limits adds the largest numbers of files and of bytes of virtual memory.
func (s *system) limits(files, virtual uint64) {
	s.gauge("process_max_fds", "Maximum number of open file descriptors.", float64(files))
	s.gauge("process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.", float64(virtual))
}

// fromGC reads the pauses of the garbage collector.
func fromGC() []series.Family {
	gc := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&gc)
	pauses := series.Family{
		Name: "go_gc_duration_seconds", Kind: series.KindSummary,
		Help: "A summary of the wall-time pause (stop-the-world) duration in garbage collection cycles.",
	}
	for i, pause := range gc.PauseQuantiles {
		quantile := strconv.FormatFloat(float64(i)/4, 'g', -1, 64)
		pauses.Samples = append(pauses.Samples, series.Sample{Labels: []series.Label{{Name: "quantile", Value: quantile}}, Value: pause.Seconds()})
	}
	pauses.Samples = append(pauses.Samples,
		series.Sample{Suffix: "_sum", Value: gc.PauseTotal.Seconds()},
		series.Sample{Suffix: "_count", Value: float64(gc.NumGC)})
	last := 0.0
	if gc.NumGC > 0 {
		last = float64(gc.LastGC.UnixNano()) / 1e9
	}
	return []series.Family{
		pauses,
		series.One(series.KindGauge, "go_memstats_last_gc_time_seconds", "Number of seconds since 1970 of last garbage collection.", last),
	}
}

// fromRuntime reads the figures of the table, all at once.
func fromRuntime() []series.Family {
	var samples []metrics.Sample
	for _, row := range runtimeTable {
		for _, name := range row.sum {
			samples = append(samples, metrics.Sample{Name: name})
		}
	}
	metrics.Read(samples)
	families := make([]series.Family, 0, len(runtimeTable))
	for _, row := range runtimeTable {
		var sum uint64
		known := true
		for range row.sum {
			value := samples[0].Value
			samples = samples[1:]
			if known = known && value.Kind() == metrics.KindUint64; known { // another Go may not have it
				sum += value.Uint64()
			}
		}
		if known {
			families = append(families, series.One(row.kind, row.name, row.help, float64(sum)))
		}
	}
	return families
}
