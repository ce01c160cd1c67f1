package blocks_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/blocks"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// The paths that an output names are found in the forms in which programs print them.
func TestPathsThatAnOutputNames(t *testing.T) {
	t.Parallel()
	for output, want := range map[string][]string{
		"error: could not write config file .git/config: Device or resource busy": {"/app/.git/config"},
		"error: could not lock config file .git/config: Permission denied":        {"/app/.git/config"},
		"/bin/bash: line 1: .git/hooks/pre-commit: Read-only file system":         {"/app/.git/hooks/pre-commit"},
		"/bin/sh: 1: cannot create /etc/x: Permission denied":                     {"/etc/x"},
		"bash: ../other/file: Permission denied":                                  {"/other/file"},
		"mv: cannot move '.git/hooks' to 'x': Device or resource busy":            {"/app/.git/hooks", "/app/x"},
		"PermissionError: [Errno 13] Permission denied: '/srv/key'":               {"/srv/key"},
		"open /etc/hosts: permission denied":                                      {"/etc/hosts"},
		"fatal: unable to write .git/config.lock: No space left on device":        nil,
		"umount: busy":                        nil,
		"all is well\nnothing: was refused":   nil,
		"make: *** [Makefile:2: all] Error 1": nil,
		"error: .git/info/attributes: Device or resource busy\nerror: .git/info/attributes: Device or resource busy": {"/app/.git/info/attributes"},
	} {
		observation, err := json.Marshal(map[string]any{
			"kind": tool.KindTerminalObservation, "content": []any{map[string]any{"type": "text", "text": output}}, "metadata": map[string]any{"working_dir": "/app"},
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		blocks.Hints(observation, func(path string) (sandbox.Block, bool) { got = append(got, path); return sandbox.Block{}, true })
		if !slices.Equal(got, want) {
			t.Errorf("%s: paths asked for = %q, want %q", output, got, want)
		}
	}
}
