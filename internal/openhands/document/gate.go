package document

import (
	"bytes"
	"math"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
)

// The newest versions that this program knows, those of OpenHands 1.58.2. A file that
// is changed keeps the version that it has.
const (
	profileVersion      = 1
	settingsVersion     = 6
	agentVersion        = 9
	conversationVersion = 1
	connectionsVersion  = 1

	agentProfileVersion = 4
)

// anyVersion is a known version that no file is newer than.
const anyVersion = math.MaxInt64

// canonicalVersion is the version of agent settings from which on OpenHands no
// longer looks at the form of the entry in them.
const canonicalVersion = 4

// acp is the kind of agent whose entry is there for the bill only.
const acp = "acp"

// Gate reports why OpenHands does not load a text of this kind, in the order in
// which it would notice; nil when it may load it. Settings of a newer OpenHands are
// read as far as they are understood; see seal.
func (k Kind) Gate(root jsonedit.Value) *GateError {
	if root.Kind() != jsonedit.Object {
		return gate(canon.ErrorNotObject, nil, "is not a JSON object")
	}
	switch k {
	case Profile:
		return versionGate("schema_version", root, profileVersion, true)
	case Settings:
		return settingsGate(root)
	case Connections:
		return versionGate("schema_version", root, connectionsVersion, false)
	}
	return nil
}

func settingsGate(root jsonedit.Value) *GateError {
	agent := root.Get("agent_settings")
	if !agent.Exists() && !root.Get("schema_version").Exists() {
		for _, name := range []string{"llm_model", "llm_api_key", "llm_base_url"} {
			if root.Get(name).Exists() {
				return gate(canon.ReportLegacyV0, nil, "is in the OpenHands 0.x format: a newer OpenHands drops its contents")
			}
		}
	}
	if g := versionGate("schema_version", root, anyVersion, true); g != nil {
		return g
	}
	if agent.Exists() && agent.Kind() != jsonedit.Object {
		return gate(canon.ErrorSchema, nil, "agent_settings is not an object")
	}
	if g := versionGate("agent_settings.schema_version", agent, anyVersion, false); g != nil {
		return g
	}
	return versionGate("conversation_settings.schema_version", root.Get("conversation_settings"), anyVersion, false)
}

// seal reports why a text that may be loaded must not be written: a newer OpenHands
// has members in it that this program does not know.
func (k Kind) seal(root jsonedit.Value) *GateError {
	switch k {
	case Settings:
		return NewerSettings(root)
	case AgentProfile:
		if n, ok := root.Get("schema_version").Int(); ok && n > agentProfileVersion {
			return tooNew("schema_version", n, agentProfileVersion)
		}
	}
	return nil
}

// NewerSettings reports which version in settings that may be loaded is newer than all
// known ones.
func NewerSettings(root jsonedit.Value) *GateError {
	for _, of := range []struct {
		path   string
		object jsonedit.Value
		known  int64
	}{
		{"schema_version", root, settingsVersion},
		{"agent_settings.schema_version", root.Get("agent_settings"), agentVersion},
		{"conversation_settings.schema_version", root.Get("conversation_settings"), conversationVersion},
	} {
		if n, ok := of.object.Get("schema_version").Int(); ok && n > of.known {
			return tooNew(of.path, n, of.known)
		}
	}
	return nil
}

func tooNew(path string, n, known int64) *GateError {
	return gate(canon.ErrorNewer, nil, "%s is %d, newer than %d, the newest version that ohgw knows", path, n, known)
}

// versionGate checks the schema_version of an object. Where falsy is set,
// Python's "or" turns everything that counts as false into 0, and OpenHands
// accepts negative numbers.
func versionGate(path string, object jsonedit.Value, known int64, falsy bool) *GateError {
	v := object.Get("schema_version")
	if v.Kind() == jsonedit.Missing || v.Kind() == jsonedit.Null || falsy && isFalsy(v) {
		return nil
	}
	n, ok := v.Int()
	switch {
	case !ok:
		return gate(canon.ErrorSchemaType, nil, "%s is not an integer", path)
	case n < 0 && !falsy:
		return gate(canon.ErrorSchemaType, nil, "%s is negative", path)
	case n > known:
		return tooNew(path, n, known)
	}
	return nil
}

// isFalsy reports whether Python counts the value as false.
func isFalsy(v jsonedit.Value) bool {
	switch v.Kind() {
	case jsonedit.Null:
		return true
	case jsonedit.Bool:
		value, _ := v.Bool()
		return !value
	case jsonedit.String:
		return len(v.Raw()) == len(`""`)
	case jsonedit.Array, jsonedit.Object:
		return len(bytes.TrimSpace(v.Raw()[1:len(v.Raw())-1])) == 0
	case jsonedit.Number:
		return isZero(v.Raw())
	}
	return false
}

// isZero reports whether a number is 0, however it is spelled. A number that is
// too small for a float is 0 in Python too, but no file has such a version.
func isZero(number []byte) bool {
	mantissa, _, _ := bytes.Cut(bytes.ToLower(number), []byte("e"))
	return len(bytes.Trim(mantissa, "-0.")) == 0
}
