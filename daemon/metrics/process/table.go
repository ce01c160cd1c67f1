package process

import "github.com/ohgw/ohgw/daemon/metrics/series"

// The classes of memory that more than one figure is made of.
const (
	objects     = "/memory/classes/heap/objects:bytes"
	unused      = "/memory/classes/heap/unused:bytes"
	released    = "/memory/classes/heap/released:bytes"
	free        = "/memory/classes/heap/free:bytes"
	stacks      = "/memory/classes/heap/stacks:bytes"
	mcacheInUse = "/memory/classes/metadata/mcache/inuse:bytes"
	mspanInUse  = "/memory/classes/metadata/mspan/inuse:bytes"
	tiny        = "/gc/heap/tiny/allocs:objects"
)

// runtimeTable has, for each figure of the Go runtime, the names in
// [runtime/metrics] whose values add up to it.
var runtimeTable = []struct {
	name string
	kind series.Kind
	help string
	sum  []string
}{
	{"go_gc_gogc_percent", series.KindGauge, "Heap size target percentage (GOGC).", []string{"/gc/gogc:percent"}},
	{"go_gc_gomemlimit_bytes", series.KindGauge, "Memory limit of the Go runtime (GOMEMLIMIT).", []string{"/gc/gomemlimit:bytes"}},
	{"go_sched_gomaxprocs_threads", series.KindGauge, "Number of threads that can execute Go code simultaneously (GOMAXPROCS).", []string{"/sched/gomaxprocs:threads"}},
	{"go_memstats_alloc_bytes", series.KindGauge, "Number of bytes allocated in heap and currently in use.", []string{objects}},
	{"go_memstats_alloc_bytes_total", series.KindCounter, "Total number of bytes allocated in heap until now, even if released already.", []string{"/gc/heap/allocs:bytes"}},
	{"go_memstats_buck_hash_sys_bytes", series.KindGauge, "Number of bytes used by the profiling bucket hash table.", []string{"/memory/classes/profiling/buckets:bytes"}},
	{"go_memstats_frees_total", series.KindCounter, "Total number of heap objects freed.", []string{"/gc/heap/frees:objects", tiny}},
	{"go_memstats_gc_sys_bytes", series.KindGauge, "Number of bytes used for garbage collection system metadata.", []string{"/memory/classes/metadata/other:bytes"}},
	{"go_memstats_heap_alloc_bytes", series.KindGauge, "Number of heap bytes allocated and currently in use, same as go_memstats_alloc_bytes.", []string{objects}},
	{"go_memstats_heap_idle_bytes", series.KindGauge, "Number of heap bytes waiting to be used.", []string{released, free}},
	{"go_memstats_heap_inuse_bytes", series.KindGauge, "Number of heap bytes that are in use.", []string{objects, unused}},
	{"go_memstats_heap_objects", series.KindGauge, "Number of currently allocated objects.", []string{"/gc/heap/objects:objects"}},
	{"go_memstats_heap_released_bytes", series.KindGauge, "Number of heap bytes released to the system.", []string{released}},
	{"go_memstats_heap_sys_bytes", series.KindGauge, "Number of heap bytes obtained from the system.", []string{objects, unused, released, free}},
	{"go_memstats_mallocs_total", series.KindCounter, "Total number of heap objects allocated.", []string{"/gc/heap/allocs:objects", tiny}},
	{"go_memstats_mcache_inuse_bytes", series.KindGauge, "Number of bytes in use by mcache structures.", []string{mcacheInUse}},
	{"go_memstats_mcache_sys_bytes", series.KindGauge, "Number of bytes obtained from the system for mcache structures.", []string{mcacheInUse, "/memory/classes/metadata/mcache/free:bytes"}},
	{"go_memstats_mspan_inuse_bytes", series.KindGauge, "Number of bytes in use by mspan structures.", []string{mspanInUse}},
	{"go_memstats_mspan_sys_bytes", series.KindGauge, "Number of bytes obtained from the system for mspan structures.", []string{mspanInUse, "/memory/classes/metadata/mspan/free:bytes"}},
	{"go_memstats_next_gc_bytes", series.KindGauge, "Number of heap bytes when the next garbage collection will take place.", []string{"/gc/heap/goal:bytes"}},
	{"go_memstats_other_sys_bytes", series.KindGauge, "Number of bytes used for other system allocations.", []string{"/memory/classes/other:bytes"}},
	{"go_memstats_stack_inuse_bytes", series.KindGauge, "Number of bytes in use by the stack allocator.", []string{stacks}},
	{"go_memstats_stack_sys_bytes", series.KindGauge, "Number of bytes obtained from the system for the stack allocator.", []string{stacks, "/memory/classes/os-stacks:bytes"}},
	{"go_memstats_sys_bytes", series.KindGauge, "Number of bytes obtained from the system.", []string{"/memory/classes/total:bytes"}},
}
