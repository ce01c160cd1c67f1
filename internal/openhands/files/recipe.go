package files

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/uuid"
)

var errRecipeVersion = errors.New("its schema_version is not known")

// parse reads a recipe in its version, the first one as the second. One that is newer
// than all known ones is read as far as it is understood.
func (s *recipeFiles) parse(doc *jsonedit.Doc) (shape.Tree, []pydantic.Fault, error) {
	version, ok := shape.RecipeVersionOf(doc.Root())
	if !ok {
		return nil, nil, errRecipeVersion
	}
	doc, err := presentRecipe(doc, version)
	if err != nil {
		return nil, nil, err
	}
	tree, faults := s.sealing.read(shape.AgentProfile(version), doc.Root())
	return tree, faults, nil
}

// presentRecipe removes from a recipe what its version only has for the sake of older ones.
// The first version had skills, and no tools where all were meant.
func presentRecipe(doc *jsonedit.Doc, version int64) (*jsonedit.Doc, error) {
	var err error
	drop := []string{}
	switch root := doc.Root(); version {
	case 1:
		name, _ := root.Get("name").Text()
		revision, _ := root.Get("revision").Int()
		if name == seedName && revision == 0 && string(root.Get("tools").Raw()) == "[]" {
			if doc, err = doc.Set([]byte("null"), "tools"); err != nil {
				return nil, err
			}
		}
		drop = append(drop, "skills")
	case shape.ToolsVersion:
		drop = append(drop, shape.Switches()...)
	}
	for _, name := range drop {
		if doc, err = doc.Delete(name); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// write writes a recipe that a client has sent with these members; nil is all
// of them. The lock is the caller's.
func (s *AgentProfiles) write(f document.File, tree shape.Tree, given map[string]any) error {
	before := f.Read()
	id := uuid.New()
	switch {
	case before.Sealed != nil:
		return refuse(openhands.Malformed, "Agent profile '%s' %s.", f.Name(), before.Sealed.Msg)
	case before.Missing():
		all, err := s.files.all()
		if err != nil {
			return err
		}
		if len(all) >= maxAgentProfiles {
			return refuse(openhands.Taken, "Agent profile limit reached (%d). Delete a profile before saving a new one.", maxAgentProfiles)
		}
	case before.Doc != nil && isUUID(before.Doc.Root().Get("id")):
		id, _ = before.Doc.Root().Get("id").Text()
		revision, _ := before.Doc.Root().Get("revision").Int()
		tree["revision"] = json.RawMessage(strconv.FormatInt(revision+1, 10))
	}
	tree.Set("id", &id)
	w := &writer{show: shape.Plain}
	if old, ok := s.editable(before, tree); ok {
		follow(old, tree, given)
		w.doc = before.Doc
		w.differences(nil, old, tree)
	} else {
		if w.doc, w.err = newDoc("{}"); w.err != nil {
			return w.err
		}
		for _, name := range tree.Names() {
			w.set([]string{name}, tree[name])
		}
	}
	if w.err != nil {
		return w.err
	}
	return f.Write(w.doc.Bytes())
}

// editable is a recipe whose file is changed in place: one of a version that stays, and of
// the kind of the new one.
func (s *AgentProfiles) editable(before document.Snapshot, tree shape.Tree) (shape.Tree, bool) {
	if before.Doc == nil || before.Gate != nil || before.Doc.Irregular().Duplicate {
		return nil, false
	}
	old, faults, err := s.files.parse(before.Doc)
	version, _ := shape.RecipeVersionOf(before.Doc.Root())
	return old, err == nil && len(faults) == 0 && version >= shape.SwitchesVersion && old.Text("agent_kind") == tree.Text("agent_kind")
}

// follow gives a recipe the version of the one that it replaces. What a client of
// OpenHands 1.43.1 does not know and has not sent stays. Where that version cannot say what
// the recipe says, the recipe is of the newest one.
func follow(old, tree shape.Tree, given map[string]any) {
	for _, name := range shape.RecipeNewer() {
		if _, sent := given[name]; given != nil && !sent && old[name] != nil {
			tree[name] = old[name]
		}
	}
	_, had := old["persona"]
	_, has := tree[shape.Switches()[0]]
	switch {
	case tree.Text("agent_kind") == "acp":
	case had && has:
		tree.Fold()
	case !had && !has && shorten(tree):
		tree.Unfold()
	case !had && !has:
		return
	}
	tree["schema_version"] = old["schema_version"]
}

// shorten takes away from a recipe what the version with switches does not have. False: that
// version cannot say the same, and nothing is taken away.
func shorten(tree shape.Tree) bool {
	if len(tree.List("tools")) == 0 && !shape.IsNull(tree["tools"]) {
		return false // an empty list means all tools there
	}
	names := slices.DeleteFunc(shape.RecipeNewer(), func(name string) bool { return name == "secret_refs" })
	for _, name := range names {
		if raw, plain := tree[name].(json.RawMessage); tree[name] != nil && (!plain || string(raw) != "null" && string(raw) != "false") {
			return false
		}
	}
	for _, name := range names {
		delete(tree, name)
	}
	return true
}

// newestRecipe converts a recipe of any version to the form of the newest one.
func newestRecipe(recipe shape.Tree) shape.Tree {
	out := recipe.With("schema_version", json.RawMessage(strconv.Itoa(shape.RecipeVersion)))
	usual := shape.Tree{"secret_refs": null()}
	if recipe.Text("agent_kind") != "acp" {
		if _, has := out[shape.ModelSwitch]; has {
			out.Fold()
		}
		maps.Copy(usual, shape.Tree{"persona": null(), "public_skills": null(), routingMember: json.RawMessage("false"), metaRefMember: null()})
	}
	for name, value := range usual {
		if _, has := out[name]; !has {
			out[name] = value
		}
	}
	return out
}
