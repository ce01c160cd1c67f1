//go:build !linux

package gitguard

import "errors"

// Watcher removes planted files. It is for Linux.
type Watcher struct{}

// NewWatcher says that there is none.
func NewWatcher() (*Watcher, error) { return nil, errors.ErrUnsupported }

// Add watches directories.
func (w *Watcher) Add(Guards, func(string)) (func(), error) { return nil, errors.ErrUnsupported }

// Close ends the watch.
func (w *Watcher) Close() error { return nil }
