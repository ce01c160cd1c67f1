package firstrun

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/setup"
)

// chosenJSON is the file of the choice that leaves no profile behind.
type chosenJSON struct {
	AgentServer string `json:"agent_server"` // its address
}

func chosenFile(dirs paths.Set) string { return filepath.Join(dirs.State, "chat", "chosen.json") }

// ChooseServer stores that the user has chosen the agent-server at address in place of
// a profile. It gives the server no right: whether it may have keys is asked apart.
func ChooseServer(env *setup.Env, address string) error {
	dirs, err := env.Dirs()
	if err != nil {
		return err
	}
	path := chosenFile(dirs)
	if err := paths.MakePrivate(filepath.Dir(path)); err != nil {
		return fmt.Errorf("remember agent-server: %w", err)
	}
	data, err := json.Marshal(chosenJSON{AgentServer: address})
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(data, '\n'), atomicfile.Options{MaxMode: 0o600})
}

// ChoseServer reports whether the user has chosen the agent-server at address. A file
// that cannot be read is no choice: the question comes again.
func ChoseServer(dirs paths.Set, address string) bool {
	data, err := os.ReadFile(chosenFile(dirs))
	if err != nil {
		return false
	}
	var chosen chosenJSON
	return json.Unmarshal(data, &chosen) == nil && address != "" && chosen.AgentServer == address
}
