//go:build !linux

package probe

func landlockABI() int { return 0 }
