package llm

import (
	"net/http"
	"strconv"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
)

// costOf computes what an answer cost, in US dollars; 0 if unknown. The first that
// knows counts: LiteLLM's header, the answer itself, the profile's prices, the
// catalogue.
func (m *model) costOf(header http.Header, b *wire.Builder) float64 {
	for _, name := range []string{"Llm_provider-X-Litellm-Response-Cost", "X-Litellm-Response-Cost"} {
		if cost, err := strconv.ParseFloat(header.Get(name), 64); err == nil && cost > 0 {
			return cost
		}
	}
	if b.Cost > 0 {
		return b.Cost
	}
	p, u := &m.cfg.Profile, b.Usage
	in, out := float64(u.PromptTokens), float64(u.CompletionTokens)
	if p.InputCost != nil && p.OutputCost != nil {
		return in**p.InputCost + out**p.OutputCost
	}
	if !m.route.provider.priced || m.route.custom {
		return 0
	}
	const million = 1e6
	list := m.features.facts.price
	read, write := float64(u.CacheReadTokens), float64(u.CacheWriteTokens)
	readPrice, writePrice := list.cacheRead, list.cacheWrite
	if readPrice == 0 {
		readPrice = list.in
	}
	if writePrice == 0 {
		writePrice = list.in
	}
	return ((in-read-write)*list.in + read*readPrice + write*writePrice + out*list.out) / million
}
