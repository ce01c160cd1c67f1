package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/schema"
)

// ReleaseOptions are what ToRelease works on.
type ReleaseOptions struct {
	Bases []string // base directories
	To    schema.Release

	Apply bool // write; otherwise only plan
	Force bool // leave out files that cannot be read

	Locking  document.Locking
	Backups  string                             // directory for backups
	Now      func() time.Time                   // names the backup
	Progress func(done, total int, path string) // may be nil
}

// ToRelease brings all files of the stores to the form of a release of OpenHands. A
// store with a file that cannot be brought there stays as it is, unless Force is set; a
// store with a file of a newer OpenHands always stays. The error is that of ctx, or of
// closing the backup; the report then has what was done.
func ToRelease(ctx context.Context, o ReleaseOptions) (ReleaseReport, error) {
	c := &converter{ReleaseOptions: o, writer: newWriter(o.Locking, o.Backups, o.Now)}
	c.report = ReleaseReport{Applied: o.Apply, To: o.To.String(), Items: []ReleaseItem{}, Notes: []string{}}
	var all []*conversion
	for _, base := range o.Bases {
		plans, err := c.planStore(ctx, base)
		if err != nil {
			return c.report, err
		}
		all = append(all, plans...)
	}
	var err error
	if o.Apply {
		err = c.apply(ctx, all)
	}
	for _, p := range all {
		c.report.Items = append(c.report.Items, p.item)
	}
	c.report.Backup = c.writer.dir()
	c.report.count()
	return c.report, err
}

// converter is one ToRelease.
type converter struct {
	ReleaseOptions

	writer writer
	report ReleaseReport
}

// conversion is what is to be done with one file.
type conversion struct {
	file   document.File
	item   ReleaseItem
	change bool // the file is to be written
}

// planStore looks at all files of a store, the settings last, as the server takes its
// locks.
func (c *converter) planStore(ctx context.Context, base string) ([]*conversion, error) {
	var plans []*conversion
	var sources []document.Source
	for _, dir := range []struct {
		path string
		file func(name string) document.File
		has  bool
		what string
	}{
		{document.AgentProfilesDir(base), func(name string) document.File { return document.AgentProfileFile(base, name) }, c.To.HasAgentProfiles(), "agent profiles"},
		{document.ProfilesDir(base), func(name string) document.File { return document.ProfileFile(base, name) }, c.To.HasLLMProfiles(), "LLM profiles"},
		{document.MetaProfilesDir(base), func(name string) document.File { return document.MetaProfileFile(base, name) }, c.To.HasMetaProfiles(), "meta-profiles"},
	} {
		entries, err := document.ListDir(dir.path)
		if err != nil {
			item := ReleaseItem{Path: dir.path, Action: canon.ErrorUnreadable}
			item.fail(fmt.Errorf("list %s: %w", dir.what, err))
			plans = append(plans, &conversion{item: item})
		}
		for _, e := range entries {
			sources = append(sources, document.Source{File: dir.file(document.Stem(e)), Type: e.Type()})
		}
		if len(entries) > 0 && !dir.has {
			c.report.Notes = append(c.report.Notes, fmt.Sprintf("an agent-server %s has no %s and ignores the files in %s, which stay", c.To, dir.what, dir.path))
		}
	}
	sources = append(sources, document.Source{File: document.SettingsFile(base), Look: true})
	snaps, err := document.ReadAll(ctx, sources)
	if err != nil {
		return nil, err
	}
	for _, snap := range snaps {
		if !snap.Missing() {
			p := &conversion{file: snap.File}
			p.decide(snap, c.To)
			plans = append(plans, p)
		}
	}
	c.hold(plans)
	return plans, nil
}

// decide says what is to be done with the file as it is, and returns what it becomes.
func (p *conversion) decide(snap document.Snapshot, to schema.Release) *jsonedit.Doc {
	p.item, p.change = ReleaseItem{Path: p.file.Path, Action: canon.Unchanged}, false
	gate := snap.Gate
	switch {
	case gate != nil && gate.Action == canon.ErrorName:
		p.item.Reason = gate.Error()
		return snap.Doc
	case gate == nil && snap.Newer():
		gate = snap.Sealed
	}
	if gate != nil {
		p.item.refuse(gate)
		return nil
	}
	result, err := convert(snap, to)
	if err != nil {
		p.item.refuse(gateOf(err))
		return nil
	}
	p.item.Versions, p.item.Lost = result.Versions, result.Lost
	if string(result.Doc.Bytes()) == string(snap.Doc.Bytes()) {
		p.item.Lost = nil
		return result.Doc
	}
	if snap.Sealed != nil {
		p.item.refuse(snap.Sealed)
		return nil
	}
	p.item.Action, p.change = canon.Migrate, true
	return result.Doc
}

func convert(snap document.Snapshot, to schema.Release) (schema.Result, error) {
	switch {
	case snap.File.Kind == document.Settings:
		return schema.Settings(snap.Doc, to)
	case snap.File.Kind == document.AgentProfile && to.HasAgentProfiles():
		return schema.AgentProfile(snap.Doc, to)
	case snap.File.Kind == document.Profile && to.HasLLMProfiles():
		return schema.LLMProfile(snap.Doc, to)
	}
	return schema.Result{Doc: snap.Doc}, nil
}

// gateOf says what an error of schema means for the file.
func gateOf(err error) *document.GateError {
	action := canon.ErrorSchema
	if _, ok := errors.AsType[*schema.NewerError](err); ok {
		action = canon.ErrorNewer
	} else if errors.Is(err, jsonedit.ErrIrregular) {
		return &document.GateError{Action: canon.ReportIrregular, Msg: canon.ReportIrregular.Text()}
	}
	return &document.GateError{Action: action, Msg: err.Error()}
}

// hold keeps a store as it is that has a file in the way.
func (c *converter) hold(plans []*conversion) {
	var blocking *conversion
	for _, p := range plans {
		newer := p.item.Action == canon.ErrorNewer
		if (p.item.isError() && !c.Force || newer) && (blocking == nil || newer) {
			blocking = p
		}
	}
	if blocking == nil {
		return
	}
	for _, p := range plans {
		if p.change {
			p.change = false
			p.item.Reason = "stays, because of " + blocking.item.Path
			p.item.Held = true
		}
	}
}

// apply writes what was planned. Each file is read again under its lock and decided
// about again.
func (c *converter) apply(ctx context.Context, plans []*conversion) error {
	total, done := 0, 0
	for _, p := range plans {
		if p.change {
			total++
		}
	}
	var err error
	for _, p := range plans {
		if !p.change {
			continue
		}
		if err = ctx.Err(); err != nil {
			break
		}
		c.applyFile(ctx, p)
		done++
		if c.Progress != nil {
			c.Progress(done, total, p.file.Path)
		}
	}
	return errors.Join(err, c.writer.close())
}

func (c *converter) applyFile(ctx context.Context, p *conversion) {
	_, err := p.file.Update(ctx, c.writer.locking(p.file), func(snap document.Snapshot) (*jsonedit.Doc, error) {
		if snap.Doc == nil {
			return nil, errStale
		}
		after := p.decide(snap, c.To)
		if p.item.isError() {
			return nil, errors.New(p.item.Reason)
		}
		if !p.change {
			return after, nil
		}
		return after, c.writer.save(p.file, snap, after)
	})
	c.writer.note(p.file, err)
	if err != nil {
		p.item.fail(err)
		return
	}
	p.item.Applied = p.change
}
