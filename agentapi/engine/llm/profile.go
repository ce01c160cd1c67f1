package llm

import "github.com/ohgw/ohgw/internal/openhands/llmentry"

// Profile is the LLM that a model is made of. [Ignored] names which of its members that
// are set have no effect here.
//
// Who loads a profile decrypts its secrets first, and puts the key and URL of a provider
// connection in place.
type Profile = llmentry.LLM

// FallbackStrategy names the profiles to ask, in order, when this one's provider cannot
// answer.
type FallbackStrategy = llmentry.FallbackStrategy

// DefaultProfile is a profile of which only the model is known.
func DefaultProfile(model string) Profile { return llmentry.Default(model) }

// ParseProfile reads the JSON of an LLM: the llm of an agent, or a profile as an
// agent-server sends it. Absent fields have their defaults; unknown fields are skipped. No
// error quotes a value.
func ParseProfile(data []byte) (Profile, error) {
	p, err := llmentry.Read(data)
	if err != nil {
		return Profile{}, err
	}
	return p, p.Check()
}
