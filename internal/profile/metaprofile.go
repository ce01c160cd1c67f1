package profile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/pattern"
)

// activeMeta is where the settings have the name of the active meta-profile. Its content
// is copied into the agent's settings, under metaMember.
const (
	activeMeta = "active_meta_profile"
	metaMember = "meta_profile"
)

// metaProfile is a meta-profile: which profile OpenHands changes to for which kind of task.
type metaProfile struct {
	file document.File
	doc  *jsonedit.Doc // nil when it is not JSON
	err  error         // why OpenHands does not load it
}

// uses are the places in which it names a profile. One that OpenHands does not load names
// none.
func (m metaProfile) uses(name string) []jsonedit.Value {
	if m.err != nil {
		return nil
	}
	return metaUses(m.doc.Root(), name)
}

// metaModels are the places in which the content of a meta-profile names profiles. Those
// in the text of a prompt are not found.
func metaModels(root jsonedit.Value) []jsonedit.Value {
	models := []jsonedit.Value{root.Get("classifier_model")}
	for class := range root.Get("classes").Elements() {
		models = append(models, class.Get("model"))
	}
	return slices.DeleteFunc(models, func(v jsonedit.Value) bool { return !isText(v) })
}

func metaUses(root jsonedit.Value, name string) []jsonedit.Value {
	return slices.DeleteFunc(metaModels(root), func(v jsonedit.Value) bool { return refOf(v) != name })
}

// refOf is the name of the profile that a text stands for.
func refOf(v jsonedit.Value) string {
	text, _ := v.Text()
	return strings.TrimSuffix(text, ".json")
}

// metaProfiles reads the meta-profiles that OpenHands sees.
func (s *Store) metaProfiles() ([]metaProfile, error) {
	entries, err := document.ListDir(document.MetaProfilesDir(s.cfg.Base))
	if err != nil {
		return nil, fmt.Errorf("list meta-profiles: %w", err)
	}
	var list []metaProfile
	for _, e := range entries {
		f := document.MetaProfileFile(s.cfg.Base, document.Stem(e))
		if !document.ValidName(f.Name()) {
			continue
		}
		snap := f.ReadAs(e.Type())
		m := metaProfile{file: f, doc: snap.Doc, err: snap.Err()}
		if m.err == nil {
			m.err = badMeta(snap.Doc.Root())
		}
		list = append(list, m)
	}
	return list, nil
}

var instanceText = pattern.Of(`\{\{\s*instance_text\s*\}\}`)

// badMeta reports why OpenHands does not load a meta-profile.
func badMeta(root jsonedit.Value) error {
	if !isText(root.Get("classifier_model")) {
		return &shape.FieldError{Field: "classifier_model"}
	}
	classes := root.Get("classes")
	if classes.Exists() && classes.Kind() != jsonedit.Array {
		return &shape.FieldError{Field: "classes"}
	}
	count := 0
	for class := range classes.Elements() {
		count++
		if !isText(class.Get("description")) || !isText(class.Get("model")) {
			return &shape.FieldError{Field: "classes"}
		}
	}
	for _, name := range []string{"prompt_template", "model_table"} {
		if v := root.Get(name); v.Exists() && v.Kind() != jsonedit.Null && !isText(v) {
			return &shape.FieldError{Field: name}
		}
	}
	if template, ok := root.Get("prompt_template").Text(); ok {
		switch {
		case !instanceText().MatchString(template):
			return errors.New("prompt_template has no {{ instance_text }}")
		case count > 0:
			return errors.New("it has both classes and prompt_template")
		}
	}
	return nil
}

// withMetaProfiles calls fn with the meta-profiles while their lock is held, which is
// taken after that of the agent profiles. A store without a directory is not given one.
func (s *Store) withMetaProfiles(ctx context.Context, fn func([]metaProfile) error) error {
	if _, err := os.Stat(document.MetaProfilesDir(s.cfg.Base)); errors.Is(err, fs.ErrNotExist) {
		return fn(nil)
	}
	return document.MetaProfileFile(s.cfg.Base, "").WithLock(ctx, s.cfg.Locking, func() error {
		list, err := s.metaProfiles()
		if err != nil {
			return err
		}
		return fn(list)
	})
}

// inlineMeta is the copy of the active meta-profile in settings.
func inlineMeta(root jsonedit.Value) jsonedit.Value {
	return root.At("agent_settings", metaMember)
}

// renameInline gives a profile another name in the copy of the active meta-profile, and
// among the LLMs that belong to it.
func renameInline(doc *jsonedit.Doc, old, name string) (*jsonedit.Doc, error) {
	doc, err := doc.Replace(jsonedit.Quote(name), metaUses(inlineMeta(doc.Root()), old)...)
	if err != nil {
		return nil, err
	}
	const llms = "meta_profile_llms"
	llm := doc.Root().At("agent_settings", llms, old)
	if !llm.Exists() {
		return doc, nil
	}
	raw := slices.Clone(llm.Raw())
	if doc, err = doc.Set(raw, "agent_settings", llms, name); err != nil {
		return nil, err
	}
	return doc.Delete("agent_settings", llms, old)
}

// metas reports what is wrong with meta-profiles, and where they name profiles that are
// not there.
func (c *checker) metas(files []document.File) {
	list, err := c.store.metaProfiles()
	if err != nil {
		at := finding{c: c, file: document.File{Path: document.MetaProfilesDir(c.store.cfg.Base)}}
		at.add(Error, "meta-profiles-unreadable", "ls -l "+quote(at.file.Path), "%v", err)
		return
	}
	names, metas := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		names[f.Name()] = true
	}
	for _, m := range list {
		metas[m.file.Name()] = true
		at := finding{c: c, file: m.file}
		if m.err != nil {
			at.add(Error, "meta-profile-damaged", edit(m.file.Path), "OpenHands does not load the meta-profile %s: %v", m.file.Name(), m.err)
			continue
		}
		told := map[string]bool{}
		for _, v := range metaModels(m.doc.Root()) {
			if ref := refOf(v); !names[ref] && !told[ref] {
				told[ref] = true
				at.add(Error, "meta-profile-dangling", "ohgw profiles add "+quote(ref),
					"the meta-profile %s uses the profile %.80q, which does not exist", m.file.Name(), ref)
			}
		}
	}
	users, _ := c.store.agentProfiles() // what is wrong with the directory is reported by agents
	for _, user := range users {
		if ref := refOf(user.doc.Root().Get("meta_profile_ref")); ref != "" && !metas[ref] {
			finding{c: c, file: user.file}.add(Warning, "meta-profile-missing", edit(user.file.Path), "agent profile %s uses the meta-profile %.80q, which does not exist", user.file.Name(), ref)
		}
	}
	snap := c.store.settings().Read()
	if snap.Doc == nil {
		return
	}
	if active := refOf(snap.Doc.Root().Get(activeMeta)); active != "" && !metas[active] {
		finding{c: c, file: snap.File}.add(Warning, "active-meta-missing", "activate another meta-profile in OpenHands", "the active meta-profile %.80q does not exist", active)
	}
}

func isText(v jsonedit.Value) bool {
	_, ok := v.Text()
	return ok
}
