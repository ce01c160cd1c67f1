package files

import (
	"encoding/json"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/settings"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// writer changes a text until something fails.
type writer struct {
	doc  *jsonedit.Doc
	show shape.Show
	err  error
}

// differences writes what differs between two objects. Equal members keep their
// bytes, and so do secrets that ohgw cannot decrypt.
func (w *writer) differences(path []string, before, after shape.Tree) {
	for _, name := range after.Names() {
		old, there := before[name]
		now := after[name]
		at := append(append([]string{}, path...), name)
		oldTree, was := old.(shape.Tree)
		nowTree, is := now.(shape.Tree)
		switch {
		case there && shape.Equal(old, now):
		case was && is && w.doc.Root().At(w.route(at)...).Kind() == jsonedit.Object:
			w.differences(at, oldTree, nowTree)
		default:
			w.set(at, now)
		}
	}
	for _, name := range before.Names() {
		if _, stays := after[name]; !stays {
			w.remove(append(append([]string{}, path...), name))
		}
	}
}

// set writes a value, in objects that are made where they are missing.
func (w *writer) set(path []string, value any) {
	if w.err != nil {
		return
	}
	data, err := encode(value, w.show)
	if err != nil {
		w.err = err
		return
	}
	path = w.route(path)
	for i := 1; i < len(path); i++ {
		if w.doc.Root().At(path[:i]...).Kind() == jsonedit.Object {
			continue
		}
		if w.doc, w.err = edited(w.doc.Set([]byte("{}"), path[:i]...))(w.doc); w.err != nil {
			return
		}
	}
	w.doc, w.err = edited(w.doc.Set(data, path...))(w.doc)
}

func (w *writer) remove(path []string) {
	if w.err == nil {
		w.doc, w.err = edited(w.doc.Delete(w.route(path)...))(w.doc)
	}
}

// edited keeps the text where an edit failed.
func edited(after *jsonedit.Doc, err error) func(before *jsonedit.Doc) (*jsonedit.Doc, error) {
	return func(before *jsonedit.Doc) (*jsonedit.Doc, error) {
		if err != nil {
			return before, err
		}
		return after, nil
	}
}

// name writes a name, or null.
func (w *writer) name(member string, before, after *string) {
	switch {
	case before == nil && after == nil || before != nil && after != nil && *before == *after:
	case after == nil:
		w.set([]string{member}, json.RawMessage("null"))
	default:
		w.set([]string{member}, json.RawMessage(jsonedit.Quote(*after)))
	}
}

// route is where a member is in the text: files of before OpenHands 1.37 have tool
// servers in an object of their own.
func (w *writer) route(path []string) []string {
	const servers, wrapper = "mcp_config", "mcpServers"
	if len(path) < 3 || path[0] != settings.AgentMember || path[1] != servers {
		return path
	}
	if w.doc.Root().At(settings.AgentMember, servers, wrapper).Kind() != jsonedit.Object {
		return path
	}
	return append([]string{settings.AgentMember, servers, wrapper}, path[2:]...)
}
