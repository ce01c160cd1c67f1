package acp

import (
	"net/url"
	"strings"

	"github.com/ohgw/ohgw/internal/jsonrpc"
)

// message is a prompt as a gateway takes it.
type message struct {
	text   string
	images []string // data URLs
}

// read makes a message of the blocks of a prompt.
func read(blocks []block) (message, error) {
	var m message
	var text strings.Builder
	for i, b := range blocks {
		switch b.Type {
		case "text":
			text.WriteString(b.Text)
		case "image":
			image, err := imageURL(b.MIME, b.Data, b.URI)
			if err != nil {
				return m, err
			}
			m.images = append(m.images, image)
		case "resource_link":
			text.WriteString(mention(b.Name, b.URI))
		case "resource":
			part, image := embedded(b.Resource)
			text.WriteString(part)
			if image != "" {
				m.images = append(m.images, image)
			}
		default:
			return m, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "block %d of the prompt has the type %q, which is not supported", i+1, limit(b.Type, 40))
		}
	}
	m.text = text.String()
	if strings.TrimSpace(m.text) == "" && len(m.images) == 0 {
		return m, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the prompt is empty")
	}
	return m, nil
}

// imageURL is an image as a data URL, or its own address.
func imageURL(mime, data, uri string) (string, error) {
	switch {
	case data != "" && strings.HasPrefix(mime, "image/"):
		return "data:" + mime + ";base64," + data, nil
	case data == "" && (strings.HasPrefix(uri, "https://") || strings.HasPrefix(uri, "http://")):
		return uri, nil
	}
	return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "an image of the prompt has no data, or its type is not image/…")
}

// mention is a link to a file in the text: the agent reads the file itself.
func mention(name, uri string) string {
	if path := filePath(uri); path != "" {
		return path
	}
	if name == "" || name == uri {
		return uri
	}
	return "[" + name + "](" + uri + ")"
}

// filePath is the path of a file: URI, or "".
func filePath(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return ""
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // file:///C:/x
		path = path[1:]
	}
	if lines := u.Fragment; lines != "" {
		path += "#" + lines
	}
	return path
}

// embedded is a resource in the text, or the image that it is.
func embedded(r *resource) (text, image string) {
	switch {
	case r == nil:
		return "", ""
	case r.Text != nil:
		return "\n<resource uri=\"" + strings.ReplaceAll(r.URI, `"`, "%22") + "\">\n" + *r.Text + "\n</resource>\n", ""
	case strings.HasPrefix(r.MIME, "image/") && r.Blob != "":
		return "", "data:" + r.MIME + ";base64," + r.Blob
	}
	return mention("", r.URI), ""
}
