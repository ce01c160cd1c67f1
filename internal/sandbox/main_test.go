//go:build !linux

package sandbox_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/internal/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inBox is nil: there are no boxes with files of their own.
func inBox(sandbox.Level, bool) opener { return nil }
