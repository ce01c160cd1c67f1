package migrate

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// apply writes what was planned. Each file is read again under its lock and
// decided about again; what is written is what is right then.
func (r *runner) apply(ctx context.Context) error {
	total, done := 0, 0
	for _, p := range r.plans {
		if len(p.steps) > 0 {
			total++
		}
	}
	items := r.report.Items[:0]
	var err error
	for i := range r.plans {
		p := &r.plans[i]
		if len(p.steps) > 0 && err == nil {
			if err = ctx.Err(); err == nil {
				r.applyFile(ctx, p)
				done++
				if r.Progress != nil {
					r.Progress(done, total, p.target.file.Path)
				}
			}
		}
		items = append(items, p.items...)
	}
	r.report.Items = items
	return errors.Join(err, r.writer.close())
}

func (r *runner) applyFile(ctx context.Context, p *plan) {
	_, err := p.target.file.Update(ctx, r.writer.locking(p.target.file), func(snap document.Snapshot) (*jsonedit.Doc, error) {
		if snap.Doc == nil {
			return nil, errStale
		}
		if err := r.replan(p, snap); err != nil {
			return nil, err
		}
		after, err := p.edit(snap.Doc)
		if err != nil {
			return nil, err
		}
		if string(after.Bytes()) == string(snap.Doc.Bytes()) {
			return after, nil
		}
		return after, r.writer.save(p.target.file, snap, after)
	})
	r.writer.note(p.target.file, err)
	for _, s := range p.steps {
		if err != nil {
			p.items[s.item].fail(err)
		} else {
			p.items[s.item].Applied, p.items[s.item].Repairs = true, nil
		}
	}
}

// replan decides again when the file has changed since the plan was made. A
// repair of a named entry is not taken over to a file that is another one now.
func (r *runner) replan(p *plan, snap document.Snapshot) error {
	if string(snap.Doc.Bytes()) == string(p.snap.Doc.Bytes()) {
		return nil
	}
	if r.repairing() {
		return errStale
	}
	*p = r.planFile(p.target, snap)
	return nil
}
