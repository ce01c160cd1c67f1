package settings

import (
	"context"
	"fmt"
	"net/http"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
)

// answer makes a handler of what finds or changes something and returns what is answered.
func answer[T any](status int, do func(r *http.Request) (T, error)) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := do(r)
		if err != nil {
			return err
		}
		wire.WriteJSON(w, status, body)
		return nil
	}
}

// list answers with all of a kind.
func list[T any](all func(context.Context) (T, error)) wire.Handler {
	return answer(http.StatusOK, func(r *http.Request) (T, error) { return all(r.Context()) })
}

// byName makes a handler as answer does, for the profile that the path names.
func byName[T any](status int, do func(r *http.Request, name string) (T, error)) wire.Handler {
	return answer(status, func(r *http.Request) (T, error) {
		name, err := pathName(r)
		if err != nil {
			var none T
			return none, err
		}
		return do(r, name)
	})
}

// kind has the changes that each kind of profile has. The noun begins their answers.
type kind struct {
	noun   string
	save   func(r *http.Request, name string) error
	remove func(ctx context.Context, name string) error
	rename func(ctx context.Context, name, to string) error // nil: they keep their names
}

// changed is the answer of a change.
func changed(name, message string) map[string]any {
	return map[string]any{"name": name, "message": message}
}

func (k kind) saved() wire.Handler {
	return byName(http.StatusCreated, func(r *http.Request, name string) (map[string]any, error) {
		return changed(name, fmt.Sprintf("%s '%s' saved", k.noun, name)), k.save(r, name)
	})
}

func (k kind) removed() wire.Handler {
	return byName(http.StatusOK, func(r *http.Request, name string) (map[string]any, error) {
		return changed(name, fmt.Sprintf("%s '%s' deleted", k.noun, name)), k.remove(r.Context(), name)
	})
}

func (k kind) renamed() wire.Handler {
	return byName(http.StatusOK, func(r *http.Request, name string) (map[string]any, error) {
		to, err := newName(r)
		if err != nil {
			return nil, err
		}
		message := fmt.Sprintf("%s '%s' renamed to '%s'", k.noun, name, to)
		if name == to {
			message = fmt.Sprintf("%s '%s' unchanged (same name)", k.noun, name)
		}
		return changed(to, message), k.rename(r.Context(), name, to)
	})
}
