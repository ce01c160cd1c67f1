package openai

import "strings"

// A client that runs the function whose call ohgw answered sends the result with the
// messages so far. The agent has done the work of those, so the result is the new
// message of its conversation.

// functionResults are the results of calls that no message of the user came after yet.
type functionResults struct {
	told   string
	images []string
	// conversation is the one that the last of the calls names; empty: none.
	conversation string

	names map[string]string // of the functions, by the ids of their calls
}

// text returns the text of a message whose content was read. A result in front of a
// message of the user becomes part of that message, and has no text of its own.
func (f *functionResults) text(messages []rawMessage, i int, c *contentReader) string {
	m := messages[i]
	f.learn(m.calls)
	if m.result != nil {
		f.add(m.result, f.names[decodeString(m.result)], *c)
		c.texts, c.images = nil, nil
		if i+1 < len(messages) && messages[i+1].role == "user" {
			return ""
		}
	}
	text := strings.Join(c.texts, "\n")
	if m.role == "user" {
		text, c.images = f.before(text, c.images)
	}
	return text
}

// add takes what the function of this name returned; without a name it is unknown.
func (f *functionResults) add(call []byte, name string, c contentReader) {
	head := "The function of your last answer returned"
	if name != "" {
		head = "The function " + name + " returned"
	}
	text := strings.Join(c.texts, "\n")
	switch {
	case strings.TrimSpace(text) != "":
		head += ":\n\n" + text
	case len(c.images) > 0:
		head += " a picture."
	default:
		head += " nothing."
	}
	f.told = paragraphs(f.told, head)
	f.images = append(f.images, c.images...)
	_, f.conversation, _ = ownCall(call)
}

// before returns a message of the user with the results in front of it, once.
func (f *functionResults) before(text string, images []string) (string, []string) {
	switch {
	case f.told == "":
		f.conversation = ""
		return text, images
	case strings.TrimSpace(text) == "":
		text = f.told
	default:
		text = paragraphs(f.told, text)
	}
	images = append(f.images, images...)
	f.told, f.images = "", nil
	return text, images
}

// isOwnCall reports whether an id is that of a call that ohgw has made.
func isOwnCall(id []byte) bool {
	_, _, ours := ownCall(id)
	return ours
}

// learn notes the names of the functions in the calls of an answer.
func (f *functionResults) learn(calls []byte) {
	if calls == nil || kindOf(calls) != "array" {
		return
	}
	_ = elements(calls, func(_ int, call []byte) error {
		if kindOf(call) != "object" {
			return nil
		}
		if id := field(call, "id"); isOwnCall(id) {
			if f.names == nil {
				f.names = make(map[string]string)
			}
			f.names[decodeString(id)] = functionName(field(call, "function"))
		}
		return nil
	})
}

// functionName is the name in a call; empty: it has none that a function can have.
func functionName(call []byte) string {
	if call == nil || kindOf(call) != "object" {
		return ""
	}
	name := field(call, "name")
	if nameOf(name, "name", maxFunctionName) != nil {
		return ""
	}
	return decodeString(name)
}
