// Package responses answers requests of OpenAI's Responses API, and keeps the
// responses: those that are being made, as the events of their streams (live.go),
// and those that are stored, as files (store.go). These two files know nothing of
// HTTP and nothing of how a run ends: the handlers say it.
package responses

import (
	"sync"

	"github.com/ohgw/ohgw/daemon/completions"
)

// API answers requests about responses: each is made as a chat completion is.
// Make one with New.
type API struct {
	*completions.API
	Store     *Store
	rejoining sync.Mutex // held while a response of an earlier process is taken up
}

// New returns the API of a daemon.
func New(api *completions.API) *API {
	return &API{API: api, Store: Open(api.StateDir)}
}
