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
	answers := make(chan error, len(late))
	for _, preset := range late {
		asking.Go(func() { answers <- p.expandOne(ctx, preset) })
	}
	var errs []string
	for range late {
		err := <-answers
		if enough() {
			return nil
		}
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
