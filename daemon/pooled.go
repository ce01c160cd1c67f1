package daemon

import "github.com/ohgw/ohgw/agentapi"

// serversOf counts the servers of a pool by their states; nil where the backend is not a pool.
func serversOf(b agentapi.Backend) func() map[string]int {
	pool, ok := b.(agentapi.Pooled)
	if !ok {
		return nil
	}
	return func() map[string]int {
		states := map[string]int{string(agentapi.MemberUp): 0, string(agentapi.MemberDraining): 0, string(agentapi.MemberLost): 0}
		for _, m := range pool.Members() {
			states[string(m.State)]++
		}
		return states
	}
}
