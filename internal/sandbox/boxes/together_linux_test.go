package boxes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
)

// TestBoxesOfOneWorkspaceStartTogether has them make the same directories and the same git
// configuration in a home directory that is new.
func TestBoxesOfOneWorkspaceStartTogether(t *testing.T) {
	t.Parallel()
	const rounds, count = 4, 8
	for range rounds {
		var cfg boxes.Config
		w := newWorld(t, func(w *world, c *boxes.Config) {
			for i := range 20 {
				dir := filepath.Join(w.home, fmt.Sprintf("tools%d", i), "bin")
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				c.Policy.Read = append(c.Policy.Read, dir)
			}
			c.Policy.GitConfig = "[user]\n\tname = T\n"
			cfg = *c
		})
		var starts sync.WaitGroup
		for range count {
			box, err := boxes.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			starts.Go(func() {
				p, err := box.Start(t.Context(), sandbox.Program{Args: []string{"/bin/sh", "-c", "test -d tools19/bin && test -s .gitconfig"}, Env: w.env(), Dir: w.home})
				if err != nil {
					t.Errorf("error of the start: %v", err)
				} else if code, err := p.Wait(); code != 0 || err != nil {
					t.Errorf("exit code %d, %v", code, err)
				}
				if err := box.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		starts.Wait()
	}
}
