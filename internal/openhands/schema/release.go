package schema

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Release is a release of OpenHands' SDK and agent-server.
type Release struct{ Major, Minor, Patch int }

// Latest is the release whose form is the newest one that is known, Oldest the first
// one with settings on the disk.
var (
	Latest = Release{1, 58, 2}
	Oldest = Release{1, 21, 0}
)

// LatestName is how the newest form can be named.
const LatestName = "latest"

// numbers are the schema numbers of a release. 0 means that it has no such object, or
// no number in it.
type numbers struct{ settings, agent, conversation, agentProfile int64 }

// numbered are the releases with new numbers. A release that is not here has those of
// the one before.
var numbered = []struct {
	since Release
	numbers
}{
	{Release{1, 21, 0}, numbers{0, 2, 1, 0}},
	{Release{1, 22, 0}, numbers{1, 3, 1, 0}},
	{Release{1, 27, 0}, numbers{2, 3, 1, 0}},
	{Release{1, 28, 0}, numbers{2, 4, 1, 0}},
	{Release{1, 29, 0}, numbers{2, 4, 1, 1}},
	{Release{1, 37, 0}, numbers{2, 5, 1, 2}},
	{Release{1, 48, 0}, numbers{3, 6, 1, 2}},
	{Release{1, 51, 0}, numbers{5, 8, 1, 3}},
	{Release{1, 56, 0}, numbers{6, 9, 1, 4}},
}

// newest are the numbers of Latest.
var newest = Latest.numbers()

// The releases from which on an agent-server has a kind of files.
var (
	llmProfilesSince   = Release{1, 22, 0}
	agentProfilesSince = Release{1, 29, 0}
	metaProfilesSince  = Release{1, 49, 6}
)

// HasLLMProfiles reports whether the agent-server of this release has LLM profiles.
func (r Release) HasLLMProfiles() bool { return !r.before(llmProfilesSince) }

// HasAgentProfiles reports whether the agent-server of this release has agent profiles.
func (r Release) HasAgentProfiles() bool { return !r.before(agentProfilesSince) }

// HasMetaProfiles reports whether the agent-server of this release has meta-profiles.
func (r Release) HasMetaProfiles() bool { return !r.before(metaProfilesSince) }

// RangeError means that the form of a release is not known.
type RangeError struct{ Text string }

func (e *RangeError) Error() string {
	return fmt.Sprintf("%q is not a version of OpenHands from %s to %s", e.Text, Oldest, Latest)
}

// ParseRelease reads "1.58.2", "1.58", which is the newest one of these, or "latest".
func ParseRelease(text string) (Release, error) {
	if text == LatestName {
		return Latest, nil
	}
	parts := strings.Split(strings.TrimPrefix(text, "v"), ".")
	n := []int{0, 0, math.MaxInt}
	if len(parts) < 2 || len(parts) > len(n) {
		return Release{}, &RangeError{text}
	}
	for i, part := range parts {
		number, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return Release{}, &RangeError{text}
		}
		n[i] = int(number)
	}
	r := Release{n[0], n[1], n[2]}
	if r.Major == Latest.Major && r.Minor == Latest.Minor && r.Patch == math.MaxInt {
		r = Latest
	}
	if r.before(Oldest) || Latest.before(r) {
		return Release{}, &RangeError{text}
	}
	return r, nil
}

func (r Release) String() string {
	if r.Patch == math.MaxInt {
		return fmt.Sprintf("%d.%d", r.Major, r.Minor)
	}
	return fmt.Sprintf("%d.%d.%d", r.Major, r.Minor, r.Patch)
}

func (r Release) before(other Release) bool {
	return cmp.Or(cmp.Compare(r.Major, other.Major), cmp.Compare(r.Minor, other.Minor), cmp.Compare(r.Patch, other.Patch)) < 0
}

func (r Release) numbers() numbers {
	for _, n := range slices.Backward(numbered) {
		if !r.before(n.since) {
			return n.numbers
		}
	}
	return numbers{}
}
