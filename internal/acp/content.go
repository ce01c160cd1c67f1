package acp

import (
	"net/url"
	"strings"

	"github.com/ohgw/ohgw/internal/jsonrpc"
	"github.com/ohgw/ohgw/internal/picture"
	"github.com/ohgw/ohgw/internal/truncate"
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
			image, err := imageURL(i, b)
			if err != nil {
				return m, err
			}
			m.images = append(m.images, image)
		case "resource_link":
			text.WriteString(mention(b.Name, b.URI))
		case "resource":
			part, image, err := embedded(i, b.Resource)
			if err != nil {
				return m, err
			}
			text.WriteString(part)
			if image != "" {
				m.images = append(m.images, image)
			}
		default:
			return m, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "block %d of the prompt has the type %q, which is not supported", i+1, truncate.Bytes(b.Type, 40, "…"))
		}
	}
	m.text = text.String()
	if strings.TrimSpace(m.text) == "" && len(m.images) == 0 {
		return m, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the prompt is empty")
	}
	return m, nil
}

// imageURL is the image of the block at i as a data URL, or its own address.
func imageURL(i int, b block) (string, error) {
	switch {
	case b.Data != "":
		return inline(i, b.Data)
	case strings.HasPrefix(b.URI, "https://") || strings.HasPrefix(b.URI, "http://"):
		return b.URI, nil
	}
	return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "block %d of the prompt is an image without data", i+1)
}

// inline is the data of an image as a data URL. What the bytes are decides, not
// what the client says that they are.
func inline(i int, data string) (string, error) {
	url, err := picture.FromBase64(data)
	if err != nil {
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "block %d of the prompt has an image that cannot be used: it %v", i+1, err)
	}
	return url, nil
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

// embedded is the resource of the block at i in the text, or the image that it is.
func embedded(i int, r *resource) (text, image string, err error) {
	switch {
	case r == nil:
		return "", "", nil
	case r.Text != nil:
		return "\n<resource uri=\"" + strings.ReplaceAll(r.URI, `"`, "%22") + "\">\n" + *r.Text + "\n</resource>\n", "", nil
	case strings.HasPrefix(r.MIME, "image/") && r.Blob != "":
		image, err = inline(i, r.Blob)
		return "", image, err
	}
	return mention("", r.URI), "", nil
}
