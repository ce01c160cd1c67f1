package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"time"
)

// killed is the exit code of a command that did not end in time.
const killed = -1

// start begins a command. Its last output comes from done, which is closed without one
// if the output could not be kept.
func (h *history) start(q request) (started []byte, done <-chan []byte, err error) {
	if q.Dir == nil && h.dir != "" {
		q.Dir = &h.dir
	}
	if err := h.begin(); err != nil {
		return nil, nil, err
	}
	var cmd command
	e, err := h.events.add(kindCommand, func(at header) any {
		cmd = command{request: q, header: at, Kind: kindCommand}
		return cmd
	})
	if err != nil {
		h.end()
		return nil, nil, err
	}
	r := &run{h: h, id: cmd.ID, stopped: make(chan struct{}), done: make(chan struct{})}
	h.shell.enter(r)
	h.publish(e)
	last := make(chan []byte, 1)
	go func() {
		defer h.end()
		defer close(last)
		defer h.shell.leave(r)
		r.run(cmd)
		switch {
		case r.err == nil:
			last <- r.last
		case !h.removed(): // else the events went with the conversation
			h.shell.cfg.Logger.Error("the output of a command is lost", "command", cmd.ID, "err", r.err)
		}
	}()
	return e.data, last, nil
}

// enter lets a command be stopped, until it leaves.
func (s *Shell) enter(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[r.id] = r
	if r.h.ended { // since it has begun
		r.end()
	}
}

func (s *Shell) leave(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, r.id)
	close(r.done)
}

// stop stops a command, and says when its last event is there; nil: it does not run here.
func (h *history) stop(id string) (done <-chan struct{}) {
	h.shell.mu.Lock()
	r := h.shell.runs[id]
	h.shell.mu.Unlock()
	if r == nil || r.h != h {
		return nil
	}
	r.end()
	return r.done
}

// run is a command that runs.
type run struct {
	h  *history
	id string

	once    sync.Once
	stopped chan struct{} // closed by who stops it
	done    chan struct{} // closed after its last event

	mu     sync.Mutex // of what follows: two streams write it
	order  int
	size   int64
	cut    bool // more was printed than is kept
	closed bool // no more is taken
	out    buffer
	errs   buffer
	last   []byte // the newest event
	err    error  // why it could not be kept
}

// end has the command ended, without waiting for it.
func (r *run) end() { r.once.Do(func() { close(r.stopped) }) }

func (r *run) run(cmd command) {
	dir := ""
	if cmd.Dir != nil {
		dir = *cmd.Dir
	}
	code, err := r.execute(cmd.Command, dir, limitOf(cmd.Timeout))
	if err != nil {
		text := "Error executing command: " + err.Error()
		code = killed
		r.errs.raw = append(r.errs.raw, text...)
	}
	r.finish(code)
}

// limitOf is a number of seconds as a duration.
func limitOf(seconds int) time.Duration {
	if seconds > math.MaxInt64/int(time.Second) {
		return math.MaxInt64
	}
	return max(time.Duration(seconds)*time.Second, 0)
}

// ending is how a command ended.
type ending struct {
	code int
	err  error
}

// execute runs a command until its end and that of its output, for a time.
func (r *run) execute(line, dir string, limit time.Duration) (code int, err error) {
	stdout, outW, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer stdout.Close()
	stderr, errW, err := os.Pipe()
	if err != nil {
		return 0, errors.Join(err, outW.Close())
	}
	defer stderr.Close()
	ctx, cancel := context.WithTimeout(r.h.shell.ctx, max(limit, time.Minute)) // a machine may be busy
	p, err := r.h.shell.cfg.Starter.Start(ctx, line, dir, outW, errW)
	cancel()
	if err = errors.Join(err, outW.Close(), errW.Close()); err != nil {
		if p != nil {
			err = errors.Join(err, p.Kill())
		}
		return 0, err
	}
	ended := make(chan ending, 1)
	var streams sync.WaitGroup
	streams.Go(func() { r.read(stdout, &r.out, false) })
	streams.Go(func() { r.read(stderr, &r.errs, true) })
	go func() {
		code, err := p.Wait()
		streams.Wait()
		ended <- ending{code, err}
	}()
	if e, ok := r.await(ended, limit); ok {
		return e.code, e.err
	}
	r.stop(p, ended)
	return killed, nil
}

// await waits for the end of a command; ok is false where it is to be killed.
func (r *run) await(ended <-chan ending, limit time.Duration) (e ending, ok bool) {
	late, look := time.NewTimer(limit), time.NewTicker(lookAgain)
	defer late.Stop()
	defer look.Stop()
	for {
		select {
		case e := <-ended:
			return e, true
		case <-look.C:
			if !r.h.removed() {
				continue
			}
		case <-late.C:
		case <-r.stopped:
		case <-r.h.shell.ctx.Done():
		}
		return ending{}, false
	}
}

// stop kills a command and reads what it has printed.
func (r *run) stop(p Process, ended <-chan ending) {
	if err := p.Kill(); err != nil {
		r.h.shell.cfg.Logger.Error("a command cannot be ended", "command", r.id, "err", err)
	}
	patience := time.NewTimer(lastWords)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C: // a program in another group holds the output
	}
}

// read takes a stream until its end.
func (r *run) read(from io.Reader, to *buffer, isErr bool) {
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		r.take(piece[:n], to, isErr)
		if err != nil {
			return
		}
	}
}

func (r *run) take(piece []byte, to *buffer, isErr bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if left := maxOutput - r.size; int64(len(piece)) > left {
		piece, r.cut = piece[:left], true
	}
	r.size += int64(len(piece))
	for _, chunk := range to.add(piece) {
		o := output{Stdout: &chunk}
		if isErr {
			o = output{Stderr: &chunk}
		}
		r.emit(o)
	}
}

// finish emits the rest with the exit code.
func (r *run) finish(code int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.cut {
		r.errs.raw = append(r.errs.raw, fmt.Sprintf("\n[ohgw: the output after %d MiB is left out]\n", maxOutput>>20)...)
	}
	r.emit(output{Code: &code, Stdout: r.out.rest(), Stderr: r.errs.rest()})
}

// emit keeps and publishes an output.
func (r *run) emit(o output) {
	o.Command, o.Order, o.Kind = r.id, r.order, kindOutput
	r.order++
	e, err := r.h.events.add(kindOutput+"_"+r.id+"_", func(at header) any {
		o.header = at
		return o
	})
	if err != nil {
		r.err = errors.Join(r.err, err)
		return
	}
	r.last = e.data
	r.h.publish(e)
}
