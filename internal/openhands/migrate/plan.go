package migrate

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/profile"
)

// plan is what is to be done with one file.
type plan struct {
	target target
	snap   document.Snapshot
	items  []Item
	steps  []step // one for each item that changes something
}

// step is the change of one entry.
type step struct {
	item  int
	entry document.Entry
	model string // the model afterwards
	url   string // the base URL afterwards, or "" to remove it
}

// plan looks at all files. The settings may have a copy of a profile that is
// repaired, so they are looked at again afterwards.
func (r *runner) plan(ctx context.Context, targets []target) error {
	sources := make([]document.Source, len(targets))
	for i, t := range targets {
		sources[i] = document.Source{File: t.file, Type: t.typ, Look: !t.listed}
	}
	snaps, err := document.ReadAll(ctx, sources)
	if err != nil {
		return err
	}
	for i, t := range targets {
		r.plans = append(r.plans, r.planFile(t, snaps[i]))
	}
	for i := range r.plans {
		r.followProfile(&r.plans[i])
		r.report.Items = append(r.report.Items, r.plans[i].items...)
	}
	return nil
}

// planFile decides about the entries of a file as it is now.
func (r *runner) planFile(t target, snap document.Snapshot) plan {
	p := plan{target: t, snap: snap}
	if snap.Missing() {
		return p // There are no settings, or a profile was removed meanwhile.
	}
	whole := Item{Path: t.file.Path, Entry: "$", Profile: t.profileName(), Active: t.isActive()}
	switch gate, sealed := snap.Gate, snap.Sealed; {
	case gate != nil && gate.Action == canon.ErrorUnreadable:
		p.items = append(p.items, whole.refused(gate))
	case sealed != nil && sealed.Action == canon.ErrorSymlink:
		p.items = append(p.items, shown(whole, snap, sealed))
	case gate != nil:
		p.items = append(p.items, shown(whole, snap, gate))
	default:
		entries := snap.Entries()
		for _, e := range entries {
			item := whole
			item.Entry = e.JSONPath()
			p.addEntry(r, item, e, len(entries) > 1)
		}
	}
	return p
}

// shown is an item for a file that is read but never written.
func shown(item Item, snap document.Snapshot, g *document.GateError) Item {
	item = item.refused(g)
	for _, e := range snap.Entries() {
		item.Before = fieldsOf(e)
		item.After = item.Before
	}
	return item
}

func (t target) profileName() string {
	if t.file.Kind == document.Profile {
		return t.file.Name()
	}
	return ""
}

func (t target) isActive() bool {
	return t.store != nil && t.file.Kind == document.Profile && t.store.active == t.file.Name()
}

func (t target) linked(id string) bool { return t.store != nil && t.store.linked(id) }

// addEntry decides about one entry, which may be one of several in the file.
func (p *plan) addEntry(r *runner, item Item, e document.Entry, several bool) {
	item.Before = fieldsOf(e)
	item.After = item.Before
	switch {
	case e.Gate != "":
		item.Action, item.Reason = e.Gate, e.Gate.Text()
		p.items = append(p.items, item)
		return
	case e.BillOnly:
		item.Action, item.Reason = canon.Unchanged, "serves only for billing; its URL has no effect"
		p.items = append(p.items, item)
		return
	}
	in := e.Canon(p.target.linked)
	d := r.Models.Decide(in)
	item.Warnings = d.Warnings
	// A repair is for the entries that need one; a file with one entry only is
	// named because of that entry.
	repairable := d.Action != canon.Unchanged || !several
	url, err := "", error(nil)
	switch {
	case repairable && asks(r.AsOpenHands, p.target):
		item.OptIn = true
		d, err = r.Models.AsOpenHands(in, r.Force)
	case repairable && asks(r.BaseURLFor, p.target) && in.URL.Text != r.BaseURL:
		item.OptIn = true
		if err = r.Models.CheckBaseURL(in, r.BaseURL); err == nil {
			d.Action, url = canon.Migrate, r.BaseURL
		}
	}
	p.settle(item, e, d, url, err)
}

// settle adds the item, and the step when something is to change.
func (p *plan) settle(item Item, e document.Entry, d canon.Decision, url string, err error) {
	item.Action, item.Reason = d.Action, d.Action.Text()
	if err != nil {
		item.fail(err)
	}
	if d.Action == canon.Migrate && err == nil {
		switch {
		case p.snap.Doc.Irregular().Any():
			item.Action, item.Reason = canon.ReportIrregular, canon.ReportIrregular.Text()
		case p.snap.Sealed != nil:
			item = item.refused(p.snap.Sealed)
		default:
			p.steps = append(p.steps, step{item: len(p.items), entry: e, model: d.Model, url: url})
			item.After = afterStep(item.Before, d, url)
		}
	}
	item.Repairs = profile.RepairsOf(item.Action, p.target.repairName())
	p.items = append(p.items, item)
}

func afterStep(before Fields, d canon.Decision, url string) Fields {
	after := Fields{Model: text(d.Model), BaseURL: before.BaseURL}
	switch {
	case url != "":
		after.BaseURL = text(canon.MaskURL(url))
	case d.DropURL:
		after.BaseURL = Optional{}
	}
	return after
}

func (t target) repairName() string {
	switch t.file.Kind {
	case document.Settings:
		return profile.TargetSettings
	case document.CLI:
		return profile.TargetCLI
	}
	return t.file.Name()
}

// followProfile repairs the copy of a profile that the settings have when the
// profile itself is repaired by name, and the copy is the same.
func (r *runner) followProfile(p *plan) {
	if p.target.file.Kind != document.Settings || !r.repairing() || len(p.items) != 1 || p.items[0].OptIn {
		return
	}
	for _, other := range r.plans {
		if len(other.steps) != 1 || other.target.store != p.target.store || !other.target.isActive() || !other.items[0].OptIn {
			continue
		}
		entries := p.snap.Entries()
		if len(entries) == 1 && sameForm(entries[0], other.steps[0].entry) {
			if p.snap.Sealed != nil {
				p.items[0] = p.items[0].refused(p.snap.Sealed)
				return
			}
			s := other.steps[0]
			p.steps = []step{{entry: entries[0], model: s.model, url: s.url}}
			item := &p.items[0]
			item.OptIn, item.Action, item.Reason = true, canon.Migrate, "is the copy of the active profile"
			item.After, item.Repairs = other.items[0].After, nil
			return
		}
	}
	if p.items[0].Action != canon.Migrate {
		p.items, p.steps = nil, nil // The caller did not ask for the settings.
	}
}

func sameForm(a, b document.Entry) bool {
	none := func(string) bool { return false }
	x, y := a.Canon(none), b.Canon(none)
	return x.Model == y.Model && x.URL == y.URL
}

// edit makes the steps of the plan on a text.
func (p *plan) edit(doc *jsonedit.Doc) (*jsonedit.Doc, error) {
	for _, s := range p.steps {
		var err error
		if s.model != s.entry.Model() {
			if doc, err = doc.Set(jsonedit.Quote(s.model), s.entry.Member("model")...); err != nil {
				return nil, err
			}
		}
		if s.url != "" {
			doc, err = doc.Set(jsonedit.Quote(s.url), s.entry.Member("base_url")...)
		} else {
			doc, err = doc.Delete(s.entry.Member("base_url")...)
		}
		if err != nil {
			return nil, err
		}
	}
	return doc, nil
}

// errStale means that a file is not what it was when it was planned for.
var errStale = errors.New("was changed by another program meanwhile; run the command again")
