package openhands

import (
	"encoding/json"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/openhands/shape"
)

// LLMFaults is what OpenHands refuses in an LLM object. The places begin at the object.
func LLMFaults(llm json.RawMessage) []pydantic.Fault {
	doc, err := jsonedit.Parse(llm)
	if err != nil {
		return []pydantic.Fault{pydantic.NoObject().At(nil, nil)}
	}
	_, faults := shape.Reader{}.Read(shape.LLMObject(), doc.Root())
	return faults
}

// The versions of the settings of agents: the newest that is read, and the first one that is
// refused with [Switches].
const (
	AgentSettingsVersion = shape.AgentVersion
	SwitchesRefused      = shape.SinceSwitchesRefused
)

// Switches are the names of the switches for single tools that older settings have.
func Switches() []string { return shape.Switches() }
