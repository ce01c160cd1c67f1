package completions_test

import (
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/apitest"
)

// TestAMentionIsAWholeWord has texts in which an @ is that of an address or of a package,
// and names that begin with another one.
func TestAMentionIsAWholeWord(t *testing.T) {
	t.Parallel()
	const asked = "" // the model is asked, and names the lawyer
	for text, want := range map[string]string{
		"@coder look":                      "coder",
		"look, @coder.":                    "coder",
		"(@coder) look":                    "coder",
		"**@Coder**: look":                 "coder",
		"ask @coder's opinion":             "coder",
		"请@coder看看":                        "coder",
		"two lines\n@gardener":             "gardener",
		"@code please":                     "code",
		"@code-review please":              "code-review",
		"@code-review: is @code-review in": "code-review",
		"@go expert, look":                 "go-expert",
		"@go-expert look":                  "go-expert",
		"@code and @coder":                 asked,
		"@code-reviews":                    asked,
		"@coders":                          asked,
		"mail joe@coder.example":           asked,
		"mail joe@coder":                   asked,
		"npm install @coder/sdk":           asked,
		"pip install x@gardener":           asked,
		"git clone git@coder:x/y":          asked,
		"see https://x.example/@coder/y":   asked,
		"see https://x.example/@coder":     asked,
		"cat ./@coder":                     asked,
		"write to @coder.example":          asked,
		"`@coder` is a decorator":          asked,
		"@@coder":                          asked,
		"@":                                asked,
		"coder":                            asked,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			b := echo()
			b.SetProfiles(
				agentapi.Profile{Name: "agent_code", Model: "p/m", Agent: "code"},
				agentapi.Profile{Name: "agent_code-review", Model: "p/m", Agent: "code-review"},
				agentapi.Profile{Name: "agent_coder", Model: "p/m", Agent: "coder"},
				agentapi.Profile{Name: "agent_gardener", Model: "p/m", Agent: "gardener"},
				agentapi.Profile{Name: "agent_go-expert", Model: "p/m", Agent: "Go Expert"},
				agentapi.Profile{Name: "agent_lawyer", Model: "p/m", Agent: "lawyer"},
			)
			r := &router{answer: func(string) (string, error) { return "lawyer", nil }}
			got := apitest.Serve(t, b, r.config).Chat(autoAsk(text)).Header.Get("X-OpenHands-Routed-To")
			calls := int64(0)
			if want == asked {
				want, calls = "lawyer", 1
			}
			if got != "openhands_agent_"+want || r.asked.Load() != calls {
				t.Errorf("the agent is %s after %d calls, want %s after %d", got, r.asked.Load(), want, calls)
			}
		})
	}
}

// TestTheLongestNameInAnAnswerCounts has an agent whose name is in that of another one.
func TestTheLongestNameInAnAnswerCounts(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"I choose code-review.":                 "code-review",
		"The best is **code**":                  "code",
		"code-review, and not code":             "code", // two are named: the rule chooses
		"code-review is better than any other.": "code-review",
	} {
		b := echo()
		b.SetProfiles(
			agentapi.Profile{Name: "agent_code", Model: "p/m", Agent: "code"}, agentapi.Profile{Name: "agent_code-review", Model: "p/m", Agent: "code-review"},
		)
		r := &router{answer: func(string) (string, error) { return said, nil }}
		got := apitest.Serve(t, b, r.config).Chat(autoAsk("hello")).Header.Get("X-OpenHands-Routed-To")
		if got != "openhands_agent_"+want {
			t.Errorf("%q chooses %s, want %s", said, got, want)
		}
	}
}
