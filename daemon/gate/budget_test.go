package gate_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

const budgetHeader = "X-OpenHands-Budget"

// spender is an agent that says something, spends a dollar, and goes on as long as it can.
func spender(after ...daemontest.Step) *daemontest.Backend {
	return apitest.Script(append([]daemontest.Step{daemontest.Say("So far."), daemontest.Spend(1)}, after...)...)
}

func TestARunEndsWithTheBudgetOfItsRequest(t *testing.T) {
	t.Parallel()
	const said = "The run has cost 1.0000 of the 0.5 US dollars that its request allows"
	g := apitest.Serve(t, spender(daemontest.Hang()))
	res := g.Chat(apitest.Ask("go"), budgetHeader, "0.50")
	c := apitest.Completed(t, res)
	apitest.Equal(t, "the finish reason", c.Choices[0].FinishReason, "length")
	apitest.Begins(t, "the answer", c.Text(), "So far.\n\n")
	apitest.Contains(t, "the answer", c.Text(), said)
	apitest.Equal(t, "X-OpenHands-Run-Status", res.Header.Get("X-OpenHands-Run-Status"), "error")
	apitest.Equal(t, "the number of interrupts", g.Backend.Interrupts(), 1)

	f := apitest.Parse(t, g.Chat(apitest.Ask("go on", apitest.Streamed), budgetHeader, "$0.5"))
	apitest.Contains(t, "the stream", f.Text(), said)
	apitest.Equal(t, "the stream's finish reason", *f.Chunks[len(f.Chunks)-1].Choices[0].FinishReason, "length")

	r := g.Respond(apitest.Input("go on"), budgetHeader, "0.5")
	apitest.Contains(t, "the response", r.Body, `"status":"incomplete"`)
	apitest.Contains(t, "the response", r.Body, `"max_output_tokens"`)
	apitest.Contains(t, "the response", r.Body, said)
}

func TestARunBelowTheBudgetOfItsRequestIsLeftAlone(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, spender(daemontest.Finish("done")))
	c := apitest.Completed(t, g.Chat(apitest.Ask("go"), budgetHeader, "1.01"))
	apitest.Equal(t, "the answer", c.Text(), "done")
	apitest.Equal(t, "the finish reason", c.Choices[0].FinishReason, "stop")
	apitest.Equal(t, "the number of interrupts", g.Backend.Interrupts(), 0)
}

// What the conversation has cost before is not the run's.
func TestTheBudgetOfARequestIsForItsRunAlone(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, spender(daemontest.Finish("done")))
	const id = "6c1d0ad2-8f9b-4a25-a3e1-9a8d2f0a3b11"
	for _, prompt := range []string{"one", "two", "three"} {
		c := apitest.Completed(t, g.Chat(apitest.Ask(prompt), budgetHeader, "1.5", "X-OpenHands-ServerConversation-ID", id))
		apitest.Equal(t, "the answer", c.Text(), "done")
	}
}

func TestADollarBudgetOfAModelWithoutAPriceIsMentioned(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Use(5000), daemontest.Use(5000), daemontest.Finish("done")))
	c := apitest.Completed(t, g.Chat(apitest.Ask("go"), budgetHeader, "1"))
	apitest.Equal(t, "the answer", c.Text(), "done")
	if n := strings.Count(c.Choices[0].Message.Reasoning, "The price of this model is not known"); n != 1 {
		t.Errorf("the progress %q says %d times that there is no price, want once", c.Choices[0].Message.Reasoning, n)
	}
}

func TestABadBudgetIsRefused(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("done")))
	for _, v := range []string{"-1", "0", "0.00", "NaN", "Inf", "1e999", "1e3", "0x1p4", "5/fortnight", "5/day", "1_000", ".5", "5.", "0.0000001", "1,5", "five", "$", strings.Repeat("9", 60000)} {
		apitest.Envelope(t, g.Chat(apitest.Ask("hi"), budgetHeader, v), http.StatusBadRequest, "invalid_value", budgetHeader)
		apitest.Envelope(t, g.Respond(apitest.Input("hi"), budgetHeader, v), http.StatusBadRequest, "invalid_value", budgetHeader)
	}
	r := g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("hi"))
	r.Header[budgetHeader] = []string{"1", "2"}
	apitest.Envelope(t, g.Finish(g.Send(r)), http.StatusBadRequest, "invalid_value", budgetHeader)
	apitest.Equal(t, "the number of runs", g.Backend.Runs(), 0)
	for _, v := range []string{" ", "999999999.999999", "0.000001", "$12"} {
		apitest.Completed(t, g.Chat(apitest.Ask("hi "+v), budgetHeader, v))
	}
}

// A run that reaches its time first is not one that reached its budget.
func TestABudgetLeavesTheTimeLimitInForce(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, spender(daemontest.Hang()))
	apitest.Envelope(t, g.Chat(apitest.Ask("go"), budgetHeader, "5", "X-OpenHands-Timeout", "0.05"), http.StatusGatewayTimeout, "run_timeout", "")
}
