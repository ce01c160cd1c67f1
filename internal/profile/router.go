package profile

import (
	"fmt"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// Router is the content of a meta-profile: how one call of the profile Classifier
// chooses the profile for a task, by Classes or by a prompt of the user's own.
type Router struct {
	Name       string
	Classifier string
	Classes    []Class
	Template   string // with {{ instance_text }}; "" where Classes count
	Table      string // for {{ model_table }} in it
}

// Class is a kind of tasks and the profile for it.
type Class struct{ Description, Profile string }

// ActiveRouter is the active meta-profile; nil if there is none. Where its file is gone,
// the copy in the settings counts, as in OpenHands. The profiles that it names need not be
// there. The error names the meta-profile and what is wrong with it.
func (s *Store) ActiveRouter() (*Router, error) {
	snap := s.settings().Read()
	if snap.Doc == nil || snap.Gate != nil {
		return nil, nil //nolint:nilerr // settings that OpenHands does not load have no meta-profile
	}
	name := refOf(snap.Doc.Root().Get(activeMeta))
	if name == "" {
		return nil, nil // there is none
	}
	list, err := s.metaProfiles()
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		switch {
		case m.file.Name() != name:
		case m.err != nil:
			return nil, fmt.Errorf("the active meta-profile %.80q: %w", name, m.err)
		default:
			return routerOf(name, m.doc.Root()), nil
		}
	}
	if root := inlineMeta(snap.Doc.Root()); root.Kind() == jsonedit.Object {
		if err := badMeta(root); err != nil {
			return nil, fmt.Errorf("the copy of the active meta-profile %.80q in the settings: %w", name, err)
		}
		return routerOf(name, root), nil
	}
	return nil, fmt.Errorf("the active meta-profile %.80q does not exist", name)
}

func routerOf(name string, root jsonedit.Value) *Router {
	r := &Router{Name: name, Classifier: refOf(root.Get("classifier_model"))}
	for class := range root.Get("classes").Elements() {
		description, _ := class.Get("description").Text()
		r.Classes = append(r.Classes, Class{description, refOf(class.Get("model"))})
	}
	r.Template, _ = root.Get("prompt_template").Text()
	r.Table, _ = root.Get("model_table").Text()
	return r
}
