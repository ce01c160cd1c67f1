//go:build !linux

package sandbox_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inBox is nil: there are no boxes with files of their own.
func inBox(bool) opener { return nil }
