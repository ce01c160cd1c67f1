package agents

import (
	"context"

	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/internal/profile"
)

// routerOf is the active meta-profile of a store, read again for each choice: OpenHands
// may have activated another one.
func routerOf(files *profile.Store) func(context.Context) (*completions.Router, error) {
	return func(context.Context) (*completions.Router, error) {
		found, err := files.ActiveRouter()
		if found == nil || err != nil {
			return nil, err
		}
		r := &completions.Router{Name: found.Name, Classifier: found.Classifier, Template: found.Template, Table: found.Table}
		for _, class := range found.Classes {
			r.Classes = append(r.Classes, completions.RouterClass(class))
		}
		return r, nil
	}
}
