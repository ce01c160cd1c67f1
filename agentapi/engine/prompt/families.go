package prompt

import "strings"

// family is a family of models with habits of its own: parts of its name, and
// what its models have to be told.
type family struct {
	marks []string
	text  string
}

const (
	claudeText = "<IMPORTANT>\n" +
		"* Follow the instruction as it stands. Add no guard for a case that cannot happen and no option that was not asked for.\n" +
		"* If it is not clear whether old behaviour must keep working, ask.\n</IMPORTANT>"
	geminiText = "<IMPORTANT>\n* Do what was asked, and nothing beside it.\n</IMPORTANT>"
	gptText    = "<IMPORTANT>\n" +
		"* Before a tool call say in a sentence what you are about to do.\n" +
		"* Where you had to assume something, say what.\n" +
		"* Try the tools you have before you say that you have no access to something.\n" +
		"* Answer each thread of a review where it stands, with what you did.\n</IMPORTANT>"
	codexText = "<IMPORTANT>\n* Say in a few words what you are about to do. Try your tools before you say that something cannot be done.\n</IMPORTANT>"
)

// families are tried in order; the first that fits counts.
var families = []family{
	{[]string{"gpt-5-codex", "gpt-5.1-codex", "codex"}, codexText},
	{[]string{"gpt-5"}, gptText},
	{[]string{"claude"}, claudeText},
	{[]string{"gemini"}, geminiText},
}

// correction is what a model of that name has to be told.
func correction(model string) string {
	model = strings.ToLower(model)
	for _, f := range families {
		for _, mark := range f.marks {
			if strings.Contains(model, mark) {
				return f.text
			}
		}
	}
	return ""
}
