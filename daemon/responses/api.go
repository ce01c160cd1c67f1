// Package responses answers requests of OpenAI's Responses API, and keeps the
// responses: those that are being made, as the events of their streams (live.go),
// and those that are stored, as files (store.go). These two files know nothing of
// HTTP and nothing of how a run ends: the handlers say it.
package responses

import (
	"sync"

	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/daemon/gate"
)

// API answers requests about responses: each is made as a chat completion is.
// Make one with New.
type API struct {
	core        *gate.Core
	completions *completions.API // makes the answers
	Store       *Store
	rejoining   sync.Mutex // held while a response of an earlier process is taken up
}

// New returns the API of a daemon.
func New(core *gate.Core, api *completions.API) *API {
	return &API{core: core, completions: api, Store: Open(core.StateDir)}
}
