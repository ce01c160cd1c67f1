package manager_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// A socket that is allowed and not there, such as that of an agent which does not
// run, is left out, and the box works.
func TestAllowedSockets(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "g") //nolint:usetesting // a path that is short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	at, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	at = filepath.Join(at, "agent")
	ln, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() }) // after the parts of this test
	for name, tt := range map[string]struct{ variable, want string }{
		"no agent runs": {"", "no socket"},
		"an agent runs": {at, "socket"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, real, func(w *world) {
				w.cfg.Settings.Sockets = []string{"ssh-agent"}
				w.cfg.Getenv = func(name string) string {
					if name == "SSH_AUTH_SOCK" {
						return tt.variable
					}
					return ""
				}
			})
			box, err := w.manager().Box(t.Context(), w.env)
			if err != nil {
				t.Fatal(err)
			}
			defer box.Close()
			if got := w.run(box, "[ -S '"+at+"' ] && echo socket || echo no socket"); got != tt.want {
				t.Errorf("inside there is %q, want %q", got, tt.want)
			}
			if tt.variable == "" {
				return
			}
			found := false
			for _, entry := range sandbox.EnvironOf(box, []string{"SSH_AUTH_SOCK=" + at}) {
				found = found || entry == "SSH_AUTH_SOCK="+at
			}
			if !found {
				t.Error("programs are not told where the socket is")
			}
		})
	}
}
