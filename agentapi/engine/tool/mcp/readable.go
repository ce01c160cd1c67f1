package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// readable converts a message to a form that the SDK reads. The SDK refuses an answer as
// a whole for one tool, or one part, that is not as MCP says: here this tool or part is
// changed, or what cannot be read of it is named in its place.
func readable(message []byte) []byte {
	m, err := object.Parse(message)
	if err != nil {
		return message
	}
	result, err := object.Parse(m.Get("result"))
	if err != nil {
		return message
	}
	changed := result
	switch {
	case result.Has("tools"):
		changed = readableList(result)
	case result.Has("content") || result.Has("structuredContent"):
		changed = readableResult(result)
	case result.Has("protocolVersion"):
		whole, _ := fit(result.JSON(), readsAs[sdk.InitializeResult])
		changed, err = object.Parse(whole)
	}
	if err != nil || same(result, changed) {
		return message
	}
	return m.With("result", changed.JSON()).JSON()
}

// readsAs reports whether the SDK reads a value as a type.
func readsAs[T any](v json.RawMessage) bool {
	return !nested(v, maxNested) && json.Unmarshal(v, new(T)) == nil
}

func same(a, b object.Object) bool { return bytes.Equal(a.JSON(), b.JSON()) }

// rest repairs a page of tools, or a result, with an empty list. Each other member that
// cannot be read is changed, or left out.
func rest[T any](result object.Object, list string) object.Object {
	out := make(object.Object, 0, len(result))
	for _, m := range result {
		if m.Name == list {
			out = append(out, object.Member{Name: list, Value: json.RawMessage(`[]`)})
			continue
		}
		value, _ := fit(m.Value, func(value json.RawMessage) bool {
			return readsAs[T](object.Object{{Name: m.Name, Value: value}}.JSON())
		})
		if value != nil {
			out = append(out, object.Member{Name: m.Name, Value: value})
		}
	}
	return out
}

// readableList is a page of tools.
func readableList(page object.Object) object.Object {
	out := rest[sdk.ListToolsResult](page, "tools")
	var list []json.RawMessage
	if json.Unmarshal(page.Get("tools"), &list) != nil {
		return out.With("tools", listed(unreadable("", "its list of tools is not a list")))
	}
	for i := range list {
		list[i] = readableTool(list[i])
	}
	return out.With("tools", listed(list...))
}

func listed(list ...json.RawMessage) json.RawMessage {
	data, err := plainjson.Marshal(append([]json.RawMessage{}, list...))
	if err != nil {
		return json.RawMessage(`[]`) // all of them are JSON
	}
	return data
}

// The members of a tool's _meta by which a list tells what it is not as the server sent
// it. They go no further than to the list of what is left out.
const (
	metaUnreadable = "ohgw/unreadable"
	metaWithout    = "ohgw/without"
)

// readableTool repairs one tool of a page.
func readableTool(t json.RawMessage) json.RawMessage {
	o, err := object.Parse(t)
	if err != nil {
		return unreadable("", "it is not an object")
	}
	name := ""
	if given := o.Get("name"); given != nil && json.Unmarshal(given, &name) != nil {
		return unreadable(strings.TrimSpace(string(given)), "its name is not a text")
	}
	if nested(t, maxNested) {
		return unreadable(name, "it is nested too deeply")
	}
	fitted, leftOut := fit(t, readsAs[sdk.Tool])
	switch {
	case fitted == nil:
		return unreadable(name, "it cannot be read")
	case len(leftOut) == 0:
		return fitted
	}
	if o, err = object.Parse(fitted); err != nil {
		return unreadable(name, "it cannot be read")
	}
	return o.With("_meta", object.Object{{Name: metaWithout, Value: quoted(strings.Join(leftOut, ", "))}}.JSON()).JSON()
}

// unreadable stands for a tool that is left out.
func unreadable(name, why string) json.RawMessage {
	return object.Object{
		{Name: "name", Value: quoted(name)},
		{Name: "inputSchema", Value: json.RawMessage(anyObject)},
		{Name: "_meta", Value: object.Object{{Name: metaUnreadable, Value: quoted(why)}}.JSON()},
	}.JSON()
}

// unread is what of a tool could not be read: all of it, or some members.
func unread(t *sdk.Tool) (all, members string) {
	all, _ = t.Meta[metaUnreadable].(string)
	members, _ = t.Meta[metaWithout].(string)
	return all, members
}

// readableResult repairs the result of a call.
func readableResult(result object.Object) object.Object {
	out := rest[sdk.CallToolResult](result, "content")
	if structured := result.Get("structuredContent"); nested(structured, maxNested) {
		out = out.With("structuredContent", quoted("The result is nested too deeply to be shown."))
	}
	given := result.Get("content")
	if given == nil || string(given) == "null" {
		return out
	}
	var parts []json.RawMessage
	if json.Unmarshal(given, &parts) != nil {
		parts = []json.RawMessage{given} // one part alone
	}
	for i := range parts {
		parts[i] = readablePart(parts[i])
	}
	return out.With("content", listed(parts...))
}

// maxShown is how many bytes of a part are shown whose type is not known.
const maxShown = 16 << 10

// readablePart is one part of a result: as it is, or what of it can be told as a text.
func readablePart(part json.RawMessage) json.RawMessage {
	reads := func(v json.RawMessage) bool {
		return string(v) != "null" && readsAs[sdk.CallToolResult](object.Object{{Name: "content", Value: listed(v)}}.JSON())
	}
	fitted, leftOut := fit(part, reads)
	if fitted != nil && !loses(leftOut) {
		return fitted
	}
	return object.Object{
		{Name: "type", Value: json.RawMessage(`"text"`)},
		{Name: "text", Value: quoted(told(part))},
	}.JSON()
}

// loses reports whether what is left out of a part is what the part is for.
func loses(leftOut []string) bool {
	for _, name := range leftOut {
		switch name {
		case "type", "text", "data", "resource", "resource.text", "resource.blob", "uri":
			return true
		}
	}
	return false
}

// told describes a part that cannot be read, in words.
func told(part json.RawMessage) string {
	text := ""
	if json.Unmarshal(part, &text) == nil && string(part) != "null" {
		return text
	}
	var known struct {
		Type, MIMEType, Data any
		Resource             struct{ URI, MIMEType, Blob any }
	}
	_ = json.Unmarshal(part, &known) // what cannot be read is not told
	kind := ""
	if name, ok := known.Type.(string); ok {
		kind = fmt.Sprintf("type %q", name)
	}
	facts := []string{kind}
	for _, fact := range []any{known.Resource.URI, known.MIMEType, known.Resource.MIMEType} {
		if s, ok := fact.(string); ok {
			facts = append(facts, s)
		}
	}
	if known.Data != nil || known.Resource.Blob != nil || len(part) > maxShown || nested(part, maxNested) {
		return leftOut("A part", append(facts, bytesOf(int64(len(part))), "it cannot be read")...)
	}
	var plain bytes.Buffer
	if json.Compact(&plain, part) != nil {
		return leftOut("A part", facts...)
	}
	return "[a part of the result, as the server sent it]\n" + plain.String()
}
