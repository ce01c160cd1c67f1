package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// question is the smallest turn that shows that everything works.
const question = `{"model":"openhands","messages":[{"role":"user","content":"Reply with the word ok. Use no tool."}]}`

// completion is what is read of an answer.
type completion struct {
	Choices []struct {
		Message struct {
			Content string `json:"content"`
		} `json:"message"`
	} `json:"choices"`
	Usage struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
	} `json:"usage"`
	Extension struct {
		Cost float64 `json:"cost"` // US dollars; 0 if the cost is unknown
	} `json:"ohgw"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// checkLive runs one turn through /v1 and tells what it cost.
func checkLive(ctx context.Context, w *World) Result {
	g, err := w.Gateway(ctx)
	if err != nil {
		return failed(err)
	}
	began := w.Now()
	status, answer, err := w.ask(ctx, g)
	took := w.Now().Sub(began)
	switch {
	case err != nil:
		return Result{}.fail("the model sent no answer", err.Error(), w.tryModel(ctx))
	case status != http.StatusOK:
		return Result{}.fail(answer.Error.Message, fmt.Sprintf("status %d, %s", status, answer.Error.Code), w.repairOf(ctx, answer.Error.Code))
	case len(answer.Choices) == 0 || answer.Choices[0].Message.Content == "":
		return Result{}.fail("the answer is empty", "", w.tryModel(ctx))
	}
	price := "cost unknown"
	if cost := answer.Extension.Cost; cost > 0 {
		price = fmt.Sprintf("$%.4f", cost)
	}
	return fine("the model answered in %.1f s: %d tokens in, %d out, %s", took.Seconds(), answer.Usage.Prompt, answer.Usage.Completion, price)
}

func (w *World) ask(ctx context.Context, g Gateway) (int, completion, error) {
	var answer completion
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+"/v1/chat/completions", strings.NewReader(question))
	if err != nil {
		return 0, answer, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-OpenHands-Repeat", "run") // the answer to an earlier one proves nothing
	if g.Key != "" {
		req.Header.Set("Authorization", "Bearer "+g.Key)
	}
	resp, err := w.Do(req)
	if err != nil {
		return 0, answer, err
	}
	defer func() { _ = resp.Body.Close() }() // It was only read.
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return 0, answer, err
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, answer, fmt.Errorf("read the answer: %w", err)
	}
	if answer.Error.Message == "" {
		answer.Error.Message = "the request was refused"
	}
	return resp.StatusCode, answer, nil
}

// tryModel is the command that asks the active model without an agent, and says
// what is wrong.
func (w *World) tryModel(ctx context.Context) string {
	if p, err := w.Profiles(ctx); err == nil && p.Active != nil {
		return "ohgw profiles check --live " + p.Active.Name
	}
	return "ohgw profiles check --live"
}

// repairOf says what to do about an error code of the gateway.
func (w *World) repairOf(ctx context.Context, code string) string {
	switch code {
	case "model_not_found":
		return "ohgw profiles use NAME"
	case "llm_error":
		return w.tryModel(ctx)
	case "agent_server_unavailable", "agent_server_lost", "agent_server_error":
		return "ohgw status"
	case "agent_unavailable", "agent_error", "agent_lost":
		return "ohgw logs"
	case "missing_api_key", "invalid_api_key":
		return "export OHGW_API_KEY=$(ohgw tokens create NAME)"
	case "rate_limit_exceeded", "conversation_busy":
		return "wait until fewer agents run: ohgw ps"
	}
	return "ohgw logs"
}
