package acp

import (
	"os"
	"testing"

	_ "github.com/ohgw/ohgw/internal/sandbox/early" // the test binary is a part of sandboxes as well
	"github.com/ohgw/ohgw/internal/sandbox/escape"
)

func TestMain(m *testing.M) {
	if escape.Wanted(os.Args) {
		os.Exit(escape.Main(os.Args))
	}
	os.Exit(m.Run())
}
