package conversations

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/pattern"
)

func (s *server) policy(w http.ResponseWriter, r *http.Request) error {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	if o.Need("policy") && !o.Has("policy") {
		o.Wrong("policy", pydantic.NoObject())
	}
	policy := readPolicy(o, "policy")
	if err := o.Err(); err != nil {
		return err
	}
	return s.on(func(ctx context.Context, c control.Conversation) error { return c.SetPolicy(ctx, policy) })(w, r)
}

func (s *server) analyzer(w http.ResponseWriter, r *http.Request) error {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	o.Need("security_analyzer")
	analyzer := readAnalyzer(o, "security_analyzer")
	if err := o.Err(); err != nil {
		return err
	}
	return s.on(func(ctx context.Context, c control.Conversation) error { return c.SetAnalyzer(ctx, analyzer) })(w, r)
}

// readPolicy reads a confirmation policy; nil if there is none.
func readPolicy(o *pydantic.Object, name string) json.RawMessage {
	in := o.Object(name)
	if in == nil {
		return nil
	}
	kind, ok := in.Kinds("openhands.sdk.security.confirmation_policy.ConfirmationPolicyBase", "AlwaysConfirm", "ConfirmRisky", "NeverConfirm")
	if !ok {
		return nil
	}
	policy := map[string]any{"kind": kind}
	if kind == "ConfirmRisky" {
		policy["threshold"] = in.Choice("threshold", "HIGH", pydantic.Enum, "UNKNOWN", "LOW", "MEDIUM", "HIGH")
		policy["confirm_unknown"] = in.Bool("confirm_unknown", true)
		if policy["threshold"] == "UNKNOWN" {
			in.Value("threshold", "Threshold cannot be UNKNOWN")
		}
	}
	return encoded(policy)
}

// readAnalyzer reads a security analyzer; nil if there is none.
func readAnalyzer(o *pydantic.Object, name string) json.RawMessage {
	in := o.Object(name)
	if in == nil {
		return nil
	}
	if !checkAnalyzer(in) {
		return nil
	}
	return in.JSON()
}

// checkAnalyzer notes what is wrong with an analyzer and those inside of it. It reports
// whether the kind is known.
func checkAnalyzer(in *pydantic.Object) bool {
	kind, ok := in.Kinds("openhands.sdk.security.analyzer.SecurityAnalyzerBase", "PatternSecurityAnalyzer", "PolicyRailSecurityAnalyzer",
		"EnsembleSecurityAnalyzer", "GraySwanAnalyzer", "LLMSecurityAnalyzer", "ToolShieldLLMSecurityAnalyzer")
	switch kind {
	case "EnsembleSecurityAnalyzer":
		in.Need("analyzers")
		list := in.List("analyzers")
		if list != nil && len(list) == 0 {
			in.Wrong("analyzers", pydantic.TooShort("List", 1, 0))
		}
		for _, item := range list {
			if part := item.Object(); part != nil {
				checkAnalyzer(part)
			}
		}
		in.Bool("propagate_unknown", false)
	case "ToolShieldLLMSecurityAnalyzer":
		in.Need("llm")
	case "PatternSecurityAnalyzer":
		for _, name := range [...]string{"high_patterns", "medium_patterns", "injection_high_patterns", "injection_medium_patterns"} {
			in.List(name)
		}
	}
	return ok
}

func (s *server) switchProfile(w http.ResponseWriter, r *http.Request) error {
	o, err := wire.ReadObject(r, false)
	if err != nil {
		return err
	}
	o.NeedAlone("profile_name")
	name := o.String("profile_name", "")
	if err := o.Err(); err != nil {
		return err
	}
	return s.on(func(ctx context.Context, c control.Conversation) error {
		return unknownProfile(c.Switch(ctx, name), name)
	})(w, r)
}

// profileName is what a profile can be called.
var profileName = pattern.Of(`\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z`)

// unknownProfile returns err, in the agent-server's words where it is about a profile.
func unknownProfile(err error, name string) error {
	if errors.Is(err, agentapi.ErrProfileNotFound) {
		if !profileName().MatchString(name) {
			return &wire.Error{Status: http.StatusBadRequest, Err: err, Detail: "Invalid profile name: '" + name +
				"'. Profile names must be 1-64 characters, start with a letter or digit, and contain only letters, digits, '.', '_', or '-'."}
		}
		return &wire.Error{Status: http.StatusNotFound, Detail: "Profile '" + name + "' not found", Err: err}
	}
	return err
}

func (s *server) switchLLM(w http.ResponseWriter, r *http.Request) error {
	var raw json.RawMessage
	if err := wire.ReadBody(r, &raw, true); err != nil {
		return err
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' {
		raw = json.RawMessage("{}") // OpenHands reads the member alone, and does not find it
	}
	o, err := pydantic.NewObject(raw, "body")
	if err != nil {
		return err
	}
	o.NeedAlone("llm")
	checkLLM(o, pydantic.NoObject())
	if err := o.Err(); err != nil {
		return err
	}
	llm := o.Raw("llm")
	if s.Unseal != nil {
		if llm, err = s.unsealed(llm); err != nil {
			return err
		}
	}
	return s.on(func(ctx context.Context, c control.Conversation) error {
		if s.LLM != nil {
			if llm, err = s.LLM(llm); err != nil {
				return err
			}
		}
		return c.SwitchLLM(ctx, llm)
	})(w, r)
}

// checkLLM checks the member llm of an object. NoObject refuses what is not an LLM at all.
func checkLLM(o *pydantic.Object, noObject *pydantic.Refusal) {
	o.NotNull("llm", noObject)
	raw := o.Raw("llm")
	if raw == nil {
		return
	}
	if raw[0] != '{' {
		o.Wrong("llm", noObject)
		return
	}
	if llm := o.Object("llm"); llm != nil {
		llm.Add(openhands.LLMFaults(raw)...)
	}
}

func (s *server) fork(w http.ResponseWriter, r *http.Request) error {
	id, o, err := readFor(r, true)
	if err != nil {
		return err
	}
	f := control.Fork{ID: o.ID("id"), KeepMetrics: !o.Bool("reset_metrics", true)}
	if title := o.Text("title", 0, maxTitle); title != nil {
		f.Title = *title
	}
	if f.Tags = readTags(o); f.Tags == nil {
		f.Tags = map[string]string{} // those of the source are not the copy's
	}
	if from := o.Text("from_event_id", 0, -1); from != nil {
		f.From = *from
	}
	if err := o.Err(); err != nil {
		return err
	}
	var record control.Record
	err = s.with(r.Context(), id, func(ctx context.Context, c control.Conversation) error {
		made, err := c.Copy(ctx, f)
		if err != nil {
			return explainFork(err, f)
		}
		defer func() { _ = made.Close() }() // The copy stays; only its handle goes.
		record, err = made.Record(ctx)
		return err
	})
	if err != nil {
		return missing(err, "Source conversation not found")
	}
	return s.writeInfo(w, r, http.StatusCreated, record)
}

func explainFork(err error, f control.Fork) error {
	switch {
	case errors.Is(err, control.ErrTaken):
		return &wire.Error{Status: http.StatusConflict, Detail: "Conversation with id " + f.ID + " already exists", Err: err}
	case errors.Is(err, control.ErrNoEvent):
		return &wire.Error{Status: http.StatusNotFound, Detail: "from_event_id '" + f.From + "' not found in conversation", Err: err}
	}
	return err
}

func (s *server) navigate(w http.ResponseWriter, r *http.Request) error {
	id, o, err := readFor(r, false)
	if err != nil {
		return err
	}
	to := ""
	if event := o.Text("event_id", 0, -1); event != nil {
		to = *event
	}
	if err := o.Err(); err != nil {
		return err
	}
	var record control.Record
	err = s.with(r.Context(), id, func(ctx context.Context, c control.Conversation) error {
		if err := c.Navigate(ctx, to); err != nil {
			if errors.Is(err, control.ErrNoEvent) {
				return &wire.Error{Status: http.StatusNotFound, Detail: "Unknown event_id: " + to, Err: err}
			}
			return err
		}
		record, err = c.Record(ctx)
		return err
	})
	if err != nil {
		return missing(err, "Conversation not found")
	}
	return s.writeInfo(w, r, http.StatusOK, record)
}

// loadPlugin adds a plugin of the marketplaces of a conversation.
func (s *server) loadPlugin(w http.ResponseWriter, r *http.Request) error {
	id, o, err := readFor(r, false)
	if err != nil {
		return err
	}
	o.NeedAlone("plugin_ref")
	ref := o.String("plugin_ref", "")
	if err := o.Err(); err != nil {
		return err
	}
	if err := s.Engine.LoadPlugin(r.Context(), id, ref); err != nil {
		return bare(err)
	}
	wire.WriteJSON(w, http.StatusOK, wire.Success())
	return nil
}
