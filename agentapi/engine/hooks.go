package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/internal/hookfile"
)

// storedHooks are the hooks of a request as a state has them; nil for none.
func storedHooks(given json.RawMessage) (json.RawMessage, error) {
	if len(given) == 0 || string(given) == "null" {
		return nil, nil
	}
	config, err := hookfile.Parse(given)
	if err != nil {
		return nil, refused("hook_config cannot be read.", err)
	}
	if config == nil {
		return nil, nil
	}
	return json.Marshal(config)
}

// maxHooks bounds the file with hooks, in bytes.
const maxHooks = 1 << 20

// hooks are those of a conversation: what its request said, or else those of the
// user, in OpenHands' directory. Those of the workspace came with what was cloned there, and
// nobody has allowed them.
func (b *Backend) hooks(s store.State) (*hook.Runner, error) {
	data := []byte(s.HookConfig)
	path := filepath.Join(b.cfg.Base, hookfile.Name)
	if len(data) == 0 && b.cfg.Base != "" {
		var err error
		if data, err = readHooks(path); err != nil {
			return nil, &agentapi.Error{
				Kind: agentapi.ErrRefused, Err: err,
				Msg: "The hooks of " + path + " cannot be read; repair the file, or move it away.",
			}
		}
	}
	if len(data) == 0 {
		return nil, nil
	}
	config, err := hookfile.Parse(data)
	if err != nil {
		return nil, refused("The hooks of the conversation cannot be read; repair "+path+", or hook_config in its base_state.json.", err)
	}
	return hook.New(hook.Config{Hooks: config, Dir: s.Workspace.WorkingDir, Session: s.ID}), nil
}

// readHooks reads a file with hooks; nil if there is none.
func readHooks(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxHooks:
		return nil, fmt.Errorf("%s is not a regular file of at most %d bytes", path, maxHooks)
	}
	return os.ReadFile(path)
}
