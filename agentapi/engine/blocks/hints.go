package blocks

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// maxPaths is how many paths of an output are looked at.
const maxPaths = 16

// denied is what the kernel answers where the sandbox keeps something. A mount that
// protects a file makes it busy for a program that replaces it, as git does.
const denied = `read-only file system|permission denied|operation not permitted|device or resource busy`

var (
	// denials are lines in which a program says that the kernel refused it something.
	denials = pattern.Of(`(?im)^.*(?:` + denied + `).*$`)
	// shellName is how a shell begins such a line.
	shellName = pattern.Of(`^\S*sh: (?:(?:line )?\d+: )?`)
	// namedPaths are the paths in such a line: in quotes, absolute up to a colon, or the
	// word in front of the error.
	namedPaths = pattern.Of(`(?i)'([^'\n]+)'|"([^"\n]+)"|‘([^’\n]+)’|(?:^|[\s(=])(/[^\s:'"(),;]+)|(?:^|[\s(=])([^\s:'"(),;]+): (?:` + denied + `)`)
)

// Hints finds the refused paths that the output of a command names. The kernel does
// not report which path it has refused, so this is a guess by what programs print: it
// makes a text, and nothing is decided by it.
func Hints(observation json.RawMessage, explain func(path string) (sandbox.Block, bool)) (found []sandbox.Block) {
	var o struct {
		Content  []event.Content       `json:"content"`
		Metadata tool.TerminalMetadata `json:"metadata"`
		Kind     string                `json:"kind"`
	}
	if json.Unmarshal(observation, &o) != nil || o.Kind != tool.KindTerminalObservation {
		return nil
	}
	var seen []string
	for _, line := range denials().FindAllString(event.PlainText(o.Content), maxPaths) {
		line = line[len(shellName().FindString(line)):]
		for _, groups := range namedPaths().FindAllStringSubmatch(line, maxPaths) {
			path := absolute(groups[1:], o.Metadata.WorkingDir)
			if path == "" || slices.Contains(seen, path) || len(seen) >= maxPaths {
				continue
			}
			seen = append(seen, path)
			if b, ok := explain(path); ok {
				found = append(found, b)
			}
		}
	}
	return found
}

// absolute is the one path of a match; empty where it is relative to a directory that
// is not known.
func absolute(groups []string, dir *string) string {
	for _, path := range groups {
		switch {
		case path == "":
		case filepath.IsAbs(path):
			return filepath.Clean(path)
		case dir != nil && filepath.IsAbs(*dir):
			return filepath.Join(*dir, path)
		}
	}
	return ""
}
