package agentserver

import "encoding/json"

// object is a JSON object of which we change some fields and keep the rest,
// byte for byte: a newer server has fields that we do not know.
type object map[string]json.RawMessage

// set puts v into o. Callers give strings, numbers, booleans and objects that
// were decoded before, which can always be encoded.
func (o object) set(name string, v any) { o[name] = encode(v) }

func (o object) raw() json.RawMessage { return encode(o) }

// text is the string at name; "" if there is none.
func (o object) text(name string) string {
	var s string
	if json.Unmarshal(o[name], &s) != nil {
		return ""
	}
	return s
}

// object is the object at name; a new one if there is none.
func (o object) object(name string) object {
	inner := object{}
	if json.Unmarshal(o[name], &inner) != nil || inner == nil {
		return object{}
	}
	return inner
}

func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
