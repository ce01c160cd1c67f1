// Package shape is what the objects look like that OpenHands stores and serves: the
// members of an LLM, of the settings of agents and conversations, of tool servers,
// with their kinds, bounds and defaults. Package pydantic reads the single values.
//
// A [Field] is a single member. An [Object] reads a whole object into a tree whose
// secrets are secret.Values, so that nothing shows them by accident; [Expose] makes
// JSON of a tree again.
package shape

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// Kind is how OpenHands reads a member.
type Kind byte

// The kinds of members.
const (
	TextKind      Kind = iota
	SecretKind         // text, perhaps encrypted
	IntKind            // whole number
	FloatKind          // number
	BoolKind           // also 0, 1, "yes", "off" …
	ChoiceKind         // one of a few words
	HeadersKind        // object of texts
	OverridesKind      // object of texts and truth values
	FreeKind           // any object
	anyKind            // any value
	timeKind           // text; the present time if it is not there
	listKind           // list of one kind of element
	mapKind            // object of one kind of member
	headersKind        // object of texts, of which some are secrets by their names
	serversKind        // tool servers by their names
	objectKind         // object with members of its own
	sourceKind         // a secret, or an object that says where one is
)

// Field is a member of an object.
type Field struct {
	Name string
	Kind Kind
	Like string // the member whose value it has when it is not there; "": none

	nullable bool
	required bool
	either   bool            // of a secret: OpenHands reads it as a text or as a secret, and refuses it as both
	fallback string          // JSON; the value when the member is not there
	bounds   pydantic.Bounds // of a number
	text     pydantic.Text   // of a text
	words    []string
	item     *Field  // of a list or map
	object   *Object // of an object
}

// Text is a member that is a text. fallback is JSON, here and below.
func Text(name, fallback string) Field { return Field{Name: name, fallback: fallback} }

// Truth is a member that is true or false.
func Truth(name, fallback string) Field {
	return Field{Name: name, Kind: BoolKind, fallback: fallback}
}

// Maybe is a member that may be null, and is if it is not there.
func Maybe(name string, kind Kind) Field {
	return Field{Name: name, Kind: kind, nullable: true, fallback: "null"}
}

// Number is a number that is not below low.
func Number(name string, kind Kind, low float64, fallback string) Field {
	return Field{Name: name, Kind: kind, nullable: fallback == "null", fallback: fallback, bounds: pydantic.AtLeast(low)}
}

// Choice is one of a few words.
func Choice(name, fallback string, words ...string) Field {
	return Field{Name: name, Kind: ChoiceKind, nullable: fallback == "null", fallback: fallback, words: words}
}

// OrNull is the member that may be null, too.
func (f Field) OrNull() Field {
	f.nullable = true
	return f
}

// UpTo is the number with a highest value.
func (f Field) UpTo(highest float64) Field {
	f.bounds.Le = &highest
	return f
}

// Or is the member with another fallback.
func (f Field) Or(fallback string) Field {
	f.fallback = fallback
	return f
}

// LLM lists the members of an LLM object of OpenHands 1.43.1, in its order. A test compares
// them with the real thing.
func LLM() []Field {
	return []Field{
		Text("model", `""`),
		eitherSecret("api_key"),
		Maybe("provider_connection_id", TextKind),
		Choice("auth_type", `"api_key"`, "api_key", "subscription"),
		Choice("subscription_vendor", "null", "openai"),
		Maybe("base_url", TextKind),
		Maybe("api_version", TextKind),
		eitherSecret("aws_access_key_id"),
		eitherSecret("aws_secret_access_key"),
		eitherSecret("aws_session_token"),
		Maybe("aws_region_name", TextKind),
		Maybe("aws_profile_name", TextKind),
		Maybe("aws_role_name", TextKind),
		Maybe("aws_session_name", TextKind),
		Maybe("aws_bedrock_runtime_endpoint", TextKind),
		Text("openrouter_site_url", `"https://docs.all-hands.dev/"`),
		Text("openrouter_app_name", `"OpenHands"`),
		Number("num_retries", IntKind, 0, "5"),
		Number("retry_multiplier", FloatKind, 0, "8.0"),
		Number("retry_min_wait", IntKind, 0, "8"),
		Number("retry_max_wait", IntKind, 0, "64"),
		Number("timeout", IntKind, 0, "300").OrNull(),
		Number("max_message_chars", IntKind, 1, "30000"),
		Number("temperature", FloatKind, 0, "null"),
		Number("top_p", FloatKind, 0, "null").UpTo(1),
		Number("top_k", FloatKind, 0, "null"),
		Number("max_input_tokens", IntKind, 1, "null"),
		Number("max_output_tokens", IntKind, 1, "null"),
		Maybe("model_canonical_name", TextKind),
		Choice("api_mode", `"auto"`, "auto", "chat", "responses"),
		{Name: "capability_overrides", Kind: OverridesKind, fallback: "{}"},
		Maybe("extra_headers", HeadersKind),
		Number("input_cost_per_token", FloatKind, 0, "null"),
		Number("output_cost_per_token", FloatKind, 0, "null"),
		Maybe("ollama_base_url", TextKind),
		Truth("stream", "false"),
		Truth("drop_params", "true"),
		Truth("modify_params", "true"),
		Maybe("disable_vision", BoolKind),
		Truth("disable_stop_word", "false").OrNull(),
		Truth("caching_prompt", "true"),
		Truth("log_completions", "false"),
		Text("log_completions_folder", `"logs/completions"`),
		Maybe("custom_tokenizer", TextKind),
		Truth("native_tool_calling", "true"),
		Maybe("force_string_serializer", BoolKind),
		Maybe("inline_image_urls", BoolKind),
		Text("reasoning_effort", `"high"`).OrNull(),
		Choice("reasoning_summary", "null", "auto", "concise", "detailed"),
		Truth("enable_encrypted_reasoning", "true"),
		Text("prompt_cache_retention", `"24h"`).OrNull(),
		Maybe("extended_thinking_budget", IntKind).Or("200000"),
		Maybe("seed", IntKind),
		Text("usage_id", `"default"`),
		{Name: "litellm_extra_body", Kind: FreeKind, fallback: "{}"},
	}
}

// LLMNewer are the members that an LLM object has in OpenHands 1.58.2 and not in 1.43.1.
func LLMNewer() []Field {
	idle := Number("stream_idle_timeout", FloatKind, 0, "300.0").OrNull() // since 1.50
	idle.Like = "timeout"
	return []Field{idle}
}

// eitherSecret is a secret that may be null and that OpenHands reads in two ways.
func eitherSecret(name string) Field {
	f := Maybe(name, SecretKind)
	f.either = true
	return f
}

// LLMIgnored are members of an LLM object that OpenHands writes or wrote itself and does not
// read as settings.
func LLMIgnored() []string {
	return []string{"schema_version", "is_subscription", "fallback_strategy", "retry_listener"}
}

// Read returns the value as JSON in its plain form, or false when OpenHands
// refuses it. A member that is not there has its fallback.
func (f Field) Read(v jsonedit.Value) ([]byte, bool) {
	raw, faults := f.read(v)
	return raw, len(faults) == 0
}

// read does what Read does, and returns what is wrong, whose places begin at the value.
func (f Field) read(v jsonedit.Value) ([]byte, []pydantic.Fault) {
	switch {
	case v.Kind() == jsonedit.Missing:
		return []byte(f.fallback), nil
	case v.Kind() == jsonedit.Null && f.nullable:
		return []byte("null"), nil
	case v.Kind() == jsonedit.Object && f.Kind == HeadersKind:
		return v.Raw(), members(v, oneText)
	case v.Kind() == jsonedit.Object && f.Kind == OverridesKind:
		return v.Raw(), members(v, pydantic.TruthOrText)
	}
	raw, refused := f.single(v)
	if refused != nil {
		return raw, []pydantic.Fault{refused.At(nil, nil)}
	}
	return raw, nil
}

// single reads a value that is not made of others, or any object.
func (f Field) single(v jsonedit.Value) (raw []byte, refused *pydantic.Refusal) {
	raw = v.Raw()
	switch f.Kind {
	case TextKind, SecretKind:
		_, refused = f.text.Read(raw)
	case ChoiceKind:
		_, refused = pydantic.Choice(raw, pydantic.Literal, f.words...)
	case BoolKind:
		value, refused := pydantic.Bool(raw)
		return strconv.AppendBool(nil, value), refused
	case IntKind:
		return f.whole(raw)
	case FloatKind:
		return f.number(raw)
	default:
		if v.Kind() != jsonedit.Object {
			refused = pydantic.NoDict()
		}
	}
	return raw, refused
}

// whole reads a whole number. One that a program of Go cannot hold becomes the nearest that
// it can: it is a limit that is never reached.
func (f Field) whole(raw []byte) ([]byte, *pydantic.Refusal) {
	n, refused := pydantic.Int(raw, f.bounds)
	switch {
	case refused != nil:
		return nil, refused
	case !n.IsInt64() && n.Sign() < 0:
		n = big.NewInt(math.MinInt64)
	case !n.IsInt64():
		n = big.NewInt(math.MaxInt64)
	}
	return n.Append(nil, 10), nil
}

// number reads a number. One that JSON cannot write down is null there, as pydantic writes
// it. Where null is refused, pydantic could not read it again, and it is refused.
func (f Field) number(raw []byte) ([]byte, *pydantic.Refusal) {
	n, refused := pydantic.Float(raw, f.bounds)
	if refused != nil {
		return nil, refused
	}
	out, err := json.Marshal(n)
	switch {
	case err != nil && f.nullable:
		return []byte("null"), nil
	case err != nil:
		return nil, pydantic.NotFinite()
	}
	return out, nil
}

// members is what is wrong with the members of an object.
func members(object jsonedit.Value, check func(raw json.RawMessage) []pydantic.Fault) (faults []pydantic.Fault) {
	for name, member := range object.Members() {
		for _, fault := range check(member.Raw()) {
			fault.Loc = append([]any{name}, fault.Loc...)
			faults = append(faults, fault)
		}
	}
	return faults
}

func oneText(raw json.RawMessage) []pydantic.Fault {
	if _, refused := (pydantic.Text{}).Read(raw); refused != nil {
		return []pydantic.Fault{refused.At(nil, nil)}
	}
	return nil
}
