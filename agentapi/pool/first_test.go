package pool_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/pool"
)

// The first list is what all servers that have answered agree on, also the last of them.
func TestTheFirstListHasTheProfilesOfAll(t *testing.T) {
	t.Parallel()
	var addresses []string
	for server := range 5 {
		s := newServer(t, "http://llm")
		for n := range 100 {
			s.SaveProfile(fmt.Sprint("common", n), fakeserver.Profile{Model: "openai/test", BaseURL: "http://llm", Key: "sk-llm"})
		}
		if server > 1 {
			s.SaveProfile("most", fakeserver.Profile{Model: "openai/test", BaseURL: "http://llm", Key: "sk-llm"})
		}
		addresses = append(addresses, s.URL)
	}
	for n := range 20 {
		b, began := newPool(t, pool.Config{Servers: addresses}), time.Now()
		list, err := b.Profiles(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if time.Since(began) >= pool.Patience {
			continue // the machine is so busy that it did not wait for all
		}
		if !slices.ContainsFunc(list, func(p agentapi.Profile) bool { return p.Name == "most" }) {
			t.Fatalf("pool %d lacks a profile that three of five servers have", n)
		}
	}
}
