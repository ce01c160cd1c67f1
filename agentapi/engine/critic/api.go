package critic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/pause"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// Trace is what a model that classifies is shown of a conversation.
type Trace struct {
	Messages []event.LLMMessage
	Tools    []llm.Tool
	Events   []string // the ids of the events that the messages are of
}

// service is a model that classifies the work of an agent. It is OpenHands' own, or one that
// answers like it.
type service struct {
	URL       string  `json:"server_url"`
	Key       string  `json:"api_key"`
	Model     string  `json:"model_name"`
	Template  string  `json:"tokenizer_name"`
	Tools     bool    `json:"pass_tools_definitions"`
	Seconds   float64 `json:"timeout_seconds"`
	Success   bool    `json:"has_success_label"`
	Threshold float64 `json:"issue_threshold"`

	client *http.Client
}

// The defaults of OpenHands.
const (
	defaultURL      = "https://llm-proxy.app.all-hands.dev/vllm"
	defaultModel    = "critic"
	defaultTemplate = "Qwen/Qwen3-4B-Instruct-2507"
	maxResponse     = 1 << 20
)

// serviceOf reads what a stored critic says of its model.
func serviceOf(stored json.RawMessage, client *http.Client) (*service, error) {
	s := &service{URL: defaultURL, Model: defaultModel, Template: defaultTemplate, Tools: true, Seconds: 300, Success: true, Threshold: 0.75, client: client}
	if err := json.Unmarshal(stored, s); err != nil {
		return nil, fmt.Errorf("read the critic: %w", err)
	}
	switch {
	case strings.TrimSpace(s.Key) == "":
		return nil, errors.New("the critic has no api_key")
	case s.Template != defaultTemplate:
		return nil, fmt.Errorf("the chat template of %q is not known here; leave out tokenizer_name", s.Template)
	case !s.Success:
		return nil, errors.New("a critic without the label success has no score; leave out has_success_label")
	case !(s.Threshold >= 0 && s.Threshold <= 1):
		return nil, errors.New("read the critic: issue_threshold is not from 0 to 1")
	case !(s.Seconds > 0 && s.Seconds <= math.MaxInt32):
		return nil, errors.New("read the critic: timeout_seconds is not greater than 0")
	}
	return s, nil
}

// labels are those whose probabilities the model gives, in its order.
var labels = [...]string{
	"success",
	"sentiment_positive", "sentiment_neutral", "sentiment_negative",
	"misunderstood_intention", "did_not_follow_instruction", "insufficient_analysis", "insufficient_clarification",
	"improper_tool_use_or_setup", "loop_behavior", "insufficient_testing", "insufficient_debugging", "incomplete_implementation",
	"file_management_errors", "scope_creep", "risky_actions_or_permission", "other_agent_issue",
	"infrastructure_external_issue", "infrastructure_agent_caused_issue",
	"clarification_or_restatement", "correction", "direction_change", "vcs_update_requests", "progress_or_scope_concern",
	"frustration_or_complaint", "removal_or_reversion_request", "other_user_issue",
}

// Where the labels of each category begin.
const (
	firstSentiment = 1
	firstIssue     = 4
	firstInfra     = 17
	firstFollowup  = 19
)

// score asks the model once, and again where its server fails.
func (s *service) score(ctx context.Context, t Trace) (*event.CriticResult, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(s.Seconds*float64(time.Second)))
	defer cancel()
	body, err := plainjson.Marshal(struct {
		Model string `json:"model"`
		Input string `json:"input"`
	}{s.Model, s.input(t)})
	if err != nil {
		return nil, err
	}
	const attempts = 3
	var data []byte
	for attempt := 1; ; attempt++ {
		var status int
		if data, status, err = s.post(ctx, body); err != nil {
			return nil, err
		}
		if status == http.StatusOK {
			break
		}
		if status != http.StatusInternalServerError || attempt == attempts {
			return nil, fmt.Errorf("the critic's server answers with the status %d", status)
		}
		if err := pause.For(ctx, time.Duration(attempt)*time.Second); err != nil {
			return nil, err
		}
	}
	probs, err := read(data)
	if err != nil {
		return nil, err
	}
	return resultOf(probs, t.Events)
}

func (s *service) post(ctx context.Context, body []byte) (data []byte, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(s.URL, "/")+"/classify", bytes.NewReader(body))
	if err != nil {
		return nil, 0, fmt.Errorf("the critic's server_url cannot be used: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.Key)
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, 0, fmt.Errorf("ask the critic's server: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err = io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return nil, 0, fmt.Errorf("read the answer of the critic's server: %w", err)
	}
	return data, resp.StatusCode, nil
}

// read finds the probabilities in the answer of a server, in the order of the labels.
func read(data []byte) ([]float64, error) {
	var in struct {
		Data []struct {
			Probs []float64 `json:"probs"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("read the answer of the critic's server: %w", err)
	}
	if len(in.Data) == 0 || len(in.Data[0].Probs) != len(labels) {
		return nil, fmt.Errorf("the answer of the critic's server does not have %d probabilities", len(labels))
	}
	if p := in.Data[0].Probs[0]; p < 0 || p > 1 {
		return nil, fmt.Errorf("the score %v of the critic's server is not from 0 to 1", p)
	}
	return in.Data[0].Probs, nil
}

// feature is a label that the model finds likely.
type feature struct {
	Name        string  `json:"name"`
	Display     string  `json:"display_name"`
	Probability float64 `json:"probability"`
}

// features are those of an answer, by their categories.
type features struct {
	Sentiment sentiment `json:"sentiment"`
	Issues    []feature `json:"agent_behavioral_issues"`
	Followup  []feature `json:"user_followup_patterns"`
	Infra     []feature `json:"infrastructure_issues"`
	Other     []feature `json:"other"`
}

type sentiment struct {
	Predicted   string             `json:"predicted"`
	Probability float64            `json:"probability"`
	All         map[string]float64 `json:"all"`
}

// metadata is what a result has besides its score.
type metadata struct {
	Events   []string `json:"event_ids"`
	Features features `json:"categorized_features"`
}

// resultOf makes the result of probabilities, in OpenHands' form.
func resultOf(probs []float64, events []string) (*event.CriticResult, error) {
	all := make([]feature, len(labels))
	for i, name := range labels {
		all[i] = feature{Name: name, Display: displayed(name), Probability: probs[i]}
	}
	data, err := plainjson.Marshal(metadata{events, features{
		Sentiment: felt(all[firstSentiment:firstIssue]), Issues: likely(all[firstIssue:firstInfra]), Followup: likely(all[firstFollowup:]),
		Infra: likely(all[firstInfra:firstFollowup]), Other: []feature{},
	}})
	if err != nil {
		return nil, err
	}
	var list strings.Builder
	slices.SortStableFunc(all, func(a, b feature) int { return cmp.Compare(b.Probability, a.Probability) })
	for i, f := range all {
		if i > 0 {
			list.WriteString(", ")
		}
		fmt.Fprintf(&list, "%q: %s", f.Name, spelled(f.Probability))
	}
	return &event.CriticResult{Score: probs[0], Message: fmt.Sprintf("Success: %.2f; {%s}", probs[0], list.String()), Metadata: data}, nil
}

// spelled is a number as Python writes it: 1.0, not 1.
func spelled(f float64) string {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// likely finds the labels that are shown, the likeliest first.
func likely(all []feature) []feature {
	const shown = 0.2
	found := slices.DeleteFunc(slices.Clone(all), func(f feature) bool { return f.Probability < shown })
	slices.SortStableFunc(found, func(a, b feature) int { return cmp.Compare(b.Probability, a.Probability) })
	return found
}

// felt makes probabilities of what the model says of the user's mood.
func felt(all []feature) sentiment {
	s := sentiment{All: map[string]float64{}}
	sum := 0.0
	for _, f := range all {
		sum += math.Exp(f.Probability)
	}
	for _, f := range all {
		name := strings.TrimPrefix(f.Name, "sentiment_")
		p := math.Exp(f.Probability) / sum
		s.All[name] = p
		if p > s.Probability {
			s.Predicted, s.Probability = displayed(name), p
		}
	}
	return s
}

// displayed is a label as a title.
func displayed(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, " ")
}

// found reads the features of a result.
func found(r *event.CriticResult) (m metadata) {
	_ = json.Unmarshal(r.Metadata, &m) // without features only the score counts
	return m
}

// faulty reports whether the model is sure of a fault of the agent.
func (s *service) faulty(r *event.CriticResult) bool {
	return slices.ContainsFunc(found(r).Features.Issues, func(f feature) bool { return f.Probability >= s.Threshold })
}

// findings tells the agent what the model has found; "" for nothing.
func findings(r *event.CriticResult) string {
	f := found(r).Features
	var b strings.Builder
	for _, part := range []struct {
		name string
		list []feature
	}{
		{"Potential agent issues", f.Issues},
		{"Predicted user follow-up needs", f.Followup},
		{"Infrastructure issues", f.Infra},
		{"Other observations", f.Other},
	} {
		var items []string
		for _, one := range part.list {
			items = append(items, fmt.Sprintf("%s (%.0f%%)", one.Display, one.Probability*100))
		}
		if len(items) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", part.name, strings.Join(items, ", "))
		}
	}
	return b.String()
}
