package run

import (
	"errors"

	"github.com/ohgw/ohgw/agentapi/turn"
)

// observer is that of the request which made the job, or of one that has joined it.
func (j *job) observer() Observer {
	j.delivery.mu.Lock()
	defer j.delivery.mu.Unlock()
	return j.delivery.observer
}

// observe gives a job that has no observer one, which is told what it has missed. The
// job was made for nobody: its gateway has died.
func (j *job) observe(o Observer) {
	d := &j.delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.observer != nil {
		return
	}
	o.Admitted(j.id, j.answerID, j.created)
	for i := d.log.first; i < d.log.next; i++ {
		o.Update(d.log.at(i))
	}
	d.observer = o
	if d.concluded {
		j.m.chores.Go(func() {
			<-j.life.over
			res, err := j.life.end()
			j.m.cfg.guard(j.id, func() { tellEnd(o, res, err) })
		})
	}
}

// observeEnd tells the observer the end.
func (j *job) observeEnd(res *turn.Result, err error) {
	j.delivery.mu.Lock()
	j.delivery.concluded = true
	o := j.delivery.observer
	j.delivery.mu.Unlock()
	if o != nil {
		tellEnd(o, *res, err)
	}
}

func tellEnd(o Observer, res turn.Result, err error) {
	began := !isEarly(err)
	if early, ok := errors.AsType[*earlyError](err); ok {
		err = early.err
	}
	o.End(res, err, began)
}
