package netpolicy

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Expand expands the presets that are left, before a decision needs them. Those that cannot
// be expanded are left.
func (p *Policy) Expand(ctx context.Context) {
	_ = p.expandLate(ctx, func() bool { return false }) // a decision has the error
}

// expandLate expands all presets that are left, at the same time, until it is enough.
// The error is that of the presets that could not be expanded.
func (p *Policy) expandLate(ctx context.Context, enough func() bool) error {
	p.mu.RLock()
	late := slices.Clone(p.late)
	p.mu.RUnlock()
	if len(late) == 0 {
		return nil
	}
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan expanded, len(late))
	for _, preset := range late {
		asking.Go(func() { answers <- expanded{preset, p.expandOne(ctx, preset)} })
	}
	unknown := map[string]error{}
	for waiting := len(late); waiting > 0; {
		a := <-answers
		if _, again := unknown[a.preset]; !again {
			waiting--
		}
		if enough() {
			return nil
		}
		unknown[a.preset] = a.err
		// While the others are waited for, it may be answered after all.
		if later, ok := errors.AsType[Later](a.err); ok && waiting > 0 {
			asking.Go(func() {
				select {
				case <-later.Answered():
					answers <- expanded{a.preset, p.expandOne(ctx, a.preset)}
				case <-ctx.Done():
				}
			})
		}
	}
	return joined(unknown)
}

// expanded is how the expansion of a preset went.
type expanded struct {
	preset string
	err    error
}

// joined returns one error for those of all presets, in a steady order.
func joined(all map[string]error) error {
	var errs []string
	for _, err := range all {
		if err != nil {
			errs = append(errs, err.Error())
		}
	}
	if len(errs) == 0 {
		return nil
	}
	slices.Sort(errs) // and not in the order of their answers
	return errors.New(strings.Join(errs, "; "))
}

// Later is an error of [Config.Expand] for a preset that is not waited for any longer. A
// decision that waits for others expands it again when its channel is closed.
type Later interface {
	error
	Answered() <-chan struct{}
}

// expandOne adds the entries of a preset. It is left for the next time if it could not
// be expanded.
func (p *Policy) expandOne(ctx context.Context, preset string) error {
	entries, err := p.expand(ctx, strings.TrimPrefix(preset, "@"))
	p.mu.Lock()
	defer p.mu.Unlock()
	var added list
	if wrong := p.addEach(&added, preset, entries, true); wrong != nil {
		err = errors.Join(err, fmt.Errorf("%s: %w", preset, wrong))
	}
	for _, e := range added.entries {
		same := func(o Entry) bool { return reflect.DeepEqual(o, e) }
		if !slices.ContainsFunc(p.allow.entries, same) {
			_ = p.allow.add(e) // beyond its limit nothing more is allowed
		}
	}
	if err == nil {
		p.late = slices.DeleteFunc(p.late, func(o string) bool { return o == preset })
	}
	return err
}
