package agents

import (
	"context"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/internal/profile"
)

// routerOf is the active meta-profile of a store, read again for each choice: OpenHands
// may have activated another one.
func routerOf(files *profile.Store) func(context.Context) (*daemon.Router, error) {
	return func(context.Context) (*daemon.Router, error) {
		found, err := files.ActiveRouter()
		if found == nil || err != nil {
			return nil, err
		}
		r := &daemon.Router{Name: found.Name, Classifier: found.Classifier, Template: found.Template, Table: found.Table}
		for _, class := range found.Classes {
			r.Classes = append(r.Classes, daemon.RouterClass(class))
		}
		return r, nil
	}
}
