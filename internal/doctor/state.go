package doctor

import (
	"context"
	"fmt"
	"time"
)

// State is the state that several gateways share.
type State struct {
	Address string // without credentials
	Server  string // the version of Postgres
	Tables  int    // their version
	Skew    time.Duration
	Up      int // gateways that live
	Lost    int // gateways that were lost and have runs still
	// Strangers are the addresses of agent-servers that gateways with another state use.
	Strangers []string
}

// checkState asks the database that gateways share.
func checkState(ctx context.Context, w *World) Result {
	s, err := w.State(ctx)
	if err != nil {
		return failed(err)
	}
	r := fine("%s: Postgres %s, tables of version %d, %s", s.Address, s.Server, s.Tables, gateways(s.Up))
	if s.Skew.Abs() > skew {
		r = r.warn(fmt.Sprintf("the clock of the database differs from this machine's by %s", s.Skew.Abs().Round(time.Second)), "", "set both clocks by the network: timedatectl set-ntp true")
	}
	if s.Lost > 0 {
		cause := "no gateway is there to take them over"
		if s.Up > 0 {
			cause = "another gateway is about to take them over"
		}
		r = r.warn(gateways(s.Lost)+" with runs cannot be reached any more", cause, "ohgw state status")
	}
	for _, address := range s.Strangers {
		r = r.warn("gateways with another state use the agent-server at "+address, "they and these do not know of each other's runs, so that a request can run twice",
			"give all gateways in front of it the same --state")
	}
	return r
}

func gateways(n int) string {
	if n == 1 {
		return "1 gateway"
	}
	return fmt.Sprintf("%d gateways", n)
}
