package placement_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/agentapi/pool/placement/placementtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

func TestFilesKeepTheContract(t *testing.T) {
	t.Parallel()
	placementtest.Run(t, func(t *testing.T) (placement.Placer, placement.Placer) {
		t.Helper()
		p := placement.NewLocal(filepath.Join(t.TempDir(), "pool"), time.Now)
		return p, p
	})
}

func TestMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	placementtest.Run(t, func(*testing.T) (placement.Placer, placement.Placer) {
		p := placement.NewLocal("", time.Now)
		return p, p
	})
}

// A command drains a server of a daemon that runs, and a daemon starts again.
func TestAnotherProcessSeesTheNotes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "pool")
	daemon, command := placement.NewLocal(dir, time.Now), placement.NewLocal(dir, time.Now)
	servers := []placement.Server{{Name: "http://a0:8000", Slots: 1}, {Name: "http://a1:8000", Slots: 1}}
	if err := daemon.Join(t.Context(), servers); err != nil {
		t.Fatal(err)
	}
	if err := command.Drain(t.Context(), "http://a0:8000", true); err != nil {
		t.Fatal(err)
	}
	id := uuid.New()
	at, err := daemon.Place(t.Context(), id, []placement.Candidate{{Name: "http://a0:8000"}, {Name: "http://a1:8000"}})
	if err != nil || at != "http://a1:8000" {
		t.Errorf("placed at %q, %v", at, err)
	}
	if again, err := placement.NewLocal(dir, time.Now).Find(t.Context(), id); err != nil || again != at {
		t.Errorf("after a restart it is at %q, %v", again, err)
	}
}
