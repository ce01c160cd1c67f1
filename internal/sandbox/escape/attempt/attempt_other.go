//go:build !linux

package attempt

import "errors"

func connect(string, string) error { return errors.ErrUnsupported }

func serve() error { return errors.ErrUnsupported }

func sendSignal(int) error { return errors.ErrUnsupported }

func unshare() error { return errors.ErrUnsupported }
