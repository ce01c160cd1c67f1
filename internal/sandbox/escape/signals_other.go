//go:build !linux

package escape

import "errors"

type signals struct{}

func newSignals() *signals { return &signals{} }

func (s *signals) stop() {}

func (s *signals) came() bool { return false }

func sendSignal(int) error { return errors.ErrUnsupported }

func unshare() error { return errors.ErrUnsupported }
