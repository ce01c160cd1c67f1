package skill

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// switchedOff are the installed skills that the user has switched off, in OpenHands'
// list of them. Where it cannot be read there are none, as with OpenHands.
func switchedOff(home string) map[string]bool {
	data, err := os.ReadFile(filepath.Join(home, filepath.FromSlash(installed), ".installed.json"))
	if err != nil {
		return nil
	}
	type state struct {
		Enabled *bool `json:"enabled"`
	}
	var list struct {
		Now    map[string]state `json:"extensions"`
		Before map[string]state `json:"skills"` // as it was called once
	}
	if json.Unmarshal(data, &list) != nil {
		return nil
	}
	off := map[string]bool{}
	for _, part := range []map[string]state{list.Before, list.Now} {
		for name, s := range part {
			off[name] = s.Enabled != nil && !*s.Enabled
		}
	}
	return off
}

// Describe reads the SKILL.md of a directory of that name, and says what the skill is
// for.
func Describe(name string, data []byte) (string, error) {
	s, err := parse("", name+"/SKILL.md", data, "")
	return s.Description, err
}
