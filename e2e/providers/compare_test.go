//go:build e2e && linux

package providers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// difference is a place where two requests are not the same.
type difference struct {
	place        string // such as 2:messages[3].name, in the second request
	ours, theirs string // as JSON, or "-" where there is nothing
}

// comparison counts what was compared, and keeps what was not the same.
type comparison struct {
	checks      int
	differences []difference
}

// compare compares the requests of a turn.
func compare(ours, theirs []request) comparison {
	var c comparison
	nameIDs(ours)
	nameIDs(theirs)
	for i := range max(len(ours), len(theirs)) {
		at := fmt.Sprintf("%d:", i+1)
		switch {
		case i >= len(ours):
			c.check(at, nothing, "request")
		case i >= len(theirs):
			c.check(at, "request", nothing)
		default:
			c.requests(at, ours[i], theirs[i])
		}
	}
	return c
}

const nothing = "-"

// madeID is an id of a tool call that a library made, because the provider gave
// none or because it gives all of them its own.
var madeID = regexp.MustCompile(`(call_)?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{8,12}`)

// nameIDs gives the ids that were made names, the same in all requests of a
// turn: what belongs together still does.
func nameIDs(requests []request) {
	names := map[string]string{conversation: conversation}
	for i, r := range requests {
		requests[i].body = madeID.ReplaceAllFunc(r.body, func(id []byte) []byte {
			if names[string(id)] == "" {
				names[string(id)] = fmt.Sprintf("MADE-%d", len(names))
			}
			return []byte(names[string(id)])
		})
	}
}

func (c *comparison) check(place, ours, theirs string) {
	c.checks++
	if ours != theirs {
		c.differences = append(c.differences, difference{place, ours, theirs})
	}
}

func (c *comparison) requests(at string, ours, theirs request) {
	c.check(at+"method", ours.method, theirs.method)
	c.check(at+"host", ours.host, theirs.host)
	c.check(at+"path", unescaped(ours.path), unescaped(theirs.path))
	c.check(at+"dialect", dialect(ours), dialect(theirs))
	c.values(at+"query ", query(ours), query(theirs))
	c.values(at+"header ", headers(ours), headers(theirs))
	if dialect(ours) != dialect(theirs) {
		return // their bodies have nothing in common
	}
	c.trees(at, tree(ours), tree(theirs))
}

// dialect is the API that a request is for.
func dialect(r request) string {
	for _, leaf := range []string{"/chat/completions", "/responses", "/v1/messages", ":streamGenerateContent", "/converse-stream", "/api/chat", "/api/generate"} {
		if strings.HasSuffix(unescaped(r.path), leaf) {
			return leaf[1:]
		}
	}
	return "unknown"
}

// unescaped is a path in the one form that all its spellings have.
func unescaped(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}

func (c *comparison) values(at string, ours, theirs map[string]string) {
	names := maps.Clone(ours)
	maps.Copy(names, theirs)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c.check(at+name, orNothing(ours, name), orNothing(theirs, name))
	}
}

func orNothing(values map[string]string, name string) string {
	if v, found := values[name]; found {
		return v
	}
	return nothing
}

func query(r request) map[string]string {
	values, _ := url.ParseQuery(r.query)
	out := map[string]string{}
	for name := range values {
		out[name] = anonymous(values.Get(name))
	}
	return out
}

// ignored are headers that say nothing to a provider: of the connection, of the
// program, of a signature whose form stands in Authorization.
var ignored = regexp.MustCompile(`^(Accept|Accept-Encoding|Connection|Content-Length|Host|User-Agent|X-Stainless-.*|X-Amz-Date|X-Amz-Content-Sha256)$`)

func headers(r request) map[string]string {
	out := map[string]string{}
	for name, values := range r.header {
		if ignored.MatchString(name) {
			continue
		}
		out[strings.ToLower(name)] = headerForm(name, strings.Join(values, ", "))
	}
	return out
}

var amazon = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=[^/]*/\d{8}/([^,]*), ?SignedHeaders=.*`)

// headerForm is a value without what changes with key and time.
func headerForm(name, value string) string {
	switch name {
	case "Authorization":
		value = amazon.ReplaceAllString(value, "AWS4-HMAC-SHA256 $1")
	case "Content-Type":
		if plain, _, err := mime.ParseMediaType(value); err == nil {
			value = plain
		}
	case http.CanonicalHeaderKey("anthropic-beta"):
		features := strings.Split(strings.ReplaceAll(value, " ", ""), ",")
		slices.Sort(features)
		value = strings.Join(features, ",")
	}
	return anonymous(value)
}

// anonymous puts names in the place of keys.
func anonymous(s string) string {
	return strings.NewReplacer(key, "KEY", awsID, "AWS-ID", conversation, "CONVERSATION", picture, "PICTURE-1", another, "PICTURE-2",
		afterComma(picture), "PICTURE-1", afterComma(another), "PICTURE-2").Replace(s)
}

func afterComma(s string) string {
	_, rest, _ := strings.Cut(s, ",")
	return rest
}

// object is a JSON object whose members keep their order.
type object struct {
	names   []string
	members map[string]any
}

// tree is a body as objects, lists of any, and JSON texts.
func tree(r request) any {
	if len(bytes.TrimSpace(r.body)) == 0 {
		return nothing
	}
	d := json.NewDecoder(bytes.NewReader(r.body))
	d.UseNumber()
	value, err := decode(d)
	if err != nil {
		return "no JSON: " + err.Error()
	}
	if o, isObject := value.(object); isObject {
		value = limit(o)
	}
	if strings.HasSuffix(r.path, "GenerateContent") {
		value = camel(value)
	}
	return value
}

// limitName is the place of the name of an output limit.
const limitName = "limit name"

// limit parts the output limit of a chat from its name, of which there are two.
func limit(o object) object {
	out := object{members: map[string]any{}}
	_, both := o.members["max_tokens"]
	if both {
		_, both = o.members["max_completion_tokens"]
	}
	for _, name := range o.names {
		value := o.members[name]
		if !both && (name == "max_tokens" || name == "max_completion_tokens") {
			out.names = append(out.names, limitName)
			out.members[limitName] = name
			name = "limit"
		}
		out.names = append(out.names, name)
		out.members[name] = value
	}
	return out
}

var underscore = regexp.MustCompile(`_[a-z]`)

// camel gives the members of a request to Google the first of the two names
// that they may have.
func camel(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = camel(v[i])
		}
	case object:
		out := object{members: map[string]any{}}
		for _, name := range v.names {
			value := v.members[name]
			name = underscore.ReplaceAllStringFunc(name, func(s string) string { return strings.ToUpper(s[1:]) })
			switch name {
			case "args", "parameters", "parametersJsonSchema": // a tool's own names
			default:
				value = camel(value)
			}
			out.names = append(out.names, name)
			out.members[name] = value
		}
		return out
	}
	return v
}

func decode(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			element, err := decode(d)
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		_, err := d.Token()
		return list, err
	case json.Delim('{'):
		o := object{members: map[string]any{}}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := decode(d)
			if err != nil {
				return nil, err
			}
			o.names = append(o.names, name.(string))
			o.members[name.(string)] = value
		}
		_, err := d.Token()
		return o, err
	}
	return leaf(token), nil
}

// leaf is a JSON value that has no parts, written as JSON.
func leaf(token json.Token) string {
	switch v := token.(type) {
	case string:
		return quoted(anonymous(v))
	case json.Number:
		return strings.TrimSuffix(v.String(), ".0")
	case nil:
		return "null"
	}
	return fmt.Sprint(token)
}

func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSpace(b.String())
}

// trees compares two values, and goes into what both have in the same form.
func (c *comparison) trees(at string, ours, theirs any) {
	switch ours := ours.(type) {
	case object:
		if theirs, same := theirs.(object); same {
			c.objects(at, ours, theirs)
			return
		}
	case []any:
		if theirs, same := theirs.([]any); same {
			for i := range max(len(ours), len(theirs)) {
				c.trees(fmt.Sprintf("%s[%d]", at, i), elementOf(ours, i), elementOf(theirs, i))
			}
			return
		}
	}
	c.check(at, render(ours), render(theirs))
}

func elementOf(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nothing
}

func (c *comparison) objects(at string, ours, theirs object) {
	names := map[string]bool{}
	for _, name := range append(slices.Clone(ours.names), theirs.names...) {
		names[name] = true
	}
	if strings.HasSuffix(at, ".properties") {
		// Models write arguments in this order.
		c.check(at+" order", strings.Join(ours.names, " "), strings.Join(theirs.names, " "))
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if name == limitName && (memberOf(ours, name) == nothing || memberOf(theirs, name) == nothing) {
			continue // the limit itself is told
		}
		place := at + "." + name
		if strings.HasSuffix(at, ":") {
			place = at + name
		}
		c.trees(place, memberOf(ours, name), memberOf(theirs, name))
	}
}

func memberOf(o object, name string) any {
	if v, found := o.members[name]; found {
		return v
	}
	return nothing
}

// render is a value on one line, short.
func render(v any) string {
	const most = 120
	out := []rune(compact(v))
	if len(out) > most {
		return string(out[:most]) + "…"
	}
	return string(out)
}

func compact(v any) string {
	switch v := v.(type) {
	case object:
		var members []string
		for _, name := range slices.Sorted(slices.Values(v.names)) {
			members = append(members, quoted(name)+":"+compact(v.members[name]))
		}
		return "{" + strings.Join(members, ",") + "}"
	case []any:
		var elements []string
		for _, e := range v {
			elements = append(elements, compact(e))
		}
		return "[" + strings.Join(elements, ",") + "]"
	case string:
		return v
	}
	return fmt.Sprint(v)
}
