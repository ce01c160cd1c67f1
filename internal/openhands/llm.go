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

// AgentSettingsVersion is the newest version of the settings of agents that is read.
const AgentSettingsVersion = shape.AgentVersion
