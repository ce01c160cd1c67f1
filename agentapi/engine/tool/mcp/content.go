package mcp

import (
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/picture"
	"github.com/ohgw/ohgw/internal/truncate"
)

// maxField is how many characters of a name, a link or a type are told.
const maxField = 2000

// content converts the answer to what OpenHands stores: which tool it is of, then
// texts and pictures, in the server's order. OpenHands' SDK drops all other parts.
// Here the text and the pictures of resources are shown, and the rest is mentioned by
// its name.
func (t *serverTool) content(result *sdk.CallToolResult) []event.Content {
	items := []event.Content{event.Text(fmt.Sprintf("[result of %s]", t.def.Name))}
	for _, block := range result.Content {
		items = append(items, part(block)...)
	}
	if len(result.Content) == 0 && result.StructuredContent != nil {
		if data, err := json.Marshal(result.StructuredContent); err == nil {
			items = append(items, event.Text(string(data)))
		}
	}
	for i, item := range items[1:] {
		if len(item.ImageURLs) == 0 {
			items[i+1] = event.Text(t.member.client.cfg.Secrets.Mask(item.Text))
		}
	}
	return items
}

// part converts one part of a result.
func part(block sdk.Content) []event.Content {
	switch b := block.(type) {
	case *sdk.TextContent:
		return []event.Content{event.Text(b.Text)}
	case *sdk.ImageContent:
		return shown("A picture", "", b.MIMEType, b.Data)
	case *sdk.AudioContent:
		return shown("Audio", "", b.MIMEType, b.Data)
	case *sdk.ResourceLink:
		return []event.Content{event.Text(link(b))}
	case *sdk.EmbeddedResource:
		return resource(b.Resource)
	default:
		return []event.Content{event.Text(leftOut("A part", fmt.Sprintf("%T", block)))}
	}
}

// resource is what a server put into the result in place of a text: a file, a
// record.
func resource(r *sdk.ResourceContents) []event.Content {
	if r == nil {
		return []event.Content{event.Text(leftOut("A resource", "it has no contents"))}
	}
	if r.Blob != nil {
		return shown("A resource", r.URI, r.MIMEType, r.Blob)
	}
	return []event.Content{event.Text(titled(r.URI, r.MIMEType) + "\n" + r.Text)}
}

// shown shows bytes to a model: as a picture or a text, by the bytes, or as the
// sentence that something is left out, with its name, type and size.
func shown(what, name, kind string, data []byte) []event.Content {
	url, err := picture.Encode(data)
	switch {
	case err == nil && name == "":
		return []event.Content{event.Images(url)}
	case err == nil:
		return []event.Content{event.Text(titled(name, kind)), event.Images(url)}
	case textual(kind, data):
		return []event.Content{event.Text(titled(name, kind) + "\n" + string(data))}
	}
	facts := []string{name, kind, bytesOf(int64(len(data)))}
	if main, _, _ := strings.Cut(kind, "/"); main == "image" {
		facts = append(facts, "it "+err.Error())
	}
	return []event.Content{event.Text(leftOut(what, facts...))}
}

// textual reports whether bytes can be read as a text. Where the type says nothing,
// the bytes do.
func textual(kind string, data []byte) bool {
	if len(data) == 0 || !utf8.Valid(data) || slices.Contains(data, 0) {
		return false
	}
	media, _, err := mime.ParseMediaType(kind)
	if err != nil {
		media = strings.ToLower(strings.TrimSpace(kind))
	}
	main, sub, _ := strings.Cut(media, "/")
	switch {
	case media == "", media == "application/octet-stream", main == "text":
		return true
	case strings.HasSuffix(sub, "+json"), strings.HasSuffix(sub, "+xml"), strings.HasSuffix(sub, "+yaml"):
		return true
	}
	return slices.Contains([]string{
		"json", "xml", "yaml", "x-yaml", "toml", "javascript", "x-javascript", "typescript", "sql", "x-sh", "x-ndjson", "jsonl", "x-httpd-php", "csv",
	}, sub)
}

// titled heads the text of a resource.
func titled(name, kind string) string { return "[resource " + facts(name, kind) + "]" }

// link names a resource that is not in the result.
func link(l *sdk.ResourceLink) string {
	size := ""
	if l.Size != nil {
		size = bytesOf(*l.Size)
	}
	title := l.Title
	if title == l.Name {
		title = ""
	}
	return "[link to a resource: " + facts(l.Name, title, l.URI, l.MIMEType, size, l.Description) + "]"
}

func leftOut(what string, of ...string) string {
	return fmt.Sprintf("[%s of the result is left out: %s. Only texts and pictures can be shown.]", what, facts(of...))
}

// facts are those that are known, on one line.
func facts(all ...string) string {
	var known []string
	for _, fact := range all {
		if fact = strings.Join(strings.Fields(strings.ToValidUTF8(fact, "")), " "); fact == "" {
			continue
		}
		known = append(known, truncate.Marked(fact, maxField, "…"))
	}
	if len(known) == 0 {
		return "without a name"
	}
	return strings.Join(known, ", ")
}

func bytesOf(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}
