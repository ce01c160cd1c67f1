package serving

import (
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/internal/paths"
)

func TestOwnGatewaysShareNoRecords(t *testing.T) {
	t.Parallel()
	dirs := paths.Set{State: t.TempDir()}
	var held []records
	for i := range 3 {
		r, err := claimRecords(t.Context(), dirs)
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(dirs.State, "chat", fmt.Sprint(i+1)); r.dir != want {
			t.Errorf("directory = %s, want %s", r.dir, want)
		}
		held = append(held, r)
	}
	if err := held[1].lock.Release(); err != nil {
		t.Fatal(err)
	}
	r, err := claimRecords(t.Context(), dirs)
	if err != nil || r.dir != held[1].dir {
		t.Errorf("directory = %s, error %v; want the one that is free again", r.dir, err)
	}
	for _, r := range []records{held[0], r, held[2]} {
		if err := r.lock.Release(); err != nil {
			t.Error(err)
		}
	}
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		addr net.Addr
		want string
	}{
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, "http://127.0.0.1:1"},
		{&net.TCPAddr{IP: net.IPv6loopback, Port: 1}, "http://[::1]:1"},
		{&net.TCPAddr{IP: net.IPv4zero, Port: 1}, "http://127.0.0.1:1"},
		{&net.TCPAddr{IP: net.IPv6zero, Port: 1}, "http://127.0.0.1:1"}, // such a socket takes both
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}, "http://192.0.2.1:1"},
	}
	for _, tt := range tests {
		if got := BaseURL(tt.addr); got != tt.want {
			t.Errorf("baseURL(%v) = %q, want %q", tt.addr, got, tt.want)
		}
	}
}
