package profile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/routing"
)

// ActiveRouter reads the active meta-profile; nil if there is none. Where its file is
// gone, the copy in the settings counts, as in OpenHands. The profiles that it names need
// not be there. The error names the meta-profile and what is wrong with it.
func (s *Store) ActiveRouter() (*routing.Router, error) {
	snap := s.settings().Read()
	if snap.Doc == nil || snap.Gate != nil {
		return nil, nil //nolint:nilerr // settings that OpenHands does not load have no meta-profile
	}
	name := refOf(snap.Doc.Root().Get(activeMeta))
	if name == "" {
		return nil, nil // there is none
	}
	found, err := s.router(name, inlineMeta(snap.Doc.Root()))
	if err != nil {
		return nil, fmt.Errorf("the active %w", err)
	}
	return found, nil
}

// Router finds a meta-profile as an agent of OpenHands does: by its name; where it has no
// file, inline counts, the JSON text of one. Without a name that is inline, or else the
// first one of those that there are.
func (s *Store) Router(name string, inline []byte) (*routing.Router, error) {
	var content jsonedit.Value
	if len(inline) > 0 {
		doc, err := jsonedit.Parse(inline)
		if err != nil {
			return nil, fmt.Errorf("read the meta-profile of the agent: %w", err)
		}
		content = doc.Root()
	}
	if name != "" {
		if _, err := CleanName(name); err != nil {
			return nil, fmt.Errorf("a meta-profile cannot have the name %w", err)
		}
	}
	found, err := s.router(strings.TrimSuffix(name, ".json"), content)
	if err != nil {
		return nil, fmt.Errorf("the %w", err)
	}
	return found, nil
}

func (s *Store) router(name string, inline jsonedit.Value) (*routing.Router, error) {
	if name == "" && inline.Kind() == jsonedit.Object {
		return inlineRouter(name, inline)
	}
	list, err := s.metaProfiles()
	if err != nil {
		return nil, fmt.Errorf("meta-profile cannot be found: %w", err)
	}
	slices.SortFunc(list, func(a, b metaProfile) int { return strings.Compare(a.file.Name(), b.file.Name()) })
	for _, m := range list {
		switch {
		case m.file.Name() != name && name != "":
		case m.err != nil:
			return nil, fmt.Errorf("meta-profile %.80q: %w", m.file.Name(), m.err)
		default:
			return routerOf(m.file.Name(), m.doc.Root()), nil
		}
	}
	switch {
	case inline.Kind() == jsonedit.Object:
		return inlineRouter(name, inline)
	case name == "":
		return nil, errors.New("meta-profile is not chosen, and there is none")
	}
	return nil, fmt.Errorf("meta-profile %.80q does not exist%s", name, others(list))
}

// others names the meta-profiles that there are.
func others(list []metaProfile) string {
	if len(list) == 0 {
		return ""
	}
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = m.file.Name()
	}
	return "; there are: " + strings.Join(names, ", ")
}

// inlineRouter returns a meta-profile that is not in a file: a copy of the one of
// that name, if it has one.
func inlineRouter(name string, root jsonedit.Value) (*routing.Router, error) {
	if err := badMeta(root); err != nil {
		return nil, fmt.Errorf("meta-profile %.80q, in the settings of the agent: %w", name, err)
	}
	return routerOf(name, root), nil
}

func routerOf(name string, root jsonedit.Value) *routing.Router {
	r := &routing.Router{Name: name, Classifier: refOf(root.Get("classifier_model"))}
	for class := range root.Get("classes").Elements() {
		description, _ := class.Get("description").Text()
		r.Classes = append(r.Classes, routing.Class{Description: description, Profile: refOf(class.Get("model"))})
	}
	r.Template, _ = root.Get("prompt_template").Text()
	r.Table, _ = root.Get("model_table").Text()
	return r
}
