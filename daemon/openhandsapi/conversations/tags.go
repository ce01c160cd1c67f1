package conversations

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

const (
	// maxTitle is the highest number of characters of a title, maxTag that of a tag.
	maxTitle = 200
	maxTag   = 256
)

// readTags reads the tags of a request; nil if it has none.
func readTags(o *pydantic.Object) map[string]string {
	in := o.Map("tags")
	if in == nil {
		return nil
	}
	tags := make(map[string]string)
	for _, name := range in.Names() {
		var value string
		switch {
		case !plainName(name):
			o.Value("tags", "Tag key '"+name+"' is invalid: keys must be lowercase alphanumeric only")
		case json.Unmarshal(in.Raw(name), &value) != nil:
			in.Wrong(name, pydantic.NoText())
		case utf8.RuneCountInString(value) > maxTag:
			o.Value("tags", "Tag value for '"+name+"' exceeds maximum length of "+strconv.Itoa(maxTag)+" characters")
		default:
			tags[name] = value
		}
	}
	return tags
}

// plainName reports whether a name has small letters and digits only.
func plainName(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
