package process_test

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon/metrics/process"
)

// values are the last samples of all families.
func values() map[string]float64 {
	found := map[string]float64{}
	for _, f := range process.Families() {
		for _, s := range f.Samples {
			found[f.Name+s.Suffix] = s.Value
		}
	}
	return found
}

func TestTheFiguresOfGoAreThere(t *testing.T) {
	t.Parallel()
	runtime.GC()
	got := values()
	for _, name := range strings.Fields(`
		go_gc_duration_seconds_sum go_gc_duration_seconds_count go_gc_gogc_percent go_gc_gomemlimit_bytes go_goroutines go_info
		go_memstats_alloc_bytes go_memstats_alloc_bytes_total go_memstats_buck_hash_sys_bytes go_memstats_gc_sys_bytes
		go_memstats_heap_alloc_bytes go_memstats_heap_idle_bytes go_memstats_heap_inuse_bytes go_memstats_heap_objects
		go_memstats_heap_sys_bytes go_memstats_last_gc_time_seconds go_memstats_mallocs_total go_memstats_mcache_inuse_bytes
		go_memstats_mcache_sys_bytes go_memstats_mspan_inuse_bytes go_memstats_mspan_sys_bytes go_memstats_next_gc_bytes
		go_memstats_other_sys_bytes go_memstats_stack_inuse_bytes go_memstats_stack_sys_bytes go_memstats_sys_bytes
		go_sched_gomaxprocs_threads go_threads`) {
		if got[name] <= 0 {
			t.Errorf("%s = %g, want more than 0", name, got[name])
		}
	}
	for _, name := range []string{"go_memstats_frees_total", "go_memstats_heap_released_bytes"} {
		if _, ok := got[name]; !ok {
			t.Errorf("no %s", name)
		}
	}
}

func TestTheFiguresOfTheSystemAreThoseOfThisProcess(t *testing.T) {
	t.Parallel()
	known := map[string][]string{
		"linux": {
			"process_cpu_seconds_total", "process_max_fds", "process_open_fds", "process_resident_memory_bytes",
			"process_start_time_seconds", "process_virtual_memory_bytes", "process_virtual_memory_max_bytes",
		},
		"darwin":  {"process_cpu_seconds_total", "process_max_fds", "process_open_fds", "process_start_time_seconds", "process_virtual_memory_max_bytes"},
		"windows": {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds", "process_virtual_memory_bytes"},
	}[runtime.GOOS]
	got := values()
	for _, name := range known {
		if _, ok := got[name]; !ok {
			t.Errorf("no %s", name)
		}
	}
	if slices.Contains(known, "process_start_time_seconds") {
		age := time.Since(time.Unix(int64(got["process_start_time_seconds"]), 0))
		if age < -time.Minute || age > 24*time.Hour {
			t.Errorf("this process is %s old", age)
		}
	}
	if slices.Contains(known, "process_resident_memory_bytes") {
		if resident := got["process_resident_memory_bytes"]; resident < 1<<20 || resident > got["process_virtual_memory_bytes"] {
			t.Errorf("resident memory = %g bytes of %g", resident, got["process_virtual_memory_bytes"])
		}
	}
}

func TestAnOpenFileIsCounted(t *testing.T) { // not parallel: others open files
	before, ok := values()["process_open_fds"]
	if !ok {
		t.Skip("this system does not say")
	}
	for range 20 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	if after := values()["process_open_fds"]; after != before+20 {
		t.Errorf("%g open files, want %g", after, before+20)
	}
}
