package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/openhands/settings"
	"github.com/ohgw/ohgw/internal/openhands/shape"
	"github.com/ohgw/ohgw/internal/profile"
)

// MetaProfiles are the meta-profiles.
type MetaProfiles struct {
	place

	files    *metaFiles
	settings *Settings
}

// metaFiles are the files of meta-profiles, which it only reads.
type metaFiles struct{ place }

// maxMetaProfiles is how many meta-profiles OpenHands lets people make.
const maxMetaProfiles = 50

// The members by which an agent has a meta-profile.
const (
	routingMember    = "enable_classify_and_switch_llm_tool"
	inlineMetaMember = "meta_profile"
	metaRefMember    = "meta_profile_ref"
)

// List returns all meta-profiles, those that cannot be used included.
func (s *MetaProfiles) List(context.Context) (openhands.MetaProfiles, error) {
	out := openhands.MetaProfiles{Profiles: []openhands.MetaProfile{}, Active: s.settings.file.load().ActiveMeta}
	entries, err := document.ListDir(document.MetaProfilesDir(s.base))
	if err != nil {
		return out, fmt.Errorf("list meta-profiles: %w", err)
	}
	for _, e := range entries {
		snap := document.MetaProfileFile(s.base, document.Stem(e)).ReadAs(e.Type())
		if !document.ValidName(snap.File.Name()) || snap.Doc == nil || snap.Gate != nil {
			continue
		}
		root := snap.Doc.Root()
		p := openhands.MetaProfile{Name: snap.File.Name(), Classifier: text(root.Get("classifier_model"))}
		for range root.Get("classes").Elements() {
			p.Classes++
		}
		out.Profiles = append(out.Profiles, p)
	}
	return out, nil
}

// Get returns one meta-profile.
func (s *MetaProfiles) Get(_ context.Context, name string) (map[string]any, error) {
	tree, err := s.files.read(name)
	if err != nil {
		return nil, err
	}
	return exposed(tree, shape.Plain) // it has no secrets
}

func (s *metaFiles) read(name string) (shape.Tree, error) {
	f, err := s.file(name)
	if err != nil {
		return nil, err
	}
	missing := refuse(openhands.NotFound, "Meta-profile '%s' not found", name)
	return loaded(f, "meta-profile", name, missing, func(doc *jsonedit.Doc) (shape.Tree, []pydantic.Fault, error) {
		tree, faults := s.sealing.read(shape.MetaProfile(), doc.Root())
		return tree, faults, nil
	})
}

func (s *metaFiles) file(name string) (document.File, error) {
	clean, err := profile.CleanName(name)
	if err != nil {
		return document.File{}, refuse(openhands.Malformed, "Invalid meta-profile name: '%s'.", name)
	}
	return document.MetaProfileFile(s.base, clean), nil
}

// Save stores a meta-profile, a JSON object, in the place of one of
// that name. Unknown members stay in the file.
func (s *MetaProfiles) Save(ctx context.Context, name string, members json.RawMessage) error {
	tree, faults, err := s.sealing.readJSON(shape.MetaProfile(), members)
	switch {
	case err != nil:
		return err
	case len(faults) > 0:
		return &openhands.Error{Kind: openhands.Invalid, Msg: "Invalid meta-profile", Faults: faultsOf(faults, "body")}
	case len(tree.List("classes")) == 0 && shape.IsNull(tree["prompt_template"]):
		return &openhands.Error{Kind: openhands.Invalid, Msg: "Invalid meta-profile", Faults: []pydantic.Fault{
			pydantic.Value("A meta-profile needs either classes or a prompt_template to route.").At([]any{"body"}, nil),
		}}
	}
	f, err := s.files.file(name)
	if err != nil {
		return err
	}
	return busy(f.WithLock(ctx, s.cfg.Locking, func() error { return s.write(f, tree) }))
}

// write writes a meta-profile. The lock is the caller's.
func (s *MetaProfiles) write(f document.File, tree shape.Tree) error {
	snap := f.Read()
	old, faults := shape.Tree{}, []pydantic.Fault(nil)
	if snap.Missing() {
		entries, err := document.ListDir(document.MetaProfilesDir(s.base))
		if err != nil {
			return fmt.Errorf("count meta-profiles: %w", err)
		}
		if len(entries) >= maxMetaProfiles {
			return refuse(openhands.Taken, "Meta-profile limit reached (%d). Delete a meta-profile before saving a new one.", maxMetaProfiles)
		}
	}
	doc, err := newDoc("{}")
	if err != nil {
		return err
	}
	if snap.Doc != nil && snap.Gate == nil && !snap.Doc.Irregular().Any() {
		doc = snap.Doc
		if old, faults = s.sealing.read(shape.MetaProfile(), doc.Root()); len(faults) > 0 {
			old = shape.Tree{}
		}
	}
	w := &writer{doc: doc, show: shape.Plain}
	w.differences(nil, old, tree)
	if w.err != nil {
		return w.err
	}
	return f.Write(w.doc.Bytes())
}

// Remove deletes a meta-profile. One that is not there is no failure. The active
// one is no longer active then.
func (s *MetaProfiles) Remove(ctx context.Context, name string) error {
	f, err := s.files.file(name)
	if err != nil {
		return err
	}
	err = f.WithLock(ctx, s.cfg.Locking, func() error {
		if err := os.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	if err != nil {
		return busy(err)
	}
	if active := s.settings.file.load().ActiveMeta; active == nil || *active != name {
		return nil
	}
	_, err = s.settings.Patch(ctx, openhands.Patch{SetActiveMeta: true, Agent: map[string]any{inlineMetaMember: nil}})
	return err
}

// Activate makes a meta-profile the active one and copies it into the settings of
// the agent. False: they are those of an agent that chooses no model, and nothing changes.
func (s *MetaProfiles) Activate(ctx context.Context, name string) (bool, error) {
	tree, err := s.files.read(name)
	if err != nil {
		return false, err
	}
	plain, err := exposed(tree, shape.Plain)
	if err != nil {
		return false, err
	}
	after, err := s.settings.Patch(ctx, openhands.Patch{SetActiveMeta: true, ActiveMeta: &name, Agent: map[string]any{inlineMetaMember: plain}})
	return err == nil && after.ActiveMeta != nil && *after.ActiveMeta == name, err
}

// route sets the active meta-profile as a patch says. Only OpenHands' own agent chooses
// models by one.
func route(st *settings.Settings, p openhands.Patch) {
	if st.Agent.Text("agent_kind") == "acp" {
		st.ActiveMeta = nil
		return
	}
	if !p.SetActiveMeta {
		return
	}
	st.ActiveMeta = p.ActiveMeta
	st.Agent = st.Agent.With(routingMember, json.RawMessage(strconv.FormatBool(p.ActiveMeta != nil)))
	st.Agent.Set(settings.ActiveMetaMember, p.ActiveMeta)
}
