package openai

import "strings"

// Forget lets go of the body, which may be large, when all labels have been read: the answer
// may take an hour. What is in the other fields stays.
func (r *ChatRequest) Forget() { r.fields = nil }

// Label reads the text at a path in the body, such as "metadata.chat_id"; empty if
// there is none. A number counts as its text. Clients name their chats and users in
// many places, none of which changes an answer.
func (r *ChatRequest) Label(path string) string {
	name, rest, deeper := strings.Cut(path, ".")
	v := r.fields[name]
	for v != nil && deeper {
		if kindOf(v) != "object" {
			return ""
		}
		name, rest, deeper = strings.Cut(rest, ".")
		v = field(v, name)
	}
	if v == nil {
		return ""
	}
	switch kindOf(v) {
	case "string":
		return decodeString(v)
	case "number":
		return string(v)
	default:
		return ""
	}
}
