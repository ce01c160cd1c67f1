// Package migrate brings the LLM entries in OpenHands' files to their present
// form: in all profiles, in the settings of the agent-server, in those of the
// OpenHands CLI.
//
// Run plans or applies; the Report is the same either way. What is not
// ambiguous is applied; what needs a judgement is reported with the commands
// that make it, and applied to one named entry at a time. Only the model and the
// base URL of an entry change. Before a file changes, its bytes are in a backup
// that Restore brings back.
package migrate

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/profile"
)

// Options are what Run works on.
type Options struct {
	Bases []string // base directories; repairs by name are for the first one
	CLI   string   // base directory of the OpenHands CLI; "" for none

	Apply bool // write; otherwise only plan

	// AsOpenHands names the entries that mean a model of OpenHands: profiles,
	// profile.TargetSettings or profile.TargetCLI. Force takes names of
	// models that OpenHands never had.
	AsOpenHands []string
	Force       bool

	// BaseURL is the URL of the user's own proxy, for the entries in BaseURLFor.
	BaseURL    string
	BaseURLFor []string

	Models    *canon.List      // nil means the embedded list
	Ciphers   *profile.Ciphers // to find equal keys; may be nil
	Locking   document.Locking
	Backups   string                             // directory for backups
	Now       func() time.Time                   // names the backup
	LookupEnv func(string) (string, bool)        // for hints
	Progress  func(done, total int, path string) // may be nil
}

// repairing reports whether the run is for named entries only.
func (o *Options) repairing() bool { return len(o.AsOpenHands)+len(o.BaseURLFor) > 0 }

// Run plans or applies. A file that cannot be changed does not stop the others;
// what happened to it is in the Report. The error is that a name in the options
// is not there, or that ctx has ended: the Report then has what was done.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.Models == nil {
		o.Models = canon.Embedded()
	}
	r := &runner{
		Options: o, writer: newWriter(o.Locking, o.Backups, o.Now),
		report: Report{Applied: o.Apply, Models: o.Models.Source(), Items: []Item{}},
	}
	for _, base := range o.Bases {
		r.stores = append(r.stores, newStoreFacts(base))
	}
	files, err := r.files()
	if err != nil {
		return r.report, err
	}
	err = r.plan(ctx, files)
	if err == nil && o.Apply {
		err = r.apply(ctx)
	}
	r.report.Backup = r.writer.dir()
	r.hints()
	r.finish()
	return r.report, err
}

// runner is one Run.
type runner struct {
	Options

	stores []*storeFacts
	report Report
	plans  []plan
	writer writer
}

// storeFacts are what entries depend on outside their own file.
type storeFacts struct {
	base   string
	active string               // name of the active profile
	linked func(id string) bool // whether there is a provider connection
}

func newStoreFacts(base string) *storeFacts {
	store := profile.Open(profile.Config{Base: base})
	f := &storeFacts{base: base}
	f.active, _ = store.Active()
	f.linked, _ = store.Connections()
	return f
}

// target is a file to look at.
type target struct {
	file  document.File
	store *storeFacts // nil for the CLI

	listed bool        // was found in a directory,
	typ    fs.FileMode // with this type
}

// files lists those to look at: all, or those of the named entries. The settings come
// last, as the server takes its locks.
func (r *runner) files() ([]target, error) {
	if r.repairing() {
		return r.named()
	}
	var all []target
	for _, store := range r.stores {
		dir := document.ProfilesDir(store.base)
		entries, err := document.ListDir(dir)
		if err != nil {
			// The settings, and other stores, are all right.
			item := Item{Path: dir, Action: canon.ErrorUnreadable}
			item.fail(fmt.Errorf("list profiles: %w", err))
			r.plans = append(r.plans, plan{items: []Item{item}})
		}
		for _, e := range entries {
			f := document.ProfileFile(store.base, document.Stem(e))
			all = append(all, target{file: f, store: store, listed: true, typ: e.Type()})
		}
		all = append(all, target{file: document.SettingsFile(store.base), store: store})
	}
	if r.CLI != "" {
		all = append(all, target{file: document.CLIFile(r.CLI)})
	}
	return all, nil
}

func (r *runner) named() ([]target, error) {
	if len(r.stores) == 0 {
		return nil, profile.ErrNotFound
	}
	store := r.stores[0]
	var files []target
	settings := false
	for _, name := range slices.Concat(r.AsOpenHands, r.BaseURLFor) {
		t := target{store: store}
		switch name {
		case profile.TargetSettings:
			settings = true
			continue
		case profile.TargetCLI:
			t = target{file: document.CLIFile(r.CLI)}
		default:
			clean, err := profile.CleanName(name)
			if err != nil {
				return nil, err
			}
			t.file = document.ProfileFile(store.base, clean)
			settings = settings || clean == store.active
		}
		if t.file.Read().Missing() {
			return nil, fmt.Errorf("%s: %w", name, profile.ErrNotFound)
		}
		files = append(files, t)
	}
	if settings {
		files = append(files, target{file: document.SettingsFile(store.base), store: store})
	}
	return files, nil
}

// asks reports whether a person named the entry in one of the options.
func asks(names []string, t target) bool {
	want := map[document.Kind]string{document.Settings: profile.TargetSettings, document.CLI: profile.TargetCLI}[t.file.Kind]
	if want == "" {
		want = t.file.Name()
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.TrimSuffix(name, ".json") == want
	})
}
