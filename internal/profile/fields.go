package profile

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/profile/jsonedit"
)

// fieldKind is how OpenHands reads a member of an LLM object. It is lenient: a
// number in quotes is a number.
type fieldKind byte

const (
	textField      fieldKind = iota
	secretField              // text, perhaps encrypted
	intField                 // whole number
	floatField               // number
	boolField                // also 0, 1, "yes", "off" …
	choiceField              // one of a few words
	headersField             // object of texts
	overridesField           // object of texts and truth values
	objectField              // any object
)

// field is a member of an LLM object.
type field struct {
	name     string
	kind     fieldKind
	nullable bool
	fallback string // JSON; the value when the member is not there
	min, max float64
	words    []string
}

func text(name, fallback string) field { return field{name: name, fallback: fallback} }

func truth(name, fallback string) field {
	return field{name: name, kind: boolField, fallback: fallback}
}

func maybe(name string, kind fieldKind) field {
	return field{name: name, kind: kind, nullable: true, fallback: "null", min: math.Inf(-1), max: math.Inf(1)}
}

func number(name string, kind fieldKind, min float64, fallback string) field {
	return field{name: name, kind: kind, nullable: fallback == "null", fallback: fallback, min: min, max: math.Inf(1)}
}

func choice(name, fallback string, words ...string) field {
	return field{name: name, kind: choiceField, nullable: fallback == "null", fallback: fallback, words: words}
}

func (f field) orNull() field {
	f.nullable = true
	return f
}

func (f field) upTo(max float64) field {
	f.max = max
	return f
}

func (f field) or(fallback string) field {
	f.fallback = fallback
	return f
}

// fields are those of OpenHands 1.43.1, in its order. A test compares them with
// the real thing.
func fields() []field {
	return []field{
		text("model", `""`),
		maybe("api_key", secretField),
		maybe("provider_connection_id", textField),
		choice("auth_type", `"api_key"`, "api_key", "subscription"),
		choice("subscription_vendor", "null", "openai"),
		maybe("base_url", textField),
		maybe("api_version", textField),
		maybe("aws_access_key_id", secretField),
		maybe("aws_secret_access_key", secretField),
		maybe("aws_session_token", secretField),
		maybe("aws_region_name", textField),
		maybe("aws_profile_name", textField),
		maybe("aws_role_name", textField),
		maybe("aws_session_name", textField),
		maybe("aws_bedrock_runtime_endpoint", textField),
		text("openrouter_site_url", `"https://docs.all-hands.dev/"`),
		text("openrouter_app_name", `"OpenHands"`),
		number("num_retries", intField, 0, "5"),
		number("retry_multiplier", floatField, 0, "8.0"),
		number("retry_min_wait", intField, 0, "8"),
		number("retry_max_wait", intField, 0, "64"),
		number("timeout", intField, 0, "300").orNull(),
		number("max_message_chars", intField, 1, "30000"),
		number("temperature", floatField, 0, "null"),
		number("top_p", floatField, 0, "null").upTo(1),
		number("top_k", floatField, 0, "null"),
		number("max_input_tokens", intField, 1, "null"),
		number("max_output_tokens", intField, 1, "null"),
		maybe("model_canonical_name", textField),
		choice("api_mode", `"auto"`, "auto", "chat", "responses"),
		{name: "capability_overrides", kind: overridesField, fallback: "{}"},
		maybe("extra_headers", headersField),
		number("input_cost_per_token", floatField, 0, "null"),
		number("output_cost_per_token", floatField, 0, "null"),
		maybe("ollama_base_url", textField),
		truth("stream", "false"),
		truth("drop_params", "true"),
		truth("modify_params", "true"),
		maybe("disable_vision", boolField),
		truth("disable_stop_word", "false").orNull(),
		truth("caching_prompt", "true"),
		truth("log_completions", "false"),
		text("log_completions_folder", `"logs/completions"`),
		maybe("custom_tokenizer", textField),
		truth("native_tool_calling", "true"),
		maybe("force_string_serializer", boolField),
		maybe("inline_image_urls", boolField),
		text("reasoning_effort", `"high"`).orNull(),
		choice("reasoning_summary", "null", "auto", "concise", "detailed"),
		truth("enable_encrypted_reasoning", "true"),
		text("prompt_cache_retention", `"24h"`).orNull(),
		maybe("extended_thinking_budget", intField).or("200000"),
		maybe("seed", intField),
		text("usage_id", `"default"`),
		{name: "litellm_extra_body", kind: objectField, fallback: "{}"},
	}
}

// ignoredFields are members that OpenHands writes or wrote itself and does not
// read as settings.
func ignoredFields() []string {
	return []string{"schema_version", "is_subscription", fallbackMember, "retry_listener"}
}

// read returns the value as JSON in its plain form, or false when OpenHands
// refuses it. A member that is not there has its fallback.
func (f field) read(v jsonedit.Value) ([]byte, bool) {
	switch v.Kind() {
	case jsonedit.Missing:
		return []byte(f.fallback), true
	case jsonedit.Null:
		return []byte("null"), f.nullable
	}
	switch f.kind {
	case textField, secretField:
		_, ok := v.Text()
		return v.Raw(), ok
	case choiceField:
		word, ok := v.Text()
		return v.Raw(), ok && slices.Contains(f.words, word)
	case boolField:
		value, ok := readBool(v)
		return strconv.AppendBool(nil, value), ok
	case intField, floatField:
		return f.readNumber(v)
	case headersField:
		return v.Raw(), v.Kind() == jsonedit.Object && all(v, isText)
	case overridesField:
		return v.Raw(), v.Kind() == jsonedit.Object && all(v, func(v jsonedit.Value) bool {
			_, truth := readBool(v)
			return isText(v) || truth
		})
	}
	return v.Raw(), v.Kind() == jsonedit.Object
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
func (f field) readNumber(v jsonedit.Value) ([]byte, bool) {
	n, ok := f.number(v)
	switch {
	case !ok || math.IsNaN(n) || math.IsInf(n, 0) || n < f.min || n > f.max:
		return nil, false
	case f.kind == floatField:
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

func (f field) number(v jsonedit.Value) (float64, bool) {
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
		if f.kind == intField && !quotedInt.MatchString(text) || f.kind == floatField && !quotedFloat.MatchString(text) {
			return 0, false
		}
		n, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		return n, err == nil
	}
	return 0, false
}

// Numbers in quotes.
var (
	quotedInt   = regexp.MustCompile(`\A[+-]?[0-9]+(_[0-9]+)*(\.0+)?\z`)
	quotedFloat = regexp.MustCompile(`\A[+-]?([0-9]+(_[0-9]+)*\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z`)
)
