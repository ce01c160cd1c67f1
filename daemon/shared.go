package daemon

import (
	"context"

	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/owners"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/daemon/run/ledger"
)

// Shared is what several gateways share that answer as one. What it has takes the place of
// the records in the state directory.
type Shared struct {
	// Check reports why what they share cannot be used now; nil: it always can.
	Check func(context.Context) error
	// Ledger says which run answers a request.
	Ledger ledger.Ledger
	// Shots are the conversations that are removed after their runs.
	Shots ledger.Shots
	// Owners are whose all conversations are.
	Owners run.Owners
	// Chats are those of chat UIs.
	Chats chats.Store
}

// check reports why what the gateways share cannot be used now.
func (s *Shared) check(ctx context.Context) error {
	if s == nil || s.Check == nil {
		return nil
	}
	return s.Check(ctx)
}

// orAlone returns s, or what a gateway has that is alone.
func (s *Shared) orAlone(stateDir string) Shared {
	if s != nil {
		return *s
	}
	return Shared{Owners: owners.Open(stateDir)}
}
