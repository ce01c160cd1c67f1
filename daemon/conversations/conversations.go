// Package conversations answers requests about conversations below /v1: what is in
// them, what clients add to them, what may be done with them, and which runs go on.
//
// Invariant: a conversation that is not open to a client is one that it does not
// have, in what is answered and in how long the answer takes.
package conversations

import (
	"github.com/ohgw/ohgw/daemon/clientitems"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/responses"
)

// API answers requests about conversations, and lists the runs in them. Make one
// with New.
type API struct {
	core      *gate.Core
	items     *clientitems.Store
	responses *responses.Store
	// forget deletes what belongs to a conversation that was deleted.
	forget func(conversation string)
}

// New returns the API of a daemon; forget deletes what else belongs to a
// conversation that was deleted.
func New(core *gate.Core, items *clientitems.Store, stored *responses.Store, forget func(conversation string)) *API {
	return &API{core: core, items: items, responses: stored, forget: forget}
}
