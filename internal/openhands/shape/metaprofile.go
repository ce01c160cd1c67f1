package shape

import "github.com/ohgw/ohgw/internal/pattern"

// MetaProfile names LLM profiles for classes of tasks, or has a prompt that chooses one.
func MetaProfile() *Object {
	return &Object{fields: []Field{
		Text("classifier_model", "").Required(),
		list("classes", object("", metaClass()), "[]"),
		Maybe("prompt_template", TextKind),
		Maybe("model_table", TextKind),
	}, check: checkRouting}
}

func metaClass() *Object {
	return &Object{fields: []Field{Text("description", "").Required(), Text("model", "").Required()}}
}

var instanceText = pattern.Of(`\{\{\s*instance_text\s*\}\}`)

// checkRouting says what is wrong with a meta-profile that has a prompt.
func checkRouting(t Tree) (why string) {
	switch {
	case isNull(t["prompt_template"]):
		return ""
	case !instanceText().MatchString(t.Text("prompt_template")):
		return "Direct-routing meta-profiles must include {{ instance_text }} in prompt_template."
	case len(t.List("classes")) > 0:
		return "Direct-routing meta-profiles cannot also define classes."
	}
	return ""
}
