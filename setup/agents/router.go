package agents

import (
	"context"

	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/routing"
)

// routerOf is the active meta-profile of a store, read again for each choice: OpenHands
// may have activated another one.
func routerOf(files *profile.Store) func(context.Context) (*routing.Router, error) {
	return func(context.Context) (*routing.Router, error) { return files.ActiveRouter() }
}
