package document

import (
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// Entry is an LLM object in a file.
type Entry struct {
	Path  []string // of members; empty when the entry is the whole file
	Value jsonedit.Value

	// Gate is why OpenHands refuses the entry, or ""; see canon for what it
	// may also refuse.
	Gate canon.Action

	// BillOnly says that the entry is there for the bill only, and its URL
	// and key have no effect.
	BillOnly bool

	tolerant bool
}

// Entries lists the places in the file where OpenHands has LLM objects. It does not
// search: free-form members may have objects that look like them.
func (s Snapshot) Entries() []Entry {
	if s.Doc == nil || s.Gate != nil && s.Gate.Action != canon.ErrorName {
		return nil
	}
	root := s.Doc.Root()
	switch s.File.Kind {
	case Profile:
		return []Entry{entryAt(root)}
	case Settings:
		return settingsEntries(root)
	case CLI:
		return cliEntries(root)
	}
	return nil
}

func settingsEntries(root jsonedit.Value) []Entry {
	agent := root.Get("agent_settings")
	if !agent.Get("llm").Exists() {
		return nil
	}
	e := entryAt(root, "agent_settings", "llm")
	kind, _ := agent.Get("agent_kind").Text()
	version, _ := agent.Get("schema_version").Int()
	e.BillOnly = kind == acp
	e.tolerant = version >= canonicalVersion
	return []Entry{e}
}

func cliEntries(root jsonedit.Value) []Entry {
	var entries []Entry
	for _, path := range [][]string{{"llm"}, {"condenser", "llm"}} {
		llm := root.At(path...)
		if !llm.Exists() {
			continue
		}
		entries = append(entries, entryAt(root, path...))
		for name := range llm.Get("llms_for_routing").Members() {
			entries = append(entries, entryAt(root, append(path[:len(path):len(path)], "llms_for_routing", name)...))
		}
	}
	return entries
}

func entryAt(root jsonedit.Value, path ...string) Entry {
	e := Entry{Path: path, Value: root.At(path...)}
	if e.Value.Kind() != jsonedit.Object {
		e.Gate = canon.ErrorSchema
	} else if model, ok := e.Value.Get("model").Text(); !ok || model == "" {
		e.Gate = canon.ErrorModel
	}
	return e
}

// Model is the model as it is written.
func (e Entry) Model() string {
	model, _ := e.Value.Get("model").Text()
	return model
}

// Connection is the provider_connection_id, or "".
func (e Entry) Connection() string {
	id, _ := e.Value.Get("provider_connection_id").Text()
	return id
}

// Canon is what matters about the form of the entry. known reports whether there
// is a provider connection of this id.
func (e Entry) Canon(known func(id string) bool) canon.Entry {
	id := e.Connection()
	return canon.Entry{
		Model:    e.Model(),
		URL:      canon.URLOf(e.Value.Get("base_url")),
		Linked:   id != "" && known(id),
		Tolerant: e.tolerant,
	}
}

// JSONPath is the path for people: "$.agent_settings.llm".
func (e Entry) JSONPath() string { return strings.Join(append([]string{"$"}, e.Path...), ".") }

// Member is the path of a member of the entry.
func (e Entry) Member(name string) []string { return append(e.Path[:len(e.Path):len(e.Path)], name) }
