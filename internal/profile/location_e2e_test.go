//go:build e2e

package profile_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// places prints where OpenHands has the files of the user, after it has changed to
// another directory, and which directory it takes for each argument.
const places = `
import json, logging, os, sys, warnings
logging.disable(logging.CRITICAL); warnings.simplefilter("ignore")
from openhands.sdk.utils.path import get_user_persistence_dir
from openhands.sdk.agent.base import _SOUL_PATH
from openhands.sdk.skills.skill import USER_SKILLS_DIRS
from openhands.sdk.skills.installed import get_installed_skills_dir
from openhands.sdk.subagent.load import _user_agents_dir
os.chdir("/")
files = [str(p) for p in [get_user_persistence_dir(), _SOUL_PATH, *USER_SKILLS_DIRS, get_installed_skills_dir(), _user_agents_dir(".openhands/agents")]]
bases = []
for value in sys.argv[1:]:
    os.environ["OH_PERSISTENCE_DIR"] = value
    bases.append(str(get_user_persistence_dir()))
print("RESULT" + json.dumps([files, bases]))
`

func TestTheDirectoryOfOpenHandsIsWhereItLooks(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	base := func(value string) string {
		return profile.Locate(environ(map[string]string{"OH_PERSISTENCE_DIR": value}), home, dir).Base()
	}
	values := []string{"", "/some/where/", "rel/x", "~", "~/x", "."}
	cmd := sdktest.Command(t, dir, places, values...)
	cmd.Env = append(os.Environ(), "OHGW_AGENT_SERVER_VERSION="+agentservertest.Newest, "HOME="+home, "OH_PERSISTENCE_DIR=rel")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running OpenHands' code: %v\n%s", err, stderr.Bytes())
	}
	var got [][]string
	must(t, json.Unmarshal(sdktest.Result(t, out), &got))
	rel := base("rel")
	want := [][]string{{
		rel, filepath.Join(rel, "SOUL.md"), filepath.Join(home, ".agents", "skills"), filepath.Join(rel, "skills"), filepath.Join(rel, "microagents"),
		filepath.Join(rel, "skills", "installed"), filepath.Join(rel, "agents"),
	}, {}}
	for _, value := range values {
		want[1] = append(want[1], base(value))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
