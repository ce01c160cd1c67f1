package agentserver

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/redact"
	"github.com/ohgw/ohgw/internal/truncate"
)

// version is the release of an agent-server: 1.43.1 is 1_043_001. Zero is
// older than every release: what a server does not tell is taken for missing.
type version int

// parseVersion reads "1.43.1", with or without a leading v or a suffix.
func parseVersion(s string) version {
	var v version
	parts := strings.SplitN(strings.TrimPrefix(strings.TrimSpace(s), "v"), ".", 3)
	for i := range 3 {
		v *= 1000
		if i >= len(parts) {
			continue
		}
		part := parts[i]
		if end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
			part = part[:end]
		}
		n, err := strconv.Atoi(part)
		if err != nil {
			return 0
		}
		v += version(min(n, 999)) // releases may be named after years, some day
	}
	return v
}

// The releases that ohgw was tested with, the oldest and the newest.
const (
	oldestTested = "1.21.0"
	newestTested = "1.58.2"
	testedWith   = "ohgw was tested with " + oldestTested + " to " + newestTested

	installNewest = "pip install openhands-agent-server==" + newestTested
)

// remarks is what a refusal of a server says about its version: a newer one may
// refuse what an older one took.
func (s serverInfo) remarks() string {
	switch {
	case s.version == 0:
		return "See its log for the cause."
	case s.version > parseVersion(newestTested):
		return fmt.Sprintf("It is version %s, and %s. Upgrade ohgw, or run an agent-server that was tested: %s", s.shown(), testedWith, installNewest)
	case s.version < parseVersion(oldestTested):
		return fmt.Sprintf("It is version %s, and %s. Update it: %s", s.shown(), testedWith, installNewest)
	default:
		return fmt.Sprintf("It is version %s, and %s. See its log for the cause.", s.shown(), testedWith)
	}
}

// shown returns the version as the server reports it, for a message.
func (s serverInfo) shown() string {
	text := redact.Text(strings.Join(strings.Fields(strings.ToValidUTF8(s.Version, "")), " "))
	return truncate.Marked(text, 40, "…")
}

// The first releases with what this package uses.
const (
	sinceTheFloor       version = 1_012_000 // sockets take the key in a header, no title unless asked for
	sinceTags           version = 1_016_000
	sinceDeltas         version = 1_018_001 // before, a streaming LLM fails every run
	sinceProfiles       version = 1_022_000 // and settings with their secrets, switch_llm
	sinceFirstMessage   version = 1_022_001 // sockets take the key in a message, and one too many in silence
	sinceInterrupt      version = 1_023_000
	sinceLeaf           version = 1_031_000 // leaf_event_id in states, forks from an event
	sinceToolDefault    version = 1_031_002 // settings without tools have null; before, an empty list
	sinceSafeStreaming  version = 1_033_000 // a streaming LLM that no client listens to does no harm
	sinceTitles         version = 1_034_000 // before, a title of a streaming LLM is not sure
	sinceLaunchAddition version = 1_037_000
	sinceGoals          version = 1_043_000 // 1.29 has the routes, but a goal behind a message is left in 1.34
	sinceConnections    version = 1_043_000 // profiles may refer to provider connections
	sinceSession        version = 1_047_000 // the session socket; that of 1.45 and 1.46 has no deltas
	sinceToolsAlone     version = 1_051_000 // no switches for sub-agents and switch_llm: both are tools; 1.56 refuses them
)
