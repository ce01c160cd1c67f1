package metrics

import (
	"maps"
	"slices"

	"github.com/ohgw/ohgw/daemon/metrics/series"
)

// Pool counts the agent-servers of a pool. members is called for each scrape, and gives
// how many are in each state.
func (m *Metrics) Pool(members func() map[string]int) {
	m.set.Add(func() []series.Family {
		states := members()
		f := series.Family{Kind: series.KindGauge, Name: "ohgw_pool_servers", Help: "Agent-servers of the pool, by state."}
		for _, state := range slices.Sorted(maps.Keys(states)) {
			f.Samples = append(f.Samples, place(state, states[state]))
		}
		return []series.Family{f}
	})
}
