package openai

import (
	"fmt"
	"strings"
)

// rawMessage is a message of which only the structure was read.
type rawMessage struct {
	role    string
	content []byte // nil if absent or null
	called  bool   // the content is that of a call
	calls   []byte // of an assistant's message; nil: there are none
	result  []byte // the id of the call that ohgw made and whose result it is; nil: it is a message
}

// messages reads the field of this name into r.
func (r *ChatRequest) messages(v []byte, limits Limits) error {
	raw, last, err := rawMessages(v, limits.Messages)
	if err != nil {
		return err
	}
	if last < 0 {
		return invalidValue("messages", "there is no user message; the last user message is the agent's task.")
	}
	var system []string
	var results functionResults
	for i, m := range raw {
		reader, err := m.read(fmt.Sprintf("messages[%d].content", i), i == last, limits)
		if err != nil {
			return err
		}
		text := results.text(raw, i, &reader)
		switch {
		case i == last:
			r.Text, r.Images, r.Continues = text, reader.images, results.conversation
			if strings.TrimSpace(text) == "" && len(r.Images) == 0 {
				return invalidValue(reader.path, "it is empty; the last user message is the agent's task.")
			}
		case strings.TrimSpace(text) == "":
		case reader.strict:
			system = append(system, text)
		case i < last:
			r.History = append(r.History, Turn{Role: m.role, Text: text})
		case !m.called: // a call is complete
			r.Begun = append(r.Begun, Turn{Role: m.role, Text: text})
		}
	}
	r.System = strings.Join(system, "\n\n")
	return nil
}

// read reads the content of the message. What reaches the agent as it is, is read
// strictly: instructions, and the last message of the user.
func (m rawMessage) read(path string, last bool, limits Limits) (contentReader, error) {
	c := contentReader{path: path, role: m.role, limits: limits}
	switch m.role {
	case "system", "developer":
		c.strict = true
	case "user":
		c.strict = last && m.result == nil
	}
	err := c.read(m.content)
	return c, err
}

// rawMessages reads the structure of the messages and finds the last one of
// the user; it is at -1 if there is none.
func rawMessages(v []byte, limit int) (raw []rawMessage, last int, err error) {
	last = -1
	if v == nil {
		return nil, last, missing("messages")
	}
	if kindOf(v) != "array" {
		return nil, last, invalidType("messages", "array", v)
	}
	err = elements(v, func(i int, e []byte) error {
		if limit > 0 && i >= limit {
			return &RequestError{Code: CodeArrayTooLong, Param: "messages", Message: fmt.Sprintf("'messages' has more than %d elements; ohgw serve --max-messages changes the limit.", limit)}
		}
		m, err := newRawMessage(e, fmt.Sprintf("messages[%d]", i))
		if err != nil {
			return err
		}
		if m.role == "user" {
			last = i
		}
		raw = append(raw, m)
		return nil
	})
	if err == nil && len(raw) == 0 {
		err = &RequestError{Code: CodeEmptyArray, Param: "messages", Message: "'messages' must contain at least one element."}
	}
	return raw, last, err
}

func newRawMessage(v []byte, path string) (rawMessage, error) {
	if kindOf(v) != "object" {
		return rawMessage{}, invalidType(path, "object", v)
	}
	role := field(v, "role")
	if role == nil {
		return rawMessage{}, missing(path + ".role")
	}
	if kindOf(role) != "string" {
		return rawMessage{}, invalidType(path+".role", "string", role)
	}
	m := rawMessage{role: decodeString(role), content: field(v, "content")}
	switch m.role {
	case "assistant":
		if m.content == nil || string(m.content) == `""` {
			m.content = saidInCalls(v)
			m.called = m.content != nil
		}
		m.calls = field(v, "tool_calls")
	case "tool":
		// What a function of the client returned is a message of the client to the
		// agent that asked for its call.
		if id := field(v, "tool_call_id"); isOwnCall(id) {
			m.role, m.result = "user", id
		}
	case "system", "developer", "user", "function":
	default:
		return rawMessage{}, invalidValue(path+".role", "%s is not a known role; use system, developer, user, assistant, tool or function.", brief(m.role))
	}
	if m.content != nil && kindOf(m.content) != "string" && kindOf(m.content) != "array" {
		return rawMessage{}, invalidType(path+".content", "string or array", m.content)
	}
	return m, nil
}

// contentReader reads the content of one message.
type contentReader struct {
	path   string
	role   string
	limits Limits
	strict bool // it reaches the agent as it is

	texts  []string
	images []string
	size   int
}

func (c *contentReader) read(v []byte) error {
	if c.role == "tool" || c.role == "function" {
		return nil // the client's own tools: nothing of this reaches an agent
	}
	if v == nil {
		if c.strict && c.role == "user" {
			return missing(c.path)
		}
		return nil
	}
	if kindOf(v) == "string" {
		return c.text(v, c.path)
	}
	return elements(v, func(j int, part []byte) error {
		return c.part(part, fmt.Sprintf("%s[%d]", c.path, j))
	})
}

func (c *contentReader) part(v []byte, path string) error {
	if kindOf(v) != "object" {
		return invalidType(path, "object", v)
	}
	t := field(v, "type")
	if t == nil {
		return missing(path + ".type")
	}
	if kindOf(t) != "string" {
		return invalidType(path+".type", "string", t)
	}
	switch kind := decodeString(t); kind {
	case "text", "input_text", "output_text":
		return c.textField(v, path, "text")
	case "refusal":
		if c.role == "assistant" {
			return c.textField(v, path, "refusal")
		}
		return c.unknown(kind, path)
	case "image_url", "input_image":
		return c.image(v, path)
	case "input_audio", "file", "input_file":
		return c.unsupported(kind, path)
	default:
		return c.unknown(kind, path)
	}
}

func (c *contentReader) textField(part []byte, path, name string) error {
	v := field(part, name)
	path += "." + name
	switch {
	case v != nil && kindOf(v) != "string":
		return invalidType(path, "string", v)
	case v != nil:
		return c.text(v, path)
	case c.strict:
		return missing(path)
	default:
		return nil
	}
}

// text takes a string value.
func (c *contentReader) text(v []byte, path string) error {
	s, flaw := decodeText(v)
	if c.strict && flaw != "" {
		return invalidText(path, flaw)
	}
	if flaw != "" {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	c.size += len(s)
	if c.limits.Text > 0 && c.size > c.limits.Text {
		return &RequestError{Code: CodeStringTooLong, Param: c.path, Message: fmt.Sprintf("'%s' has more than %d bytes of text; ohgw serve --max-message changes the limit.", c.path, c.limits.Text)}
	}
	c.texts = append(c.texts, s)
	return nil
}

func (c *contentReader) image(part []byte, path string) error {
	if c.role == "system" || c.role == "developer" {
		return c.unknown("image_url", path)
	}
	if !c.strict {
		c.texts = append(c.texts, "[image]")
		return nil
	}
	if field(part, "image_url") == nil && field(part, "file_id") != nil {
		return c.unsupported("input_image with file_id", path)
	}
	url, path, err := imageURL(part, path)
	if err != nil {
		return err
	}
	url, err = readImage(url, path, c.limits.RemoteImages)
	if err != nil {
		return err
	}
	c.images = append(c.images, url)
	if c.limits.Images > 0 && len(c.images) > c.limits.Images {
		return &RequestError{Code: CodeArrayTooLong, Param: c.path, Message: fmt.Sprintf("'%s' has more than %d images; ohgw serve --max-images changes the limit.", c.path, c.limits.Images)}
	}
	return nil
}

// imageURL reads the URL of an image part: an object with a url, or a string.
func imageURL(part []byte, path string) (url, at string, err error) {
	path += ".image_url"
	v := field(part, "image_url")
	if v != nil && kindOf(v) == "object" {
		path += ".url"
		v = field(v, "url")
	}
	switch {
	case v == nil:
		return "", path, missing(path)
	case kindOf(v) != "string":
		return "", path, invalidType(path, "string", v)
	default:
		return decodeString(v), path, nil
	}
}

func (c *contentReader) unsupported(kind, path string) error {
	if !c.strict {
		c.texts = append(c.texts, "["+strings.TrimPrefix(kind, "input_")+"]")
		return nil
	}
	return &RequestError{Code: CodeUnsupportedContentType, Param: path, Message: "Content part '" + kind + "' is not supported by this model; send text and images."}
}

// unknown refuses a part that the role cannot have. What an assistant once
// wrote in the format of another provider is past and only left out.
func (c *contentReader) unknown(kind, path string) error {
	if !c.strict {
		return nil
	}
	return invalidValue(path+".type", "%s is not a content part of a %s message.", brief(kind), c.role)
}
