package setup_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/setup"
)

func TestReservedPorts(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string][]uint16{
		"127.0.0.1:6449": {6449}, "127.0.0.1:7001": {6449, 7001}, "[::1]:7001": {6449, 7001}, "localhost:0": {6449},
	} {
		s := &config.Settings{Config: config.Config{Addr: addr}}
		if diff := cmp.Diff(want, setup.ReservedPorts(s)); diff != "" {
			t.Errorf("%s, -want +got:\n%s", addr, diff)
		}
	}
}
