package conversations

import (
	"math"
	"net/http"
	"time"

	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
)

// RunList is the answer of GET /v1/runs.
type RunList struct {
	Object string `json:"object"` // "list"
	Data   []Run  `json:"data"`
}

// Run is a turn that goes on or waits. It has no word of what was asked.
type Run struct {
	ID           string `json:"id"`     // of its completion
	Object       string `json:"object"` // "run"
	Conversation string `json:"conversation"`
	Model        string `json:"model"`
	Token        string `json:"token"` // the name of its token; empty where no token is needed
	Status       string `json:"status"`
	// Place is how many turns must end before this one begins; 0 for one that runs.
	Place   int   `json:"queue"`
	Created int64 `json:"created"` // Unix time of the request
	// Waited and Running are how long it has waited and run, in seconds.
	Waited  float64 `json:"waited_seconds"`
	Running float64 `json:"running_seconds"`
	Tokens  int64   `json:"total_tokens"` // of the LLM, so far
	Cost    float64 `json:"cost"`         // US dollars so far; 0 where the cost is not known
}

// The statuses of a [Run].
const (
	RunRunning = "running"
	RunWaiting = "waiting"
)

// ListRuns answers GET /v1/runs: the runs of the client's token, and for an
// operator those of all.
func (api *API) ListRuns() gate.Handler {
	return func(x *gate.Exchange, _ *http.Request) error {
		now := api.core.Now()
		list := RunList{Object: "list", Data: []Run{}}
		for _, r := range api.core.Runs.Runs(x.Client.Reach()) {
			list.Data = append(list.Data, describeRun(r, now))
		}
		return x.Encode(list)
	}
}

func describeRun(r run.Running, now time.Time) Run {
	out := Run{
		ID: openai.CompletionPrefix + r.AnswerID, Object: "run", Conversation: r.Conversation, Model: openai.ModelPrefix + r.Profile, Token: r.Who,
		Status: RunWaiting, Place: r.Place, Created: r.Made.Unix(), Waited: seconds(now.Sub(r.Made)),
		Tokens: r.Usage.PromptTokens + r.Usage.CompletionTokens, Cost: math.Round(r.Usage.Cost*1e9) / 1e9,
	}
	if !r.Admitted.IsZero() {
		out.Status, out.Place, out.Waited, out.Running = RunRunning, 0, seconds(r.Admitted.Sub(r.Made)), seconds(now.Sub(r.Admitted))
	}
	return out
}

// seconds is a duration in seconds, to the millisecond.
func seconds(d time.Duration) float64 {
	return float64(max(0, d).Milliseconds()) / 1000
}
