// Package shape is what the objects look like that OpenHands stores and serves: the
// members of an LLM, of the settings of agents and conversations, of tool servers,
// with their kinds, bounds and defaults. It reads JSON as OpenHands 1.43.1 does, which
// is lenient: a number in quotes is a number.
//
// A [Field] is a single member. An [Object] reads a whole object into a tree whose
// secrets are secret.Values, so that nothing shows them by accident; [Expose] makes
// JSON of a tree again.
package shape

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/pattern"
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

	nullable bool
	required bool
	fallback string // JSON; the value when the member is not there
	min, max float64
	open     bool           // the bounds themselves are out of bounds
	length   int            // of a text, at least
	longest  int            // of a text; 0 is any
	form     *regexp.Regexp // of a text; nil is any
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
	return Field{Name: name, Kind: kind, nullable: true, fallback: "null", min: math.Inf(-1), max: math.Inf(1)}
}

// Number is a number that is not below low.
func Number(name string, kind Kind, low float64, fallback string) Field {
	return Field{Name: name, Kind: kind, nullable: fallback == "null", fallback: fallback, min: low, max: math.Inf(1)}
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
	f.max = highest
	return f
}

// Or is the member with another fallback.
func (f Field) Or(fallback string) Field {
	f.fallback = fallback
	return f
}

// LLM are the members of an LLM object of OpenHands 1.43.1, in its order. A test
// compares them with the real thing.
func LLM() []Field {
	return []Field{
		Text("model", `""`),
		Maybe("api_key", SecretKind),
		Maybe("provider_connection_id", TextKind),
		Choice("auth_type", `"api_key"`, "api_key", "subscription"),
		Choice("subscription_vendor", "null", "openai"),
		Maybe("base_url", TextKind),
		Maybe("api_version", TextKind),
		Maybe("aws_access_key_id", SecretKind),
		Maybe("aws_secret_access_key", SecretKind),
		Maybe("aws_session_token", SecretKind),
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
	return []Field{Number("stream_idle_timeout", FloatKind, 0, "300.0").OrNull()} // since 1.50
}

// LLMIgnored are members of an LLM object that OpenHands writes or wrote itself and does not
// read as settings.
func LLMIgnored() []string {
	return []string{"schema_version", "is_subscription", "fallback_strategy", "retry_listener"}
}

// Read returns the value as JSON in its plain form, or false when OpenHands
// refuses it. A member that is not there has its fallback.
func (f Field) Read(v jsonedit.Value) ([]byte, bool) {
	switch v.Kind() {
	case jsonedit.Missing:
		return []byte(f.fallback), true
	case jsonedit.Null:
		return []byte("null"), f.nullable
	}
	switch f.Kind {
	case TextKind, SecretKind:
		text, ok := v.Text()
		return v.Raw(), ok && f.fits(text)
	case ChoiceKind:
		word, ok := v.Text()
		return v.Raw(), ok && slices.Contains(f.words, word)
	case BoolKind:
		value, ok := readBool(v)
		return strconv.AppendBool(nil, value), ok
	case IntKind, FloatKind:
		return f.readNumber(v)
	case HeadersKind:
		return v.Raw(), v.Kind() == jsonedit.Object && all(v, isText)
	case OverridesKind:
		return v.Raw(), v.Kind() == jsonedit.Object && all(v, func(v jsonedit.Value) bool {
			_, truth := readBool(v)
			return isText(v) || truth
		})
	}
	return v.Raw(), v.Kind() == jsonedit.Object
}

// fits reports whether a text has a length and a form that the member takes.
func (f Field) fits(text string) bool {
	n := utf8.RuneCountInString(text)
	return n >= f.length && (f.longest == 0 || n <= f.longest) && (f.form == nil || f.form.MatchString(text))
}

func isText(v jsonedit.Value) bool {
	_, ok := v.Text()
	return ok
}

func all(object jsonedit.Value, ok func(jsonedit.Value) bool) bool {
	for _, v := range object.Members() {
		if !ok(v) {
			return false
		}
	}
	return true
}

// readBool accepts what pydantic accepts for a truth value.
func readBool(v jsonedit.Value) (value, ok bool) {
	switch v.Kind() {
	case jsonedit.Bool:
		return v.Bool()
	case jsonedit.Number:
		n, err := strconv.ParseFloat(string(v.Raw()), 64)
		return n == 1, err == nil && (n == 0 || n == 1)
	case jsonedit.String:
		word, _ := v.Text()
		word = strings.ToLower(word)
		if slices.Contains([]string{"1", "on", "t", "true", "y", "yes"}, word) {
			return true, true
		}
		return false, slices.Contains([]string{"0", "off", "f", "false", "n", "no"}, word)
	}
	return false, false
}

// readNumber accepts what pydantic accepts for a number, as long as JSON and a
// Go program can write it down: no infinities, no integers of 20 digits.
func (f Field) readNumber(v jsonedit.Value) ([]byte, bool) {
	n, ok := f.number(v)
	switch {
	case !ok || math.IsNaN(n) || math.IsInf(n, 0) || f.outside(n):
		return nil, false
	case f.Kind == FloatKind:
		out, err := json.Marshal(n)
		return out, err == nil
	case n != math.Trunc(n) || math.Abs(n) >= math.MaxInt64:
		return nil, false
	}
	if i, ok := v.Int(); ok { // Exact, where a float is not.
		return strconv.AppendInt(nil, i, 10), true
	}
	return strconv.AppendInt(nil, int64(n), 10), true
}

// outside reports whether a number is out of bounds.
func (f Field) outside(n float64) bool {
	return n < f.min || n > f.max || f.open && (n == f.min || n == f.max)
}

func (f Field) number(v jsonedit.Value) (float64, bool) {
	switch v.Kind() {
	case jsonedit.Bool:
		if truth, _ := v.Bool(); truth {
			return 1, true
		}
		return 0, true
	case jsonedit.Number:
		n, err := strconv.ParseFloat(string(v.Raw()), 64)
		return n, err == nil
	case jsonedit.String:
		text, _ := v.Text()
		text = strings.TrimSpace(text)
		if f.Kind == IntKind && !quotedInt().MatchString(text) || f.Kind == FloatKind && !quotedFloat().MatchString(text) {
			return 0, false
		}
		n, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		return n, err == nil
	}
	return 0, false
}

// Numbers in quotes.
var (
	quotedInt   = pattern.Of(`\A[+-]?[0-9]+(_[0-9]+)*(\.0+)?\z`)
	quotedFloat = pattern.Of(`\A[+-]?([0-9]+(_[0-9]+)*\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z`)
)
